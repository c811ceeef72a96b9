"""Compares a moment with the expected one at the precision of the comparison, and computes their distance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from rewarden_verifiers.answer.number.limits import Unreadable
from rewarden_verifiers.answer.time.moments import (
    DAY,
    GRANULARITIES,
    HOUR,
    MINUTE,
    UNITS,
    Clock,
    Duration,
    Granularity,
    Moment,
    Period,
    Point,
    Unit,
    distance,
)
from rewarden_verifiers.answer.time.params import TimeParams
from rewarden_verifiers.answer.time.periods import holds

_UNIT_OF: dict[Granularity, Unit] = {
    "year": "years",
    "month": "months",
    "day": "days",
    "hour": "hours",
    "minute": "minutes",
    "second": "seconds",
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison; `distance` in `unit`, None if there is none."""

    right: bool
    distance: Fraction | None = None
    unit: Unit | None = None
    reason: str = "wrong"


def compare(gold: Moment, answer: Moment, params: TimeParams) -> Comparison:
    """Compares a moment with the expected one, of the same kind."""
    if isinstance(gold, Duration):
        return _decided(gold, answer, _unit_of(gold), params)
    if isinstance(gold, Clock):
        return _clocks(gold, answer, params) if isinstance(answer, Clock) else Comparison(False)
    if isinstance(gold, Period):
        return _periods(gold, answer, params)
    if isinstance(answer, Period):
        answer = Point(answer.year)
        if answer.year is None:
            return Comparison(False, reason="imprecise")
    return _points(gold, answer, params) if isinstance(answer, Point) else Comparison(False)


def _periods(gold: Period, answer: Moment, params: TimeParams) -> Comparison:
    """Compares a period with the expected one, or a date with the period that should contain it."""
    if isinstance(answer, Point):
        if params.finer == "refuse":
            return Comparison(False, reason="too_precise")
        try:
            within = holds(gold, answer)
        except Unreadable as error:
            return Comparison(False, reason=error.reason)
        return Comparison(bool(within), reason="imprecise" if within is None else "wrong")
    if not isinstance(answer, Period) or answer.name != gold.name or answer.number != gold.number:
        return Comparison(False)
    if gold.year is None and answer.year is not None:
        return Comparison(params.finer == "accept", reason="too_precise")
    if gold.year is not None and answer.year is None:
        return Comparison(params.coarser == "accept", reason="imprecise")
    return Comparison(gold.year == answer.year)


def _place(granularity: Granularity) -> int:
    return GRANULARITIES.index(granularity)


def _on_the_hour(answer: Clock, gold: Clock) -> Clock:
    """The answer at the expected precision if only zeros distinguish them: 2 pm is 14:00, and 14:00 is 14:00:00, but
    neither is 14:00:05.
    """
    finer, coarser = (gold, answer) if _place(answer.granularity) < _place(gold.granularity) else (answer, gold)
    whole = finer.floor(coarser.granularity) == finer.nanos
    return replace(answer, granularity=gold.granularity) if whole else answer


def _common(gold: Granularity, answer: Granularity, params: TimeParams) -> Granularity | str:
    """The precision of the comparison, or the reason why the two cannot be compared."""
    wanted = gold if params.granularity == "reference" else params.granularity
    if _place(answer) > _place(gold) and params.finer == "refuse":
        return "too_precise"
    if _place(answer) >= _place(wanted):
        return wanted
    return answer if params.coarser == "accept" else "imprecise"


