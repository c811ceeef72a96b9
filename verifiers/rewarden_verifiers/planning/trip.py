"""`trip`: stays in cities, day by day, with direct flights between them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from rewarden_verifiers.planning.constraints import Tally, proven
from rewarden_verifiers.planning.findings import Credit, Finding, Unread, shown
from rewarden_verifiers.planning.names import Names
from rewarden_verifiers.planning.written import field, items, parsed
from rewarden_verifiers.puzzles.answers import undressed

MAX_CITIES, MAX_DAYS, MAX_LINES = 200, 2000, 2000
_DAYS = re.compile(
    r"(?:days?[ \t]{0,4})?([0-9]{1,4})"
    r"(?:[ \t]{0,4}(?:-|–|—|to|until|through)[ \t]{0,4}(?:day[ \t]{0,4})?([0-9]{1,4}))?",
    re.IGNORECASE,
)
_LINE = re.compile(
    rf"[ \t]{{0,20}}(?:[0-9]{{1,3}}[.)][ \t]{{1,4}})?[-*•+_#| \t]{{0,8}}(?=days?\b)(?:{_DAYS.pattern})(?P<rest>.*)",
    re.IGNORECASE,
)
_GO = re.compile(r"\b(?:fly|flight|flies|flying|travel\w*|train|bus|drive|depart\w*|leave|move|go)\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Event:
    """days: the first and the last day. presence: whether one must be in the city on `all` of them, or on `any`."""

    city: str
    days: tuple[int, int]
    presence: Literal["all", "any"] = "all"


@dataclass(frozen=True, kw_only=True)
class Budget:
    """limit: the highest total. per_day: the price of a day in each city. flights: the price of each flight, the cities
    joined by " - "; both count as 0 if they are not given.
    """

    limit: float
    per_day: dict[str, float] | None = None
    flights: dict[str, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Trip:
    """days: the length. cities: the days to spend in each, null for any number. flights: pairs of cities with a flight
    both ways; one_way: from the first to the second only. travel_day: whether the day of a flight counts for both
    cities (`shared`), or the next stay begins on the day after (`separate`). solution: a plan that is right.
    """

    days: int
    cities: dict[str, int | None]
    flights: tuple[tuple[str, str], ...] = ()
    one_way: tuple[tuple[str, str], ...] = ()
    events: tuple[Event, ...] = ()
    start: str | None = None
    end: str | None = None
    budget: Budget | None = None
    travel_day: Literal["shared", "separate"] = "shared"
    solution: str | None = None
    kind: Literal["trip"] = "trip"

    def checker(self, credit: Credit, optimal: bool) -> TripChecker:
        """The trip. Raises ValueError."""
        if not 1 <= len(self.cities) <= MAX_CITIES or not 1 <= self.days <= MAX_DAYS:
            raise ValueError(f"a trip has 1 to {MAX_CITIES} cities and 1 to {MAX_DAYS} days")
        if credit not in ("full", "constraints"):
            raise ValueError(f"credit {credit!r} is for classical plans; use 'constraints'")
        if optimal:
            raise ValueError("the parameter optimal is for classical plans; give a budget")
        mentioned = {city for pair in (*self.flights, *self.one_way) for city in pair}
        mentioned |= {event.city for event in self.events} | {city for city in (self.start, self.end) if city}
        if unknown := mentioned - self.cities.keys():
            raise ValueError(f"{min(unknown)!r} is not one of the cities")
        if any(not 1 <= event.days[0] <= event.days[1] <= self.days for event in self.events):
            raise ValueError("the days of an event must lie within the trip, in order")
        ways = frozenset((*self.flights, *((b, a) for a, b in self.flights), *self.one_way))
        made = TripChecker(self, Names(self.cities), ways, credit == "constraints")
        if self.solution is not None:
            proven(made.check(self.solution, True))
        return made


@dataclass(frozen=True, slots=True)
class Stay:
    """A city, and the first and the last day there."""

    city: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class TripChecker:
    """A trip, and the direct flights as pairs of cities."""

    trip: Trip
    names: Names
    ways: frozenset[tuple[str, str]]
    partial: bool

    def check(self, text: str, marked: bool) -> Finding:
        """See `Checker`."""
        try:
            stays, moves = self._read(text)
        except Unread as error:
            return error.finding()
        trip, tally = self.trip, Tally()
        step = 0 if trip.travel_day == "shared" else 1
        in_order = stays[0].first == 1 and all(stay.first <= stay.last for stay in stays)
        in_order = in_order and all(b.first == a.last + step for a, b in pairwise(stays))
        tally.hold("order", in_order, "the stays do not follow each other from day 1 on")
        tally.hold("days", stays[-1].last == trip.days, f"the trip ends on day {stays[-1].last}, not {trip.days}")
        visits = Counter(stay.city for stay in stays)
        spent: Counter[str] = Counter()
        for stay in stays:
            spent[stay.city] += max(0, stay.last - stay.first + 1)
        for city, wanted in trip.cities.items():
            tally.hold(f"visit {city}", visits[city] == 1, f"it is visited {visits[city]} times")
            if wanted is not None:
                tally.hold(f"stay {city}", spent[city] == wanted, f"it lasts {spent[city]} days, not {wanted}")
        for a, b in pairwise(stays):
            tally.hold(f"flight {a.city} - {b.city}", (a.city, b.city) in self.ways, "there is no such flight")
        for event in trip.events:
            first, last = event.days
            there = _days_there(stays, event)
            met = there == last - first + 1 if event.presence == "all" else there > 0
            tally.hold(f"event {event.city} {first}-{last}", met, f"one is there on {there} of its days")
        if trip.start is not None:
            tally.hold("start", stays[0].city == trip.start, f"the trip starts in {stays[0].city}")
        if trip.end is not None:
            tally.hold("end", stays[-1].city == trip.end, f"the trip ends in {stays[-1].city}")
        if moves:
            real = {(a.last, a.city, b.city) for a, b in pairwise(stays)}
            real |= {(b.first, a.city, b.city) for a, b in pairwise(stays)}
            stray = [move for move in moves if move not in real]
            tally.hold("moves", not stray, "a flight of the plan does not join its stays")
        evidence: dict[str, Any] = {}
        if trip.budget is not None:
            evidence["cost"] = cost = _cost(stays, trip.budget)
            tally.hold("budget", cost <= trip.budget.limit + 1e-9, f"it costs {cost:g}, not {trip.budget.limit:g}")
        extracted = [[stay.city, stay.first, stay.last] for stay in stays]
        return tally.finding(self.partial, extracted, evidence)

    def _read(self, text: str) -> tuple[list[Stay], list[tuple[int, str, str]]]:
        """The stays, and the flights that are stated. Raises Unread."""
        whole = undressed(text)
        if whole.startswith(("[", "{")):
            return list(_listed(parsed(whole), self.names)), []
        stays, moves = self._lines(text)
        if not stays:
            value = parsed(text)
            if value is None:
                raise Unread("no_answer")
            return list(_listed(value, self.names)), []
        return stays, moves

    def _lines(self, text: str) -> tuple[list[Stay], list[tuple[int, str, str]]]:
        stays: list[Stay] = []
        moves: list[tuple[int, str, str]] = []
        for line in text.splitlines():
            found = _LINE.match(line)
            if found is None:
                continue
            if len(stays) + len(moves) > MAX_LINES:
                raise Unread("too_expensive")
            first, last = int(found[1]), int(found[2] or found[1])
            named = self.names.within(found["rest"])
            if len(named) == 2 and _GO.search(found["rest"]) is not None:
                moves.append((first, named[0], named[1]))
                if found[2] is not None:
                    stays.append(Stay(named[1], first, last))
            elif len(named) == 1:
                stays.append(Stay(named[0], first, last))
            else:
                raise Unread("malformed", f"{shown(line.strip())} must name one city of the trip, or a flight")
        return stays, moves


def _listed(value: Any, names: Names) -> Iterator[Stay]:
    """The stays of a JSON list. Raises Unread."""
    for one in items(value, "stays")[: MAX_LINES + 1]:
        if not isinstance(one, dict):
            raise Unread("malformed", f"{shown(repr(one))} is not a stay")
        city = names.exactly(field(one, "city", "place"))
        days = field(one, "days", "day_range")
        if days is None:
            days = [one.get("from"), one.get("to")]
        elif isinstance(days, str) and (written := _DAYS.fullmatch(days.strip())) is not None:
            days = [int(written[1]), int(written[2] or written[1])]
        match days:
            case [int(first), int(last)] if city is not None and type(first) is type(last) is int:
                yield Stay(city, first, last)
            case _:
                raise Unread("malformed", f"{shown(repr(one))} is not a stay with a city of the trip and its days")


def _days_there(stays: list[Stay], event: Event) -> int:
    """The days of an event on which one is in its city; in a trip in order, stays share no day in one city."""
    first, last = event.days
    return sum(max(0, min(stay.last, last) - max(stay.first, first) + 1) for stay in stays if stay.city == event.city)


def _cost(stays: list[Stay], budget: Budget) -> float:
    per_day, flights = budget.per_day or {}, budget.flights or {}
    total = sum(per_day.get(stay.city, 0.0) * max(0, stay.last - stay.first + 1) for stay in stays)
    for a, b in pairwise(stays):
        total += flights.get(f"{a.city} - {b.city}", flights.get(f"{b.city} - {a.city}", 0.0))
    return total
