"""Numbers as models write coordinates and times."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

NUMBER = (
    r"(?:[-+\u2212]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][-+]?\d{1,4})?(?![\w])"
    r"|[-+]?(?i:nan|inf(?:inity)?)(?![\w]))"
)
"""A pattern of one number. Its parts are bounded, so that a search for it is linear in the text."""

# No two ways to read one gap: otherwise a text that fails in the end would be tried in every combination of them.
GAP = r"(?:\s{1,4}(?:[,;]\s{0,4})?|[,;]\s{0,4})"
"""A pattern of what is between two numbers."""

LARGEST = 1e9
"""No coordinate, width or time is larger: beyond it areas lose their digits, and images do not reach there."""

_NUMBERS = re.compile(NUMBER)


def number(value: Any) -> float | None:
    """A value as a finite number of sensible size, or None. Texts of numbers count, true and false do not."""
    if isinstance(value, str):
        try:
            value = float(value.replace("\u2212", "-")) if len(value) <= 40 else None
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # The bound is asked first of an integer: one of a thousand digits is not a float at all.
    if not -LARGEST <= value <= LARGEST or not math.isfinite(value):
        return None
    return float(value)


def only_numbers(values: Sequence[Any]) -> bool:
    """Returns whether a list holds numbers, or texts of them, and nothing else."""
    return bool(values) and all(
        (isinstance(item, (int, float)) and not isinstance(item, bool))
        or (isinstance(item, str) and number(item) is not None)
        for item in values
    )


def numbers_in(text: str) -> list[str]:
    """All numbers of a short text, as they are written; `nan` and `inf` among them."""
    return _NUMBERS.findall(text)
