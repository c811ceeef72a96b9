"""Points in time, times of day and durations, at the precision with which they were written."""

from __future__ import annotations

import calendar
import datetime
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Granularity = Literal["year", "month", "day", "hour", "minute", "second"]
GRANULARITIES: tuple[Granularity, ...] = ("year", "month", "day", "hour", "minute", "second")
Unit = Literal["years", "months", "weeks", "days", "hours", "minutes", "seconds"]

SECOND = 10**9
"""A second in nanoseconds, the unit of all times."""
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86400 * SECOND
MONTH = Fraction(146097 * DAY, 4800)
"""The mean month of the Gregorian calendar, 30.436875 days: for distances only, never for equality."""
UNITS: dict[Unit, Fraction] = {
    "years": MONTH * 12,
    "months": MONTH,
    "weeks": Fraction(7 * DAY),
    "days": Fraction(DAY),
    "hours": Fraction(HOUR),
    "minutes": Fraction(MINUTE),
    "seconds": Fraction(SECOND),
}
_STEP = {"hour": HOUR, "minute": MINUTE, "second": 1}
_LEAP_YEAR = 2000


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day: nanoseconds since midnight, as precise as `granularity`. `zone` is minutes east of UTC."""

    nanos: int
    granularity: Granularity
    zone: int | None = None

    def floor(self, granularity: Granularity) -> int:
        """The time rounded down to `granularity`."""
        return self.nanos - self.nanos % _STEP[granularity]

    def plain(self) -> Clock:
        """The same time without trailing zeros: 14:00:00 is as precise as 2 pm."""
        granularity: Granularity = "minute" if self.nanos % MINUTE == 0 else "second"
        return Clock(self.nanos, "hour" if self.nanos % HOUR == 0 else granularity, self.zone)


@dataclass(frozen=True, slots=True)
class Point:
    """A year, a month, a date or an instant. Fields that were not written are None; "March" has no year. Years are
    numbered as astronomers do: 0 is 1 BC.
    """

    year: int | None = None
    month: int | None = None
    day: int | None = None
    clock: Clock | None = None

    @property
    def granularity(self) -> Granularity:
        """The finest field that was written."""
        if self.clock is not None:
            return self.clock.granularity
        return "day" if self.day is not None else "month" if self.month is not None else "year"

    @property
    def zone(self) -> int | None:
        """Minutes east of UTC, if written."""
        return self.clock.zone if self.clock is not None else None

    def to(self, granularity: Granularity) -> Point:
        """The point without finer fields."""
        place = GRANULARITIES.index(granularity)
        clock = self.clock
        if clock is not None:
            clock = Clock(clock.floor(granularity), granularity, clock.zone) if place >= 3 else None
        return Point(
            self.year,
            self.month if place >= 1 else None,
            self.day if place >= 2 else None,
            clock if place >= 3 else None,
        )

    def nanos(self) -> int:
        """Local nanoseconds since the year 1; the first moment if fields were not written."""
        year = _LEAP_YEAR if self.year is None else self.year
        cycles = 0 if year >= 1 else (400 - year) // 400  # the standard library begins with the year 1
        days = datetime.date(year + 400 * cycles, self.month or 1, self.day or 1).toordinal() - 146097 * cycles
        return days * DAY + (self.clock.nanos if self.clock is not None else 0)

    def instant(self) -> int:
        """The same in UTC, for a point with a zone."""
        return self.nanos() - (self.zone or 0) * MINUTE


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time. Months (and years) have no fixed length, and are kept separate from units that do."""

    months: Fraction = Fraction(0)
    nanos: Fraction = Fraction(0)

    def length(self) -> Fraction:
        """The length in nanoseconds, with months at their mean length."""
        return self.months * MONTH + self.nanos


@dataclass(frozen=True, slots=True)
class Period:
    """A named period: a weekday (0 is Monday), a quarter (with its year, if written), or a century (0 is the first one
    BC).
    """

    name: Literal["weekday", "quarter", "century"]
    number: int
    year: int | None = None


Moment = Point | Clock | Duration | Period


def date(year: int | None, month: int | None, day: int | None) -> Point | None:
    """The point with these fields; None if it does not exist (30 February, month 13, year 10000)."""
    if year is not None and not -9998 <= year <= 9999:
        return None
    if month is not None and not 1 <= month <= 12:
        return None
    if day is not None:
        last = calendar.monthrange(year if year is not None else _LEAP_YEAR, month or 1)[1]
        if not 1 <= day <= last:
            return None
    return Point(year, month, day)


def distance(a: Moment, b: Moment, unit: Unit) -> Fraction | None:
    """Returns the distance between two moments of one kind; None for different kinds.

    Between months (or years), the difference is counted in months, all of one length. Times of day, and dates without a
    year, wrap around: December is one month from January.
    """
    if isinstance(a, Duration) and isinstance(b, Duration):
        if unit in ("months", "years") and not a.nanos and not b.nanos:
            return abs(a.months - b.months) / (12 if unit == "years" else 1)
        return abs(a.length() - b.length()) / UNITS[unit]
    if isinstance(a, Clock) and isinstance(b, Clock):
        first, second = a.nanos, b.nanos
        if a.zone is not None and b.zone is not None:
            first, second = first - a.zone * MINUTE, second - b.zone * MINUTE
        apart = (first - second) % DAY
        return Fraction(min(apart, DAY - apart)) / UNITS[unit]
    if not isinstance(a, Point) or not isinstance(b, Point):
        return None
    yearless = a.year is None or b.year is None
    if a.day is None and b.day is None and unit in ("months", "years"):
        months = abs(_months(a) - _months(b))
        if yearless:
            months = abs((a.month or 1) - (b.month or 1))
            months = min(months, 12 - months)
        return Fraction(months, 12 if unit == "years" else 1)
    if yearless:
        first, second = (Point(None, one.month, one.day, one.clock).nanos() for one in (a, b))
        round_trip = 366 * DAY
        apart = (first - second) % round_trip
        return Fraction(min(apart, round_trip - apart)) / UNITS[unit]
    if a.zone is not None and b.zone is not None:
        return Fraction(abs(a.instant() - b.instant())) / UNITS[unit]
    return Fraction(abs(a.nanos() - b.nanos())) / UNITS[unit]


def position(moment: Moment, unit: Unit) -> Fraction | None:
    """Returns how many units a date is after the year 0, or how long a duration is; None for what has no year or
    recurs. In months (and years) a date counts as its month."""
    if isinstance(moment, Duration):
        if unit in ("months", "years") and not moment.nanos:
            return moment.months / (12 if unit == "years" else 1)
        return moment.length() / UNITS[unit]
    if not isinstance(moment, Point) or moment.year is None:
        return None
    if unit in ("months", "years"):
        return Fraction(_months(moment), 12 if unit == "years" else 1)
    since = moment.nanos() if moment.zone is None else moment.instant()
    return Fraction(since - Point(0).nanos()) / UNITS[unit]


def _months(point: Point) -> int:
    return (point.year or 0) * 12 + (point.month or 1) - 1
