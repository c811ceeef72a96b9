"""Equivalence of two answers in time, without a reference."""

from __future__ import annotations

from dataclasses import replace

from rewarden_verifiers.answer.number.limits import TooExpensive, Unreadable
from rewarden_verifiers.answer.time.compare import compare
from rewarden_verifiers.answer.time.moments import Clock, Duration, Moment, Point
from rewarden_verifiers.answer.time.params import TimeParams
from rewarden_verifiers.answer.time.reading import plain_name, read_moment
from rewarden_verifiers.answer.time.reference import guessed

_LONG = 4_000


class TimeEquivalence:
    """Equivalence of dates, times and durations in any notation; of anything else by its words."""

    def __init__(self, params: TimeParams) -> None:
        self._params = params

    def extract(self, text: str) -> str | None:
        """The answer of a response; None if there is none, if it hedges, or if it names a date that does not exist."""
        found = self._params.ladder.find(text)
        if found is None:
            return None
        texts = tuple(dict.fromkeys(found.texts))
        if len(texts[0]) > _LONG or not self._sound(texts[0]):
            return None
        return texts[0] if all(self.same(texts[0], other) for other in texts[1:]) else None

    def key(self, answer: str) -> str | None:
        """A canonical form: equal keys mean equal answers."""
        moment = self._read(answer)
        if moment is None:
            return f"words {plain_name(answer[:_LONG])}"
        if isinstance(moment, Duration):
            return f"duration {moment.months} {moment.nanos}"
        if isinstance(moment, Clock):
            return str(moment.plain())
        if isinstance(moment, Point) and moment.clock is not None:
            moment = replace(moment, clock=moment.clock.plain())
        if isinstance(moment, Point) and moment.zone is not None and moment.year is not None:
            return f"instant {moment.instant()} {moment.granularity}"
        return str(moment)

    def same(self, a: str, b: str) -> bool | None:
        """Returns whether two answers are equal: each at least as precise as the other, unless parameters accept
        less.
        """
        first, second = self._read(a), self._read(b)
        if first is None or second is None:
            return first is second and plain_name(a[:_LONG]) == plain_name(b[:_LONG])
        if type(first) is not type(second):
            return False
        forward, backward = (compare(x, y, self._params).right for x, y in ((first, second), (second, first)))
        return forward and backward

    def _sound(self, text: str) -> bool:
        """Returns whether a text is a moment, or not meant to be one: a name or an order."""
        try:
            self._moment(text)
        except Unreadable as error:
            return error.reason == "unparseable_answer" and self._params.kind in ("auto", "order", "entity")
        except TooExpensive:
            return False
        return True

    def _read(self, text: str) -> Moment | None:
        try:
            return self._moment(text)
        except (Unreadable, TooExpensive):
            return None

    def _moment(self, text: str) -> Moment:
        params = self._params
        if params.kind == "auto":
            return guessed(text, params)
        if params.kind == "order" or params.kind == "entity":
            raise Unreadable  # words, compared as such
        return read_moment(text, params.kind, params.day_order, params.two_part, params.plain)
