"""Rules to find an answer in time: the shared ones, and `last_time`, the last date, time or duration of a response."""

from __future__ import annotations

import re
from typing import Any

from rewarden_verifiers.answer.sentence import DOUBT, last_sentence, short_response
from rewarden_verifiers.extraction import Extracted, Ladder

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


def concluding_time(text: str) -> Extracted | None:
    """The time of the last sentence, if it is the only one there."""
    sentence = last_sentence(text)
    if sentence is None or DOUBT.search(text, *sentence) is not None:
        return None
    found = list(_PIECE.finditer(text, *sentence))
    last = last_time(text) if found else None
    if last is None or last.span[0] > found[0].start() or _PIECE.search(text, last.span[1], sentence[1]) is not None:
        return None
    return Extracted(last.texts, "concluding_time", last.span)


_OWN = {"short_response": short_response, "concluding_time": concluding_time, "last_time": last_time}


def time_ladder(extraction: Any) -> Ladder:
    """The parameter `extraction` as rules. Raises InvalidParams, naming what is wrong."""
    loose = ("short_response", "concluding_time")
    return Ladder(extraction, _OWN, marks=("answer_line",), loose=loose, lax=("last_time",))
