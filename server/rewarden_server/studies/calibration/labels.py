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


def read_words(given: str) -> dict[str, str]:
    """Reads words of the user's own, `gut=right,schlecht=wrong`, each with a word that is known here. Raises
    LabelError."""
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
    """A label: a truth value, a word for one, or a number of the scale, as itself or as text. words: of the user's own,
    which come first. Raises LabelError."""
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
    """Reads which of the two is better: `response`, `rival`, `tie`, or another usual word for one of these. words: of
    the user's own, which come first. Raises LabelError.
    """
    word = str(_translated(value, words)).strip().casefold()
    if word not in _SIDES:
        raise LabelError(
            f"unknown preference {str(value)[:40]!r}; use response, rival or tie (also a, b; 1, 2), or name yours with "
            "--words"
        )
    return _SIDES[word]


def _translated(value: Any, words: Mapping[str, str] | None) -> Any:
    """The known word for one of the user's own; a number or a truth value can be one too, as it is written."""
    return (words or {}).get(str(value).strip().casefold(), value)
