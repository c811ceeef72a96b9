"""The labels that people gave a response: right or wrong, a grade, or the better of two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

_WORDS: Mapping[str, bool] = {
    **dict.fromkeys(("right", "true", "correct", "yes", "pass", "passed", "good", "accept", "accepted"), True),
    **dict.fromkeys(("wrong", "false", "incorrect", "no", "fail", "failed", "bad", "reject", "rejected"), False),
}

Side = Literal["response", "rival", "tie"]

_SIDES: Mapping[str, Side] = {
    **dict.fromkeys(("response", "a", "1", "first", "left", "chosen"), "response"),
    **dict.fromkeys(("rival", "b", "2", "second", "right", "rejected"), "rival"),
    **dict.fromkeys(("tie", "equal", "both", "neither", "same", "draw", "c"), "tie"),
}


class LabelError(ValueError):
    """A label that says nothing we know."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The meaning of numbers. low, high: the scale's ends; right: the number from which a response is right."""

    low: float = 0.0
    high: float = 1.0
    right: float | None = None

    @property
    def passing(self) -> float:
        """The number from which a response is right; the middle of the scale where nothing else was said."""
        return (self.low + self.high) / 2 if self.right is None else self.right


@dataclass(frozen=True, slots=True)
class Label:
    """right: whether the response is. grade: the person's number, brought to 0 to 1; None where there was none."""

    right: bool
    grade: float | None = None


def read_label(value: Any, scale: Scale) -> Label:
    """A label: a truth value, a word for one, or a number of the scale, as itself or as text. Raises LabelError."""
    if isinstance(value, bool):
        return Label(value)
    if isinstance(value, str):
        word = value.strip().casefold()
        if word in _WORDS:
            return Label(_WORDS[word])
        try:
            value = float(word)
        except ValueError:
            raise LabelError(
                f"the label {value[:40]!r} is neither right nor wrong (also true, false, pass, fail …) nor a number"
            ) from None
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise LabelError(f"a label must be right or wrong, a boolean or a number, not {str(value)[:40]!r}")
    if not scale.low <= value <= scale.high:
        raise LabelError(
            f"the label {value:g} is outside the scale {scale.low:g} to {scale.high:g}; set --scale, such as 1,10"
        )
    return Label(value >= scale.passing, (value - scale.low) / (scale.high - scale.low))


def read_preference(value: Any) -> Side:
    """Reads which of the two is better: `response`, `rival`, `tie`, or another usual word for one of these. Raises
    LabelError.
    """
    word = str(value).strip().casefold()
    if word not in _SIDES:
        raise LabelError(f"unknown preference {str(value)[:40]!r}; use response, rival or tie (also a, b; 1, 2)")
    return _SIDES[word]
