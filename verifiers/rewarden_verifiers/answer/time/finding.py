"""Rules to find an answer in time: the shared ones, and `last_time`, the last date, time or duration of a response."""

from __future__ import annotations

import re
from typing import Any

from rewarden_verifiers.extraction import Extracted, Rule, rules_of, rules_with

_REACH = 2000
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,7}\.?"
_DIGITS = r"[0-9][0-9:.,/-]*(?<![:.,/-])(?:T[0-9][0-9:.]*[0-9])?(?:Z|[+-][0-9]{2}:[0-9]{2})?"
_UNIT = (
    r"(?:st|nd|rd|th|years?|months?|weeks?|days?|hours?|minutes?|seconds?|hrs?|mins?|secs?|[hms]|[ap]\.?m\.?|AD|CE|BCE?|"
    r"B\.C\.|UTC|GMT)(?![A-Za-z])"
)
_PIECE = re.compile(
    rf"(?<![\w.])(?:{_MONTH}(?![a-z])|P[0-9T][0-9YMWDTHS.]{{1,40}}|{_DIGITS}(?: ?{_UNIT})?|noon|midnight)"
)
_JOIN = re.compile(r"(?:,? |\s?[-–/] ?|,? (?:of|at|and|or|to|the) |,? (?:of the|and then) )?")
_BEFORE = re.compile(r"(?:between|before|after|until|since|not|either|about|by|from|early|late) $", re.IGNORECASE)
_MOST = 64


def last_time(text: str) -> Extracted | None:
    """The last date, time or duration of a response, with those that "or", "and" and "to" join to it."""
    offset = max(0, len(text) - _REACH)
    found = list(_PIECE.finditer(text, offset))
    if not found:
        return None
    first = len(found) - 1
    while first > 0 and len(found) - first < _MOST:
        gap = text[found[first - 1].end() : found[first].start()]
        if len(gap) > 12 or _JOIN.fullmatch(gap) is None:
            break
        first -= 1
    start, end = found[first].start(), found[-1].end()
    before = _BEFORE.search(text, max(0, start - 10), start)
    if before is not None:
        start = before.start()
    body = text[start:end].rstrip(" ,.")
    return Extracted((body,), "last_time", (start, start + len(body)))


def time_rules(extraction: Any) -> tuple[Rule, ...]:
    """The parameter `extraction` as rules. Raises InvalidParams, naming what is wrong."""
    return rules_with(extraction, "last_time", last_time) if extraction else rules_of(extraction)
