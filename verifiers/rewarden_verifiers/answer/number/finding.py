"""Rules that find a numeric answer: the shared ones, and `last_quantity`, the last number of a response with its unit.

The shared rule `last_number` reads only digits: of 10^5 it would read 5, and it would lose the unit.
"""

from __future__ import annotations

import re
from typing import Any

from rewarden_verifiers.answer.loose import FORMULAS
from rewarden_verifiers.extraction import Extracted, Ladder

_REACH = 2000
_AFTER = 80
_MOST_JOINED = 64
_NUMBER = re.compile(r"[0-9][0-9.,]*[0-9]|[0-9]")
_END = re.compile(r"\n|[.!?;](?=\s|$)|,\s(?=[A-Za-z])")
# Words and signs that join two numbers into one answer, or into a hedge.
_JOIN = re.compile(
    r"[\s$*\\\u00a0]{0,4}(?:or|and|to|through|[-–+/,×xX*·^]|\\times|\\cdot|\*\*|[eE][-+]?|\}\s?\{|\.\.\.?|±|\\pm|\\,)"
    r"[\s$*({\-\\\u00a0]{0,6}"
)
_BEFORE = re.compile(r"(?i)(?:\\[dt]?frac\s?\{|between |from |either |at least |at most |[-+\u2212$€£¥₹(\[]|\\\$)\s?$")


def last_quantity(text: str) -> Extracted | None:
    """The last number of a response with its sign, exponent, fraction and unit, and the numbers that "or" and "to" join
    to it.
    """
    offset = max(0, len(text) - _REACH)
    found = list(_NUMBER.finditer(text, offset))
    if not found:
        return None
    first = len(found) - 1
    while first > 0 and len(found) - first < _MOST_JOINED:
        gap = text[found[first - 1].end() : found[first].start()]
        if len(gap) > 24 or _JOIN.fullmatch(gap) is None:
            break
        first -= 1
    start, end = found[first].start(), found[-1].end()
    for _ in range(3):
        before = _BEFORE.search(text, max(0, start - 12), start)
        if before is None:
            break
        start = before.start()
    if start and text[start] == "-" and (text[start - 1].isalnum() or text[start - 1] in ")]"):
        start += 1
    stop = _END.search(text, end, end + _AFTER)
    end = stop.start() if stop is not None else min(len(text), end + _AFTER)
    body = text[start:end].rstrip()
    return Extracted((body,), "last_quantity", (start, start + len(body)))


def number_ladder(extraction: Any) -> Ladder:
    """Reads the `extraction` parameter as rules. Raises InvalidParams with the problem."""
    own = {**FORMULAS, "last_quantity": last_quantity}
    return Ladder(extraction, own, marks=("answer_line",), loose=tuple(FORMULAS), lax=("last_quantity",))
