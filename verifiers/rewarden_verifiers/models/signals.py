"""Numbers that the trainer sends in a sample's `signals`: read strictly, because a reward depends on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rewarden.errors import InvalidSample

LONGEST = 131_072
"""Maximum length of a list."""


def numbers(
    signals: Mapping[str, Any] | None, name: str, low: float, high: float, *, length: int | None = None
) -> list[float] | None:
    """The list `signals[name]`; None if it is missing. Raises InvalidSample, with the path, unless it contains `length`
    finite numbers from `low` to `high`. Numbers that exceed a limit by a rounding error (1e-6) are clipped.
    """
    value = None if signals is None else signals.get(name)
    if value is None:
        return None
    path = f"signals.{name}"
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise InvalidSample(f"{path} must be a list of numbers", path=path)
    if len(value) > LONGEST:
        raise InvalidSample(f"{path} has {len(value)} numbers; at most {LONGEST}", path=path)
    if length is not None and len(value) != length:
        raise InvalidSample(f"{path} has {len(value)} numbers, not {length}", path=path)
    return [
        one if type(one) is float and low <= one <= high else number(one, f"{path}[{place}]", low, high)
        for place, one in enumerate(value)
    ]


def number(value: Any, path: str, low: float, high: float) -> float:
    """Checks a single number in the same way. Raises InvalidSample."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < math.inf:
        raise InvalidSample(f"{path} must be a finite number", path=path)
    if not low - 1e-6 <= value <= high + 1e-6:
        raise InvalidSample(f"{path} must be from {low:g} to {high:g}", path=path)
    return min(max(float(value), low), high)
