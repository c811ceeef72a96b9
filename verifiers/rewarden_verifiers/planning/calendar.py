"""`calendar`: a meeting at a time when everyone is free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewarden_verifiers.planning.constraints import Tally, proven
from rewarden_verifiers.planning.findings import Credit, Finding, Unread, shown
from rewarden_verifiers.planning.names import Names
from rewarden_verifiers.planning.times import Span, clock, span, spans_in
from rewarden_verifiers.planning.written import field, parsed
from rewarden_verifiers.puzzles.answers import undressed

MAX_BUSY = 10_000

_OTHER_DAYS = Names(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"))


@dataclass(frozen=True, kw_only=True)
class Calendar:
    """minutes: the length of the meeting. days: the days in question, in order. hours: the first and the last time of
    each day. busy: each person's times by the day, `[["9:00", "10:30"], …]`; what someone will not have is written as
    busy. earliest: whether only the earliest time is right. solution: a plan that is right.
    """

    minutes: int
    days: tuple[str, ...]
    hours: tuple[str, str]
    busy: dict[str, dict[str, tuple[tuple[str, str], ...]]]
    earliest: bool = False
    solution: str | None = None
    kind: Literal["calendar"] = "calendar"

    def checker(self, credit: Credit, optimal: bool) -> CalendarChecker:
        """The calendars. Raises ValueError if there is no time for the meeting."""
        if credit not in ("full", "constraints"):
            raise ValueError(f"credit {credit!r} is for classical plans; use 'constraints'")
        if optimal:
            raise ValueError("the parameter optimal is for classical plans; give `earliest`")
        if not self.days:
            raise ValueError("there must be days")
        names = Names(self.days)
        busy: dict[str, dict[str, list[Span]]] = {day: {} for day in self.days}
        count = 0
        for person, by_day in self.busy.items():
            for day, spans in by_day.items():
                if day not in busy:
                    raise ValueError(f"busy.{person}: {day!r} is not one of the days")
                count += len(spans)
                busy[day][person] = [span(*one) for one in spans]
        if count > MAX_BUSY:
            raise ValueError(f"more than {MAX_BUSY} times are busy")
        hours = span(*self.hours)
        if not 1 <= self.minutes <= hours.end - hours.start:
            raise ValueError("the meeting does not fit into the hours")
        first = _earliest(self.days, hours, self.minutes, busy)
        if first is None:
            raise ValueError("there is no time when everyone is free")
        made = CalendarChecker(self, names, hours, busy, first, credit == "constraints")
        if self.solution is not None:
            proven(made.check(self.solution, True))
        return made


def _earliest(
    days: Sequence[str], hours: Span, lasts: int, busy: Mapping[str, Mapping[str, Sequence[Span]]]
) -> tuple[str, int] | None:
    """The earliest time of a meeting."""
    for day in days:
        start = hours.start
        for taken in sorted((one for spans in busy[day].values() for one in spans), key=lambda one: one.start):
            if taken.start >= start + lasts:
                break
            start = max(start, taken.end)
        if start + lasts <= hours.end:
            return day, start
    return None


@dataclass(frozen=True, slots=True)
class CalendarChecker:
    """The hours, the busy times by day and person, and the earliest time of a meeting."""

    task: Calendar
    names: Names
    hours: Span
    busy: Mapping[str, Mapping[str, Sequence[Span]]]
    first: tuple[str, int]
    partial: bool

    def check(self, text: str, marked: bool) -> Finding:
        """See `Checker`."""
        try:
            day, one = self._read(text)
        except Unread as error:
            return error.finding()
        tally = Tally()
        lasts = one.end - one.start
        tally.hold("minutes", lasts == self.task.minutes, f"it lasts {lasts} minutes, not {self.task.minutes}")
        tally.hold("hours", one.within(self.hours), f"it is not between {' and '.join(self.task.hours)}")
        for person in self.task.busy:
            taken = next((busy for busy in self.busy[day].get(person, ()) if busy.overlaps(one)), None)
            why = "" if taken is None else f"they are busy from {clock(taken.start)} to {clock(taken.end)}"
            tally.hold(f"busy {person}", taken is None, why)
        if self.task.earliest:
            tally.hold("earliest", (day, one.start) == self.first, "there is an earlier time")
        return tally.finding(self.partial, f"{day}, {clock(one.start)} - {clock(one.end)}")

    def _read(self, text: str) -> tuple[str, Span]:
        """The day and the time. Raises Unread."""
        whole = undressed(text)
        if whole.startswith(("[", "{")):
            value = parsed(whole)
            if isinstance(value, list) and len(value) == 1:
                (value,) = value
            return self._object(value)
        days = self.names.within(text)
        spans = set(spans_in(text))
        if not spans:
            raise Unread("no_answer")
        if len(spans) > 1 or len(days) > 1:
            raise Unread("hedged", "the response has several times")
        # Attack: a day that the problem does not have, on which nobody is known to be busy.
        if not days and _OTHER_DAYS.within(text):
            raise Unread("wrong", f"{_OTHER_DAYS.within(text)[0]} is not one of the days")
        if not days and len(self.task.days) > 1:
            raise Unread("malformed", "the day is missing")
        return (days.pop() if days else self.task.days[0]), spans.pop()

    def _object(self, value: Any) -> tuple[str, Span]:
        if not isinstance(value, dict):
            raise Unread("malformed", "the JSON is not one meeting")
        only = self.task.days[0] if len(self.task.days) == 1 else None
        day = self.names.exactly(value.get("day", only))
        if day is None:
            raise Unread("malformed", f"{shown(repr(value.get('day')))} is not one of the days")
        try:
            return day, span(field(value, "start", "start_time"), field(value, "end", "end_time"))
        except ValueError as error:
            raise Unread("malformed", str(error)) from None
