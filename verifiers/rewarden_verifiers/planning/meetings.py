"""`meetings`: people who can be met at places, at times, with travel in between."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rewarden_verifiers.planning.constraints import Tally, proven
from rewarden_verifiers.planning.findings import Credit, Finding, Unread, shown
from rewarden_verifiers.planning.names import Names
from rewarden_verifiers.planning.times import Span, clock, span, spans_in
from rewarden_verifiers.planning.written import field, items, parsed
from rewarden_verifiers.puzzles.answers import undressed
from rewarden_verifiers.puzzles.schedule import minutes

MAX_PEOPLE = 200
_SENTENCE = re.compile(r"\n|(?<=[.;])[ \t]+(?=[A-Z])")
_MEET = re.compile(r"\bmeet(?:s|ing)?\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Person:
    """place: where they are, from `start` to `end`. minutes: the shortest meeting."""

    place: str
    start: str
    end: str
    minutes: int


@dataclass(frozen=True, kw_only=True)
class Meetings:
    """place, time: where and when one starts. people: by their names. travel: minutes from place to place; the way back
    takes as long unless it is given. need: how many people must be met, by default all. solution: a plan that is right.
    """

    place: str
    time: str
    people: dict[str, Person]
    travel: dict[str, dict[str, int]]
    need: int | None = None
    solution: str | None = None
    kind: Literal["meetings"] = "meetings"

    def checker(self, credit: Credit, optimal: bool) -> MeetingsChecker:
        """The meetings. Raises ValueError."""
        if not 1 <= len(self.people) <= MAX_PEOPLE:
            raise ValueError(f"there must be 1 to {MAX_PEOPLE} people")
        if credit not in ("full", "constraints"):
            raise ValueError(f"credit {credit!r} is for classical plans; use 'constraints'")
        if optimal:
            raise ValueError("the parameter optimal is for classical plans; give `need`")
        need = len(self.people) if self.need is None else self.need
        if not 1 <= need <= len(self.people):
            # Attack: meeting nobody meets every constraint.
            raise ValueError(f"need must be 1 to {len(self.people)}")
        places = {self.place, *(person.place for person in self.people.values())}
        ways = {(a, b): self._way(a, b) for a in places for b in places}
        hours = {name: span(person.start, person.end) for name, person in self.people.items()}
        made = MeetingsChecker(self, Names(self.people), minutes(self.time), need, ways, hours, credit == "constraints")
        if self.solution is not None:
            proven(made.check(self.solution, True))
        return made

    def _way(self, a: str, b: str) -> int:
        found = 0 if a == b else self.travel.get(a, {}).get(b, self.travel.get(b, {}).get(a))
        if found is None or found < 0:
            raise ValueError(f"travel gives no time from {a!r} to {b!r}")
        return found


@dataclass(frozen=True, slots=True)
class MeetingsChecker:
    """The start, the ways in minutes, and the hours of each person."""

    task: Meetings
    names: Names
    begins: int
    need: int
    ways: Mapping[tuple[str, str], int]
    hours: Mapping[str, Span]
    partial: bool

    def check(self, text: str, marked: bool) -> Finding:
        """See `Checker`. Only the meetings count: the ways between them follow from the places."""
        try:
            meetings = self._read(text)
        except Unread as error:
            return error.finding()
        tally, place, free = Tally(), self.task.place, self.begins
        met: set[str] = set()
        for name, one in meetings:
            person = self.task.people[name]
            arrival = free + self.ways[place, person.place]
            tally.hold(f"once {name}", name not in met, "they are met twice")
            tally.hold(f"travel {name}", arrival <= one.start, f"one arrives at {clock(arrival)}")
            tally.hold(f"hours {name}", one.within(self.hours[name]), f"they are there {person.start} to {person.end}")
            lasts = one.end - one.start
            tally.hold(f"minutes {name}", lasts >= person.minutes, f"it lasts {lasts} minutes, not {person.minutes}")
            met.add(name)
            place, free = person.place, max(arrival, one.end)
        tally.hold("need", len(met) >= self.need, f"{len(met)} people are met, not {self.need}")
        extracted = [[name, clock(one.start), clock(one.end)] for name, one in meetings]
        return tally.finding(self.partial, extracted, {"people": len(met)})

    def _read(self, text: str) -> list[tuple[str, Span]]:
        """The meetings in their order. Raises Unread."""
        whole = undressed(text)
        found = self._listed(parsed(whole)) if whole.startswith(("[", "{")) else self._sentences(text)
        if not found and (value := parsed(text)) is not None:
            found = self._listed(value)
        if not found:
            raise Unread("no_answer")
        if len(found) > 4 * MAX_PEOPLE:
            raise Unread("too_expensive")
        return found

    def _sentences(self, text: str) -> list[tuple[str, Span]]:
        found: list[tuple[str, Span]] = []
        for sentence in _SENTENCE.split(text):
            if _MEET.search(sentence) is None:
                continue
            named = self.names.within(sentence)
            spans = list(dict.fromkeys(spans_in(sentence)))
            if not named and not spans:
                continue
            if len(named) != 1 or len(spans) > 1:
                raise Unread("malformed", f"{shown(sentence.strip())} must name one person and one span of time")
            if spans:
                found.append((named[0], spans[0]))
        return found

    def _listed(self, value: Any) -> list[tuple[str, Span]]:
        found: list[tuple[str, Span]] = []
        for one in items(value, "meetings"):
            if not isinstance(one, dict):
                raise Unread("malformed", f"{shown(repr(one))} is not a meeting")
            if one.get("action", "meet") != "meet":
                continue
            name = self.names.exactly(field(one, "person", "name"))
            if name is None:
                raise Unread("malformed", f"{shown(repr(one))} names none of the people")
            place = field(one, "place", "location")
            if place not in (None, self.task.people[name].place):
                raise Unread("malformed", f"{name} is not at {shown(str(place))}")
            start, end = field(one, "start", "start_time", "from"), field(one, "end", "end_time", "to")
            try:
                found.append((name, span(start, end)))
            except ValueError as error:
                raise Unread("malformed", f"{shown(repr(one))}: {error}") from None
        return found
