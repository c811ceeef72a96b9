"""`schedule`: events of one day that do not overlap, each within its window and subject to its constraint."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from rewarden_verifiers.puzzles import literals
from rewarden_verifiers.puzzles.findings import RIGHT, Finding, Task, malformed, wrong

_TIME = re.compile(r"\s*(\d{1,2})(?::(\d{2}))?\s*([ap])?\.?(?:m\.?)?\s*", re.ASCII | re.IGNORECASE)
_CONSTRAINT = re.compile(r"\s*(?:(before|after|at)\s+(.+?)|between\s+(.+?)\s+and\s+(.+?))\s*", re.IGNORECASE)
_DAY = 24 * 60
MAX_EVENTS = 500


@dataclass(frozen=True, kw_only=True)
class Event:
    """duration: minutes. min_time, max_time: the window, such as "10:00" or "4pm". constraint: `before 1pm` (the event
    ends by then), `after 1pm`, `at 1pm` (it begins then), or `between 1pm and 3:30pm`."""

    duration: float
    min_time: str = "0:00"
    max_time: str = "24:00"
    constraint: str | None = None


@dataclass(frozen=True, kw_only=True)
class Schedule(Task):
    """events: maps ids to events."""

    events: dict[str, Event]
    task: Literal["schedule"] = "schedule"

    def checker(self) -> ScheduleChecker:
        """The puzzle. Raises ValueError."""
        if not 1 <= len(self.events) <= MAX_EVENTS:
            raise ValueError(f"there must be 1 to {MAX_EVENTS} events")
        return ScheduleChecker({name: _span(event) for name, event in self.events.items()})


@dataclass(frozen=True, slots=True)
class Span:
    """An event's duration, the earliest start, and the latest end, in minutes."""

    duration: float
    earliest: int
    latest: int
    start: int | None = None


def _span(event: Event) -> Span:
    earliest, latest, start = minutes(event.min_time), minutes(event.max_time), None
    if event.constraint is not None:
        found = _CONSTRAINT.fullmatch(event.constraint)
        if found is None:
            raise ValueError(f"constraint {event.constraint!r} is not before, after, at or between times")
        word = (found[1] or "between").lower()
        times = [minutes(time) for time in found.groups()[1:] if time is not None]
        if word in ("after", "between"):
            earliest = max(earliest, times[0])
        if word in ("before", "between"):
            latest = min(latest, times[-1])
        if word == "at":
            start = times[0]
    if event.duration <= 0:
        raise ValueError("a duration must be positive")
    return Span(event.duration, earliest, latest, start)


def minutes(text: str) -> int:
    """Parses a time of day such as "10:00" or "4pm" to minutes since midnight. Raises ValueError."""
    found = _TIME.fullmatch(text)
    hour, minute = (int(found[1]), int(found[2] or 0)) if found else (99, 0)
    half = found[3] if found else None
    if half is not None and 1 <= hour <= 12:
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    elif half is not None or (found is not None and found[2] is None):
        hour = 99  # 13pm; and a bare number is an hour or a count of minutes
    if minute > 59 or hour * 60 + minute > _DAY:
        raise ValueError(f"{text[:40]!r} is not a time of day")
    return hour * 60 + minute


@dataclass(frozen=True, slots=True)
class ScheduleChecker:
    """The time spans of the events, by id."""

    spans: dict[str, Span]

    def check(self, answer: str) -> Finding:
        """Reads a JSON list of `{"event_id", "start_time", "duration"}`. Right for any schedule that keeps the
        rules.
        """
        try:
            value = literals.parse(answer)
        except literals.NotRead as error:
            return malformed(str(error))
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            return malformed("it is not a list of events")
        if len(value) > MAX_EVENTS:
            return malformed(f"it has more than {MAX_EVENTS} events")
        starts: dict[str, tuple[int, Any]] = {}
        for one in value:
            name = str(one.get("event_id"))
            try:
                starts[name] = minutes(str(one.get("start_time"))), one.get("duration")
            except ValueError as error:
                return malformed(f"event {name[:40]}: {error}")
        if len(starts) != len(value) or starts.keys() != self.spans.keys():
            return wrong("its events are not those of the puzzle, each once")
        for name, span in self.spans.items():
            start, duration = starts[name]
            if isinstance(duration, bool) or duration != span.duration:
                return wrong(f"event {name} has a different duration")
            inside = span.earliest <= start and start + span.duration <= span.latest
            if not inside or span.start not in (None, start):
                return wrong(f"event {name} is not at an allowed time")
        placed = sorted((start, start + self.spans[name].duration) for name, (start, _) in starts.items())
        if any(later < end for (_, end), (later, _) in pairwise(placed)):
            return wrong("two events overlap")
        return RIGHT
