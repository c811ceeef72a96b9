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
    """A label with no known meaning."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The meaning of numbers. low, high: the ends of the scale; right: the number from which a response is right."""

    low: float = 0.0
    high: float = 1.0
    right: float | None = None

    @property
    def passing(self) -> float:
        """The number from which a response is right; by default the middle of the scale."""
        return (self.low + self.high) / 2 if self.right is None else self.right


@dataclass(frozen=True, slots=True)
class Label:
    """right: whether the response is right. grade: the label's number, scaled to 0 to 1; None if it had none."""

    right: bool
    grade: float | None = None


def read_words(given: str) -> dict[str, str]:
    """Parses the user's own words, `gut=right,schlecht=wrong`, each with a known word. Raises LabelError."""
    found: dict[str, str] = {}
    for one in given.split(","):
        own, equals, known = (part.strip().casefold() for part in one.rpartition("="))
        if not equals or not own:
            raise LabelError(f"{one.strip()!r} must be WORD=MEANING, such as gut=right")
        if known not in _WORDS and known not in _SIDES:
            raise LabelError(f"{one.strip()!r}: a label means right or wrong; for pairs: response, rival or tie")
        found[own] = known
    return found


def read_label(value: Any, scale: Scale, words: Mapping[str, str] | None = None) -> Label:
    """A label from a boolean, a word for one, or a number on the scale, each as itself or as text. words: the user's
    own, which take precedence. Raises LabelError."""
    value = _translated(value, words)
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
                f"the label {value[:40]!r} is neither right nor wrong (also true, false, pass, fail …) nor a number; "
                "--words gut=right,schlecht=wrong names others"
            ) from None
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise LabelError(f"a label must be right or wrong, a boolean or a number, not {str(value)[:40]!r}")
    if not scale.low <= value <= scale.high:
        raise LabelError(
            f"the label {value:g} is outside the scale {scale.low:g} to {scale.high:g}; set --scale, such as 1,10"
        )
    return Label(value >= scale.passing, (value - scale.low) / (scale.high - scale.low))


def read_preference(value: Any, words: Mapping[str, str] | None = None) -> Side:
    """The better of the two: `response`, `rival`, `tie`, or another common word for one of these. words: the user's
    own, which take precedence. Raises LabelError.
    """
    word = str(_translated(value, words)).strip().casefold()
    if word not in _SIDES:
        raise LabelError(
            f"unknown preference {str(value)[:40]!r}; use response, rival or tie (also a, b; 1, 2), or name yours with "
            "--words"
        )
    return _SIDES[word]


def _translated(value: Any, words: Mapping[str, str] | None) -> Any:
    """The known word for one of the user's own, which may also be a number or a boolean, as written."""
    return (words or {}).get(str(value).strip().casefold(), value)
