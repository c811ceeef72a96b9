"""Times of day in spoken form: "half past two", "a quarter to three", "2 o'clock in the afternoon", "1400 hours".

"half two" is not read, because some people mean half past one and others half past two.
"""

from __future__ import annotations

import re

from rewarden_verifiers.answer.number.limits import Unreadable
from rewarden_verifiers.answer.time.moments import DAY, HOUR, MINUTE, Clock

_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_MINUTES = {"five": 5, "ten": 10, "quarter": 15, "twenty": 20, "twenty-five": 25, "half": 30}
_NAMED = rf"(?P<word>{'|'.join(_WORDS)})\b"
_HOUR = rf"(?:{_NAMED}|(?P<hour>[0-9]{{1,2}})(?![0-9:]|[.,][0-9]))"
_PART = r"(?:,? (?:in the |at )(?P<part>morning|afternoon|evening|night|noon)\b)"
_HALF = r"(?: ?(?P<half>[ap])\.?m\b\.?)"
_SPOKEN = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:(?P<amount>half|quarter|five|ten|twenty(?:[- ]five)?)(?: minutes?)?|(?P<minutes>[0-9]{1,2}) minutes?)"
        rf" (?P<way>past|after|to|till|(?<=quarter )of) {_HOUR}(?: o['’]clock)?(?:{_PART}|{_HALF})?",
        r"(?P<hour>[01][0-9]|2[0-3])(?P<minutes>[0-5][0-9]) ?(?:hours|hrs?|h)\b",
        rf"{_HOUR} o['’]clock{_PART}?",
        rf"{_HOUR}{_PART}",
        rf"{_NAMED}{_HALF}",
        rf"(?P<hour>[0-9]{{1,2}}):(?P<minutes>[0-5][0-9]){_PART}",
    )
)
_PARTS: dict[str, frozenset[int]] = {
    "morning": frozenset(range(1, 12)),
    "noon": frozenset((12,)),
    "afternoon": frozenset(range(12, 20)),
    "evening": frozenset(range(16, 24)),
    "night": frozenset((0, 1, 2, 3, *range(18, 24))),
}
"""The hours that each part of the day can mean."""


def spoken_at(text: str, at: int) -> tuple[Clock, int] | None:
    """The time that begins at a position of a cleaned text, and its end. Raises Unreadable for an hour that does not
    exist (`malformed`) or that the part of the day leaves ambiguous (`ambiguous`).
    """
    for pattern in _SPOKEN:
        match = pattern.match(text, at)
        if match is not None and not text[match.end() : match.end() + 1].isalnum():
            clock = _clock(match.groupdict())
            return None if clock is None else (clock, match.end())
    return None


def _clock(fields: dict[str, str | None]) -> Clock | None:
    word = fields.get("word")
    hour = _WORDS.index(word.lower()) + 1 if word else int(fields["hour"] or 0)
    amount, way = (fields.get("amount") or "").lower(), (fields.get("way") or "").lower()
    if (amount == "half" and way != "past") or (way and hour > 12):
        return None
    minutes = _MINUTES[amount.replace(" ", "-")] if amount else int(fields.get("minutes") or 0)
    nanos = _of_day(hour, fields.get("part"), fields.get("half")) * HOUR
    nanos += (-minutes if way in ("to", "till", "of") else minutes) * MINUTE
    return Clock(nanos % DAY, "minute" if amount or fields.get("minutes") else "hour")


def _of_day(hour: int, part: str | None, half: str | None) -> int:
    """Converts an hour in a part of the day to the hour of the day. Raises Unreadable."""
    if hour > 23 or (half is not None and not 1 <= hour <= 12):
        raise Unreadable("malformed")
    if half is not None:
        return hour % 12 + (12 if half.lower() == "p" else 0)
    if part is None:
        return hour
    meant = _PARTS[part.lower()].intersection((hour % 12, hour % 12 + 12) if hour <= 12 else (hour,))
    if len(meant) != 1:
        raise Unreadable("ambiguous")
    return next(iter(meant))
