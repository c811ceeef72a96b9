"""The last number of a response, for callers that need nothing else."""

from __future__ import annotations

import re

from rewarden_verifiers.extraction.extracted import Extracted

_NUMBER = re.compile(
    r"(?:(?<![\w)\]])[-+\u2212])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+|(?<!\d)(?=\.\d))(?:\.\d+)?(?:[eE][-+]?\d+)?%?(?:/\d+)?"
)
_NUMBER_REACH = 2000


def last_number(text: str) -> Extracted | None:
    """The digits of the last number, without a unit."""
    offset = max(0, len(text) - _NUMBER_REACH)
    last = None
    for match in _NUMBER.finditer(text, offset):
        last = match
    return None if last is None else Extracted((last.group(),), "last_number", last.span())
