"""The places at which a text has a `sorry` or a tactic, so that the process can report the goals there.

Places come from the text's words, not from a parse: after `by` and other separators of tactics, and at the beginning of
a line. Most of these places are not tactics; the process has no goals there, and they are left out. A line that
continues the tactic of the previous line counts as a tactic of its own, with the same goals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewarden_server.lean.process import Ask, Goals
from rewarden_server.lean.protocol import PlainGoal, PlainTermGoal
from rewarden_server.lean.source_map import SourceMap
from rewarden_verifiers.lean.source import Token, tokens
from rewarden_verifiers.provers import Goal

MOST_PLACES = 2000
"""The maximum number of places of a text at which goals are requested; the text's limits cover the answers too."""

_OPENS = frozenset({"by", ";", "·", "=>", "{", "(", "|", "?_"})
_NO_TACTIC = frozenset({")", "}", "]", "|", "·", ";", "(", "{", "⟩", ",", ":", "=", ">", "@", "⊢"})


@dataclass(frozen=True, slots=True)
class Places:
    """The places in a sheet for requests, and the interpretation of the answers."""

    sheet: SourceMap
    sorries: Sequence[tuple[int, int]]
    tactics: Sequence[tuple[int, int]]

    def asks(self) -> list[Ask]:
        """Returns the requests: for each `sorry` as a term and as a tactic, then for each tactic."""
        found: list[Ask] = []
        for start, _ in self.sorries:
            point = self.sheet.point(start)
            found += [("term", *point), ("tactic", *point)]
        found += [("tactic", *self.sheet.point(start)) for start, _ in self.tactics]
        return found

    def read(self, answers: Sequence[Goals]) -> tuple[tuple[Goal, ...], tuple[Goal, ...]]:
        """Returns the goals of the sorries and of the tactics, from one answer for each request."""
        sorries = []
        for number, (start, end) in enumerate(self.sorries):
            term, tactic = answers[2 * number : 2 * number + 2]
            sorries.append(self._goal(start, end, self._at_sorry(start, term, tactic)))
        rest = answers[2 * len(self.sorries) :]
        tactics = [
            self._goal(start, end, tuple(answer.goals))
            for (start, end), answer in zip(self.tactics, rest, strict=True)
            if isinstance(answer, PlainGoal) and answer.goals
        ]
        return tuple(sorries), tuple(tactics)

    def _at_sorry(self, start: int, term: Goals, tactic: Goals) -> tuple[str, ...]:
        """Returns a term's own type if the process knows the term at this place, else the tactic's goals."""
        if isinstance(term, PlainTermGoal):
            point = term.range.start
            if (point.line, point.character) == self.sheet.point(start) or not isinstance(tactic, PlainGoal):
                return (term.goal,)
        return tuple(tactic.goals) if isinstance(tactic, PlainGoal) else ()

    def _goal(self, start: int, end: int, goals: tuple[str, ...]) -> Goal:
        text = self.sheet.text[start:end]
        return Goal(text=text, start=self.sheet.position(start), end=self.sheet.position(end), goals=goals)


def places(sheet: SourceMap, body: int, *, sorries: bool, tactics: bool) -> Places:
    """Returns the places in a sheet's text from `body` on."""
    words = [token for token in tokens(sheet.text) if token.start >= body and token.kind != "comment"]
    return Places(
        sheet,
        [(token.start, token.end) for token in words if token.text == "sorry"][:MOST_PLACES] if sorries else (),
        list(_tactics(words))[:MOST_PLACES] if tactics else (),
    )


def _tactics(words: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yields possible tactics: from a place where one can begin to the last word before the next."""
    start, end, seen = None, 0, False
    before = ""
    for token in words:
        begins = token.first or before in _OPENS
        before = token.text
        if begins and start is not None:
            yield start, end
            start = None
        if seen and begins and token.text not in _NO_TACTIC:
            start = token.start
        seen = seen or token.text == "by"
        if token.text not in _NO_TACTIC or token.text in (")", "]", "}", "⟩"):
            end = token.end
    if start is not None:
        yield start, end
