"""Parses numbers as models write coordinates and times."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

NUMBER = (
    r"(?:[-+\u2212]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][-+]?\d{1,4})?(?![\w])"
    r"|[-+]?(?i:nan|inf(?:inity)?)(?![\w]))"
)
"""A pattern of one number. Its repetitions are bounded, so that searching takes time linear in the text."""

# There is only one way to match a gap; otherwise, a text that fails late would be tried with every combination.
GAP = r"(?:\s{1,4}(?:[,;]\s{0,4})?|[,;]\s{0,4})"
"""A pattern of the separator between two numbers."""

LARGEST = 1e9
"""The largest coordinate, width or time. Areas of larger values lose precision, and no image is that large."""

_NUMBERS = re.compile(NUMBER)


def number(value: Any) -> float | None:
    """Returns a value as a finite number of reasonable size, or None. Numeric texts count; true and false do not."""
    if isinstance(value, str):
        try:
            value = float(value.replace("\u2212", "-")) if len(value) <= 40 else None
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # Check the bound before converting: an integer of a thousand digits does not fit into a float.
    if not -LARGEST <= value <= LARGEST or not math.isfinite(value):
        return None
    return float(value)


def only_numbers(values: Sequence[Any]) -> bool:
    """Returns whether a list contains only numbers or numeric texts."""
    return bool(values) and all(
        (isinstance(item, (int, float)) and not isinstance(item, bool))
        or (isinstance(item, str) and number(item) is not None)
        for item in values
    )


def numbers_in(text: str) -> list[str]:
    """All numbers in a short text as written, including `nan` and `inf`."""
    return _NUMBERS.findall(text)
