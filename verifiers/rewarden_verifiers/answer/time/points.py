"""Dates, instants and times of day in text: a strict grammar with bounded patterns, read in one pass.

Nothing is guessed, unlike in lenient parsers: 30 February, a year 0 or "1990s" is rejected.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from rewarden_verifiers.answer.number.limits import Unreadable
from rewarden_verifiers.answer.time.moments import DAY, HOUR, MINUTE, SECOND, Clock, Granularity, Period, Point, date
from rewarden_verifiers.answer.time.periods import period_at
from rewarden_verifiers.answer.time.spoken import spoken_at

DayOrder = Literal["day_first", "month_first", "refuse"]

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH = (
    r"(?P<{}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY = (
    r"(?:(?P<weekday>mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?"
    r"|sun(?:day)?)\.?,? (?:the )?)?"
)
_DAY = r"(?P<day>[0-9]{1,2})(?: ?(?:st|nd|rd|th)\b|\^\((?:st|nd|rd|th)\))?"
_ERA = r"AD|CE|A\.D\.|C\.E\.|BCE?|B\.C\.(?:E\.)?"
_YEAR = (
    rf"(?P<year>[0-9]{{3,4}}|[0-9]{{1,2}}(?= ?(?:{_ERA})(?![A-Za-z])))(?![0-9]|[.,][0-9])"
    rf"(?: ?(?P<era>{_ERA})(?![A-Za-z]))?"
)
_CLOCK = (
    r"(?:(?P<word>noon|midday|midnight)\b|(?P<hour>[0-9]{1,2})(?:(?:[:h](?P<minute>[0-9]{2})|(?= ?[ap]\.?m\b|\b))"
    r"(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?)(?![0-9]))"
    r"(?: ?(?P<half>[ap]\.?m\b\.?))?(?: o'clock)?"
    r"(?: ?\(?(?P<zone>Z|(?:UTC|GMT)? ?[-+][0-9]{1,2}(?::?[0-9]{2})?|UTC|GMT|E[SD]T|C[SD]T|M[SD]T|P[SD]T|CES?T)\b\)?)?"
)
_ZONES = {
    "Z": 0, "UTC": 0, "GMT": 0, "EST": -300, "EDT": -240, "CST": -360, "CDT": -300, "MST": -420, "MDT": -360,
    "PST": -480, "PDT": -420, "CET": 60, "CEST": 120,
}  # fmt: skip


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_NAMED = _MONTH.format("month")
_DATES: tuple[re.Pattern[str], ...] = tuple(
    _compiled(pattern)
    for pattern in (
        r"(?P<year>[0-9]{4})(?P<sep>[-/.])(?P<month>[0-9]{1,2})(?P=sep)(?P<day>[0-9]{1,2})(?![0-9])",
        r"(?P<year>[0-9]{4})-?W(?P<week>[0-9]{2})(?:-?(?P<weekdaynumber>[1-7]))(?![0-9])",
        r"(?P<year>[0-9]{4})-(?P<ordinal>[0-9]{3})(?![0-9])",
        r"(?P<year>[0-9]{4})[-/](?P<month>[0-9]{1,2})(?![0-9]|[-/.][0-9])",
        r"(?P<year>[0-9]{4})(?P<month>[0-9]{2})(?P<day>[0-9]{2})(?![0-9])",
        r"(?P<year>[0-9]{4}) ?年(?: ?(?P<month>[0-9]{1,2}) ?月(?: ?(?P<day>[0-9]{1,2}) ?[日号])?)?",
        r"(?P<first>[0-9]{1,2})(?P<sep>[-/.])(?P<second>[0-9]{1,2})(?P=sep)(?P<year>[0-9]{4}|[0-9]{2})(?![0-9])",
        _WEEKDAY + _DAY + rf"(?: day)?(?: of)?[ -]?{_NAMED}(?:[, -]{{1,2}}(?:of )?{_YEAR})?",
        _WEEKDAY + rf"{_NAMED}[ -](?:the )?{_DAY}(?![0-9:])(?:,? (?:of )?{_YEAR})?",
        rf"{_NAMED}(?:,? (?:of )?|-){_YEAR}",
        rf"{_YEAR}[, -]{{1,2}}{_NAMED}(?:[ -]{_DAY}(?![0-9:]))?",
        rf"{_NAMED}",
        r"(?:AD|A\.D\.) ?(?P<year>[0-9]{1,4})(?![0-9])",
        r"(?P<era>BCE?|B\.C\.(?:E\.)?) ?(?P<year>[0-9]{1,4})(?![0-9])",
        rf"(?P<year>[0-9]{{1,4}}) ?(?P<era>{_ERA})(?![A-Za-z])",
        rf"{_YEAR}(?![A-Za-z0-9:/]|[-–][0-9]|[ -]?Q[1-4]\b)",
    )
)
_TIME = _compiled(_CLOCK)
_BASIC_TIME = re.compile(
    r"T(?P<hour>[0-9]{2})(?P<minute>[0-9]{2})(?P<second>[0-9]{2})?(?P<zone>Z|[-+][0-9]{2}:?[0-9]{2})?"
)
_TO_CLOCK = _compiled(r"(?:T| T |,? (?:at )?)(?=[0-9]|noon|mid|half |quarter )")
_TO_DATE = _compiled(r",? (?:on )?(?=[A-Za-z0-9])")
_STARTS = re.compile(r"(?<![^\W_])(?=[0-9A-Za-z])")
_LOWER_MAY = re.compile(r"(?:may|mar|sun|sat|wed|dec|oct|march)\b")


@dataclass(frozen=True, slots=True)
class Found:
    """A point, a time of day or a period in a text, with its position."""

    value: Point | Clock | Period
    start: int
    end: int


def find(text: str, order: DayOrder) -> Iterator[Found]:
    """The dates, instants, times of day and named periods of a cleaned text, from left to right.

    Raises Unreadable for a text that looks like a date but is not one: `malformed`, or `ambiguous`.
    """
    at = 0
    while (start := _STARTS.search(text, at)) is not None:
        at = start.start()
        found = _at(text, at, order)
        if found is None:
            at = _next(text, at)
            continue
        yield found
        at = max(found.end, at + 1)


def _next(text: str, at: int) -> int:
    """The end of the word or number at `at`."""
    while at < len(text) and text[at].isalnum():
        at += 1
    return at + (at < len(text))


def _at(text: str, at: int, order: DayOrder) -> Found | None:
    spoken = spoken_at(text, at)
    dated = _date_at(text, at, order) if spoken is None else None  # "1400 hours" is not a year
    if dated is not None:
        point, end = dated
        join = _TO_CLOCK.match(text, end)
        if point.day is not None and join is not None:
            clocked = spoken_at(text, join.end()) or _clock_at(text, join.end())
            if clocked is not None:
                return Found(replace(point, clock=clocked[0]), at, clocked[1])
        if point.day is not None and (basic := _BASIC_TIME.match(text, end)) is not None:
            return Found(replace(point, clock=_clock(basic)), at, basic.end())
        return Found(point, at, end)
    clocked = spoken or _clock_at(text, at)
    if clocked is None:
        period = period_at(text, at)
        return None if period is None else Found(period[0], at, period[1])
    clock, end = clocked
    join = _TO_DATE.match(text, end)
    if join is not None:
        dated = _date_at(text, join.end(), order)
        if dated is not None and dated[0].day is not None:
            return Found(replace(dated[0], clock=clock), at, dated[1])
    return Found(replace(clock, nanos=clock.nanos % DAY), at, end)


def _date_at(text: str, at: int, order: DayOrder) -> tuple[Point, int] | None:
    if at and text[at - 1] in "-+" and (at == 1 or not text[at - 2].isalnum()) and text[at].isdigit():
        raise Unreadable("malformed")  # a sign is not an era
    for pattern in _DATES:
        match = pattern.match(text, at)
        if match is not None and _ends(text, match.end()):
            fields = match.groupdict()
            if set(fields) == {"month"} and _LOWER_MAY.match(text, at) and match.group() != text:
                return None  # "it may be 2024", not the month
            return _point(fields, order), match.end()
    return None


def _ends(text: str, at: int) -> bool:
    """Returns whether a date can end here: not within a word, except before the T of a time and in scripts without
    spaces.
    """
    following = text[at : at + 2]
    if not following[:1].isalnum() or not following[0].isascii():
        return True
    return following[0] in "Tt" and following[1:].isdigit()


def _point(fields: dict[str, str | None], order: DayOrder) -> Point:
    """The date with these fields. Raises Unreadable if it does not exist."""
    year, month, day = (_number(fields.get(name)) for name in ("year", "month", "day"))
    era = fields.get("era")
    if year is not None and year < 1:
        raise Unreadable("malformed")
    if year is not None and era is not None and era.upper().startswith("B"):
        year = 1 - year
    if year is not None and len(fields["year"] or "") == 2 and era is None and fields.get("first") is not None:
        raise Unreadable("ambiguous")  # 05/03/24
    point: Point | None
    if fields.get("week") is not None:
        point = _iso_week(year, _number(fields["week"]), _number(fields.get("weekdaynumber")))
    elif fields.get("ordinal") is not None:
        point = _ordinal(year, _number(fields["ordinal"]))
    else:
        if fields.get("first") is not None:
            day, month = _ordered(int(fields["first"] or 0), int(fields["second"] or 0), order)
        point = date(year, month, day)
    if point is None:
        raise Unreadable("malformed")
    weekday = fields.get("weekday")
    if weekday is not None and point.year is not None and point.year > 0 and point.day is not None:
        number = datetime.date(point.year, point.month or 1, point.day).weekday()
        if _WEEKDAYS[number] != weekday[:3].lower():
            raise Unreadable("contradictory")  # "Monday, 5 March 2024" was a Tuesday
    return point


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    if text[0].isdigit():
        return int(text)
    return next(place for place, name in enumerate(_MONTHS, start=1) if name.startswith(text[:3].lower()))


def _ordered(first: int, second: int, order: DayOrder) -> tuple[int, int]:
    """Day and month of "05/03", in the configured order if both readings are dates."""
    if first > 12 or first == second:
        return first, second
    if second > 12:
        return second, first
    if order == "refuse":
        raise Unreadable("ambiguous")
    return (first, second) if order == "day_first" else (second, first)


def _iso_week(year: int | None, week: int | None, weekday: int | None) -> Point | None:
    try:
        found = datetime.date.fromisocalendar(year or 0, week or 0, weekday or 0)
    except ValueError:
        return None
    return Point(found.year, found.month, found.day)


def _ordinal(year: int | None, number: int | None) -> Point | None:
    try:
        first = datetime.date(year or 0, 1, 1)
        found = first + datetime.timedelta(days=(number or 0) - 1)
    except (ValueError, OverflowError):
        return None
    return Point(found.year, found.month, found.day) if found.year == year else None


def _clock_at(text: str, at: int) -> tuple[Clock, int] | None:
    """A time of day. A bare hour does not count ("at 5"): minutes, am or pm are required."""
    match = _TIME.match(text, at)
    if match is None or (match.end() < len(text) and text[match.end()].isalnum()):
        return None
    if not (match["word"] or match["minute"] or match["half"]):
        return None
    return _clock(match), match.end()


def _clock(match: re.Match[str]) -> Clock:
    fields = match.groupdict()
    zone = _zone(fields.get("zone"))
    word = (fields.get("word") or "").lower()
    if word:
        return Clock(0 if word == "midnight" else 12 * HOUR, "minute", zone)
    hour, minute, second = (int(fields.get(name) or 0) for name in ("hour", "minute", "second"))
    half = (fields.get("half") or "").lower()
    if half:
        if not 1 <= hour <= 12:
            raise Unreadable("malformed")
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    leap = (hour, minute, second) == (23, 59, 60)
    midnight = (hour, minute, second) == (24, 0, 0)  # of the next day, as in ISO 8601
    if (hour > 23 and not midnight) or minute > 59 or (second > 59 and not leap):
        raise Unreadable("malformed")
    nanos = hour * HOUR + minute * MINUTE + second * SECOND
    fraction = fields.get("fraction")
    if fraction is not None:
        nanos += int(fraction.ljust(9, "0"))
    granularity: Granularity = "second" if fields.get("second") else "minute" if fields.get("minute") else "hour"
    return Clock(nanos, granularity, zone)


def _zone(text: str | None) -> int | None:
    """Minutes east of UTC."""
    if text is None:
        return None
    known = _ZONES.get(text.upper())
    if known is not None:
        return known
    body = text.upper().removeprefix("UTC").removeprefix("GMT").strip()
    sign, digits = (-1 if body[0] == "-" else 1), body[1:].replace(":", "")
    hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
    if hours > 14 or minutes > 59:
        raise Unreadable("malformed")
    return sign * (hours * 60 + minutes)
