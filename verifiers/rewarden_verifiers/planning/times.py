"""Spans of time of a day as a plan writes them: `9:00 - 9:30`, `from 9:24AM to 10:54AM`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rewarden_verifiers.planning.findings import Unread, shown
from rewarden_verifiers.puzzles.schedule import minutes

_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?![0-9:])(?:[ \t]?[ap]\.?m\b\.?)?|[0-9]{1,2}[ \t]?[ap]\.?m\b\.?"
_SPAN = re.compile(
    rf"(?<![0-9:])({_CLOCK})[ \t]{{0,4}}(?:-|–|—|to|until|till|and)[ \t]{{0,4}}({_CLOCK})", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Span:
    """A start and an end in minutes since midnight."""

    start: int
    end: int

    def overlaps(self, other: Span) -> bool:
        """Returns whether they have time in common."""
        return self.start < other.end and other.start < self.end

    def within(self, other: Span) -> bool:
        """Returns whether the other contains this one."""
        return other.start <= self.start and self.end <= other.end


def span(start: object, end: object) -> Span:
    """The span between two times of day. Raises ValueError unless it lasts."""
    made = Span(minutes(str(start).strip()), minutes(str(end).strip()))
    if made.start >= made.end:
        raise ValueError(f"{clock(made.start)} to {clock(made.end)} does not last")
    return made


def spans_in(text: str) -> list[Span]:
    """The spans that are in a text. Raises Unread for one that is none, such as from 10:00 to 9:00."""
    found: list[Span] = []
    for match in _SPAN.finditer(text):
        try:
            found.append(span(match[1], match[2]))
        except ValueError as error:
            raise Unread("malformed", f"{shown(match.group())}: {error}") from None
    return found


def clock(time: int) -> str:
    """Minutes since midnight as `9:05`."""
    return f"{time // 60}:{time % 60:02}"
