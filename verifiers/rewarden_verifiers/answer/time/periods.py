"""Periods that the calendar names: a weekday, a quarter of a year, a century."""

from __future__ import annotations

import datetime
import re

from rewarden_verifiers.answer.number.limits import Unreadable
from rewarden_verifiers.answer.time.moments import Period, Point

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth", "twenty-first",
)  # fmt: skip
_NTH = rf"(?:(?P<number>[0-9]{{1,2}})(?:st|nd|rd|th)|(?P<word>{'|'.join(_ORDINALS)}))"
_YEAR = r"(?P<year>[0-9]{4})(?![0-9A-Za-z/:]|[.,-][0-9])"
_PERIODS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<weekday>mon|tues|wednes|thurs|fri|satur|sun)days?\b",
        r"(?P<short>mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\b\.?",
        rf"Q(?P<quarter>[1-4])(?![0-9A-Za-z])(?:,? (?:of )?{_YEAR})?",
        r"(?P<year>[0-9]{4})[ -]?Q(?P<quarter>[1-4])(?![0-9A-Za-z])",
        rf"{_NTH} (?P<quarter>quarter)(?:(?:,| of|, of)? {_YEAR})?(?![A-Za-z])",
        rf"{_NTH}[ -](?P<century>century)\b(?: (?P<era>BCE?|B\.C\.(?:E\.)?|AD|CE|A\.D\.|C\.E\.)(?![A-Za-z]))?",
    )
)
_BEFORE = re.compile(r"(?:(?:on|in|the) )*", re.IGNORECASE)


def period_at(text: str, at: int) -> tuple[Period, int] | None:
    """The period that begins at a position of a cleaned text, and its end. Raises Unreadable for a fifth quarter."""
    for pattern in _PERIODS:
        match = pattern.match(text, at)
        if match is not None:
            fields = match.groupdict()
            if fields.get("short") and match.group().islower() and match.group() != text:
                return None  # "the sun sat"
            return _period(fields), match.end()
    return None


def _period(fields: dict[str, str | None]) -> Period:
    day = fields.get("weekday") or fields.get("short")
    if day is not None:
        return Period("weekday", _WEEKDAYS.index(day[:3].lower()))
    word = fields.get("word")
    number = _ORDINALS.index(word.lower()) + 1 if word else int(fields.get("number") or fields["quarter"] or 0)
    if fields.get("century"):
        if number < 1:
            raise Unreadable("malformed")
        return Period("century", 1 - number if (fields["era"] or "").upper().startswith("B") else number)
    if not 1 <= number <= 4:
        raise Unreadable("malformed")
    year = fields["year"]
    return Period("quarter", number, int(year) if year else None)


def only_period(text: str) -> bool:
    """Returns whether a text is a period and nothing else: "Black Monday" and "the 19th century novel" are names."""
    body = text.strip(" .")
    start = _BEFORE.match(body)
    found = period_at(body, start.end() if start else 0)
    return found is not None and found[1] == len(body)


def holds(period: Period, point: Point) -> bool | None:
    """Returns whether a period contains a point; None if the point is not precise enough. Raises Unreadable for the
    last year of a century, which many count as part of the next one.
    """
    if period.name == "weekday":
        if point.year is None or point.year < 1 or point.day is None:
            return None
        return datetime.date(point.year, point.month or 1, point.day).weekday() == period.number
    if point.year is None and (period.name == "century" or period.year is not None):
        return None
    if period.name == "century":
        year = point.year or 0
        if year > 0 and year % 100 == 0:
            raise Unreadable("ambiguous")
        return (year - 1) // 100 + 1 == period.number
    if period.year is not None and point.year != period.year:
        return False
    return None if point.month is None else (point.month - 1) // 3 + 1 == period.number
