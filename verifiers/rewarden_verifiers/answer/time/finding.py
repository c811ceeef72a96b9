"""Rules that find a date or time: the shared ones, and `last_time`, the last date, time or duration of a response."""

from __future__ import annotations

import re
from typing import Any

from rewarden_verifiers.answer.sentence import DOUBT, last_sentence, short_response
from rewarden_verifiers.extraction import Extracted, Ladder

_REACH = 2000
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,7}\.?"
_DIGITS = r"[0-9][0-9:.,/-]*(?<![:.,/-])(?:T[0-9][0-9:.]*[0-9])?(?:Z|[+-][0-9]{2}:[0-9]{2})?"
_PART = r"(?: in the (?:morning|afternoon|evening)| at night)?"
_ERA = r"(?:AD|CE|BCE?|B\.C\.)"
_UNIT = (
    rf"(?:(?:st|nd|rd|th)[ -]century(?: {_ERA})?|st|nd|rd|th|years?|months?|weeks?|days?|hours?|minutes?|seconds?|hrs?|"
    rf"mins?|secs?|[hms]|[ap]\.?m\.?|o['’]clock|{_ERA}|UTC|GMT)(?![A-Za-z])"
)
_NTH = r"(?:[1-4](?:st|nd|rd|th)|first|second|third|fourth)"
_QUARTER = rf"(?:{_NTH} quarter|Q[1-4])(?:,? (?:of )?[0-9]{{4}})?|[0-9]{{4}}[ -]?Q[1-4](?![0-9])"
_PIECE = re.compile(
    rf"(?<![\w.])(?:{_MONTH}(?![a-z])|P[0-9T][0-9YMWDTHS.]{{1,40}}|{_QUARTER}|{_DIGITS}(?: ?{_UNIT})?{_PART}|noon|"
    r"midnight)"
)
_IN_WORDS = re.compile(
    rf"\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|[a-z]{{4,12}}(?:-first)?[ -]century\b(?: {_ERA})?|"
    rf"(?:half|quarter) (?:past|to) (?:[a-z]{{3,6}}|[0-9]{{1,2}})\b(?: [ap]\.?m\b\.?)?{_PART})"
)
"""Times in words, which are only searched if there is no other time."""
_JOIN = re.compile(r"(?:,? |\s?[-–/] ?|,? (?:of|at|and|or|to|the) |,? (?:of the|and then) )?")
_BEFORE = re.compile(r"(?:between|before|after|until|since|not|either|about|by|from|early|late) $", re.IGNORECASE)
_MOST = 64


def last_time(text: str) -> Extracted | None:
    """The last date, time or duration of a response, with those joined to it by "or", "and" and "to"."""
    offset = max(0, len(text) - _REACH)
    found = _pieces(text, offset, len(text))
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


def _pieces(text: str, start: int, end: int) -> list[re.Match[str]]:
    return list(_PIECE.finditer(text, start, end)) or list(_IN_WORDS.finditer(text, start, end))


def concluding_time(text: str) -> Extracted | None:
    """The time of the last sentence, if it is the only one there."""
    sentence = last_sentence(text)
    if sentence is None or DOUBT.search(text, *sentence) is not None:
        return None
    found = _pieces(text, *sentence)
    last = last_time(text) if found else None
    if last is None or last.span[0] > found[0].start() or found[-1].start() >= last.span[1]:
        return None
    return Extracted(last.texts, "concluding_time", last.span)


_OWN = {"short_response": short_response, "concluding_time": concluding_time, "last_time": last_time}


def time_ladder(extraction: Any) -> Ladder:
    """Reads the `extraction` parameter as rules. Raises InvalidParams with the problem."""
    loose = ("short_response", "concluding_time")
    return Ladder(extraction, _OWN, marks=("answer_line",), loose=loose, lax=("last_time",))