def _points(gold: Point, answer: Point, params: TimeParams) -> Comparison:
    if gold.clock is not None and answer.clock is not None:
        answer = replace(answer, clock=_on_the_hour(answer.clock, gold.clock))
    common = _common(gold.granularity, answer.granularity, params)
    if common not in GRANULARITIES:
        return Comparison(False, reason=common)
    level: Granularity = common
    if gold.year is None and answer.year is not None:
        if params.finer == "refuse":
            return Comparison(False, reason="too_precise")
        answer = replace(answer, year=None)
    elif gold.year is not None and answer.year is None:
        if params.coarser == "refuse":
            return Comparison(False, reason="imprecise")
        gold = replace(gold, year=None)
    if _place(level) >= _place("hour") and gold.clock is not None and answer.clock is not None:
        zones = _zones(gold.clock, answer.clock, params)
        if zones is None:
            return Comparison(False, reason="missing_zone")
        gold, answer = replace(gold, clock=zones[0]), replace(answer, clock=zones[1])
        if gold.zone is not None and answer.zone is not None:
            apart = gold.instant() - answer.instant()
            step = {"hour": HOUR, "minute": MINUTE, "second": 1}[level]
            local = gold.nanos() % step
            # Rounded down in the reference's zone, to which its precision refers.
            right = (gold.nanos() - local) // step == (gold.nanos() - apart) // step
            return _tolerated(right, Fraction(abs(apart)), level, params)
    return _decided(gold.to(level), answer.to(level), _UNIT_OF[level], params)


def _tolerated(right: bool, apart: Fraction, level: Granularity, params: TimeParams) -> Comparison:
    unit = _UNIT_OF[level] if params.unit == "auto" else params.unit
    far = apart / UNITS[unit]
    return Comparison(right or 0 < far <= Fraction(repr(params.tolerance)), Fraction(0) if right else far, unit)


def _clocks(gold: Clock, answer: Clock, params: TimeParams) -> Comparison:
    answer = _on_the_hour(answer, gold)
    common = _common(gold.granularity, answer.granularity, params)
    if common not in GRANULARITIES or _place(common) < _place("hour"):
        return Comparison(False, reason=common if common not in GRANULARITIES else "wrong")
    level: Granularity = common
    zones = _zones(gold, answer, params)
    if zones is None:
        return Comparison(False, reason="missing_zone")
    first, second = zones
    if first.zone is not None and second.zone is not None:
        second = Clock((second.nanos + (first.zone - second.zone) * MINUTE) % DAY, second.granularity, first.zone)
    floored = [Clock(one.floor(level), level) for one in (first, second)]
    return _decided(floored[0], floored[1], _UNIT_OF[level], params)


def _zones(gold: Clock, answer: Clock, params: TimeParams) -> tuple[Clock, Clock] | None:
    """Both times with zones, or both without; None if a required zone is missing."""
    if params.zone == "required" and gold.zone is not None and answer.zone is None:
        return None
    if params.zone != "ignored" and gold.zone is not None:
        return gold, answer if answer.zone is not None else replace(answer, zone=gold.zone)
    return replace(gold, zone=None), replace(answer, zone=None)


def _unit_of(duration: Duration) -> Unit:
    if not duration.nanos:
        return "years" if duration.months and duration.months % 12 == 0 else "months" if duration.months else "days"
    for unit, size in (("days", DAY), ("hours", HOUR), ("minutes", MINUTE)):
        if duration.nanos % size == 0:
            return unit  # type: ignore[return-value]
    return "seconds"


def _decided(gold: Moment, answer: Moment, unit: Unit, params: TimeParams) -> Comparison:
    unit = unit if params.unit == "auto" else params.unit
    far = distance(gold, answer, unit)
    if far is None:
        return Comparison(False)
    # 24:00 is 00:00 of the next day. Durations of equal mean length can still differ: a month is not a number of days.
    same = gold == answer or (not far and not isinstance(gold, Duration))
    return Comparison(same or far <= Fraction(repr(params.tolerance)) != 0, far, unit)


def shaped(far: Fraction, rate: float, params: TimeParams) -> float:
    """The score for a distance."""
    try:
        fall = float(far) * rate
    except OverflowError:
        return 0.0
    return max(0.0, 1.0 - fall) if params.partial == "linear" else math.exp(-fall)
