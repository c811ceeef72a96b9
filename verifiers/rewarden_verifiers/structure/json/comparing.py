"""Compares two JSON scalars: exactly, within a tolerance, or as normalised or similar text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, ClassVar, Literal

from rapidfuzz import fuzz

TextRule = Literal["exact", "normal", "fuzzy", "similarity"]
ListRule = Literal["ordered", "multiset", "set"]
Coercion = bool | Literal["python"]

MAX_FUZZY = 10_000
"""The maximum length of texts for which similarity is computed; longer ones are compared exactly."""

MAX_EFFORT = 20_000_000_000
"""The maximum total cost of similarity for one response, as a sum of products of lengths."""

# A sign belongs to a number unless the text before it suggests a dash.
_NUMBERS = re.compile(r"(?:(?<![\w)\]])[-+\u2212])?\d+(?:[.,]\d+)*")
_NUMERAL = re.compile(r"[-+\u2212]?(?:\d{1,3}(?:,\d{3})+|\d{1,40})(?:\.\d{1,40})?(?:[eE][-+]?\d{1,3})?")
_PYTHON_NUMERAL = re.compile(r"[-+]?(?:\d{1,300}\.?\d{0,300}|\.\d{1,300})(?:[eE][-+]?\d{1,3})?", re.ASCII)
_CONSTANTS = {"none": "none", "null": "none", "true": "true", "1": "true", "false": "false", "0": "false"}
"""Python's constants by what they are written as, in any case."""
_UNIT = re.compile(
    r"(?<=\d)\s+(?=(?:%|°[cf]?|(?:[kmcdnµμ]|mc)?(?:g|l|m|mol|eq|iu)|u|iu|h|hrs?|min|s|ms|mmhg|bpm|k?cal|k?pa|k?wh?)(?![^\W_]))"
)
"""The blank between a number and its unit, which many leave out."""


class TooExpensive(Exception):
    """Comparing this response would exceed the allowed cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Overrides the comparison of the values at some paths.

    path: a pattern: `address.city`, `items[*].price`, `**.id`; `*` is one step, `**` any number of them. It includes
    everything beneath. weight: the weight of each value there. ignore: the values there do not count, whether right,
    wrong, missing or extra. whole: a list or object there counts as one value, which is right if all of it is, without
    any extra key. The other fields override the parameters of the same name; None: no override.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    path: str
    weight: float | None = None
    ignore: bool = False
    whole: bool = False
    text: TextRule | None = None
    threshold: float | None = None
    rel_tol: float | None = None
    abs_tol: float | None = None
    coerce: Coercion | None = None
    lists: ListRule | None = None

    def __post_init__(self) -> None:
        if self.weight is not None and not 0 <= self.weight <= 1e6:
            raise ValueError("weight must lie between 0 and 1,000,000")
        _check(self)


def _check(given: Field | Rules) -> None:
    """Raises ValueError for an invalid threshold or tolerance; a field may omit them."""
    if given.threshold is not None and not 0 < given.threshold <= 1:
        raise ValueError("threshold must lie above 0 and at most at 1")
    for name in ("rel_tol", "abs_tol"):
        value = getattr(given, name)
        if value is not None and not 0 <= value < float("inf"):
            raise ValueError(f"{name} must be a number that is not negative")


class Effort:
    """The cost so far of comparing one response."""

    __slots__ = ("spent",)

    def __init__(self) -> None:
        self.spent = 0

    def add(self, cost: int) -> None:
        """Adds to the cost. Raises TooExpensive."""
        self.spent += cost
        if self.spent > MAX_EFFORT:
            raise TooExpensive


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules for comparing values at one path, with all defaults resolved."""

    weight: float = 1.0
    text: TextRule = "exact"
    threshold: float = 0.9
    rel_tol: float = 0.0
    abs_tol: float = 0.0
    coerce: Coercion = False
    lists: ListRule = "ordered"
    whole: bool = False

    def __post_init__(self) -> None:
        _check(self)

    def but(self, field: Field) -> Rules:
        """Returns these rules with a field's overrides applied."""
        given = {
            name: value
            for name in ("weight", "text", "threshold", "rel_tol", "abs_tol", "coerce", "lists")
            if (value := getattr(field, name)) is not None
        }
        if field.ignore:
            given["weight"] = 0.0
        if field.whole:
            given["whole"] = True
        return replace(self, **given)

    def credit(self, expected: Any, value: Any, effort: Effort) -> float:
        """Returns the credit for a scalar, from 0 to 1. Values in between occur only for `similarity`."""
        if self.coerce == "python":
            return self._python(expected, value)
        kind, other = type(expected), type(value)
        if kind is str and other is str:
            return 1.0 if expected == value else self._texts(expected, value, effort)
        if kind is bool or other is bool or expected is None or value is None:
            # True is not 1, and null equals only null.
            if expected is value:
                return 1.0
            return 1.0 if self.coerce and _word(expected) == _word(value) != "" else 0.0
        if kind is not str and other is not str:
            return self._numbers(expected, value)
        if not self.coerce:
            return 0.0
        expected, value = number_of(expected), number_of(value)
        return 0.0 if expected is None or value is None else self._numbers(expected, value)

    def written_alike(self, expected: Any, value: Any) -> bool:
        """Returns whether one is a list or object, and the other the text that Python writes it as."""
        if self.coerce != "python" or isinstance(expected, str) is isinstance(value, str):
            return False
        text, other = (expected, value) if isinstance(expected, str) else (value, expected)
        return text.lstrip()[:1] in ("[", "{") and text.strip() == str(other)

    def _python(self, expected: Any, value: Any) -> float:
        first, second = str(expected).strip(), str(value).strip()
        if first == second:
            return 1.0
        constant = _CONSTANTS.get(first.lower())
        if constant is not None and _CONSTANTS.get(second.lower()) == constant:
            return 1.0
        if isinstance(expected, bool) or isinstance(value, bool):
            return float(expected == value)  # True is 1.0, and no text
        here, there = _python_number(first), _python_number(second)
        return 0.0 if here is None or there is None else self._numbers(here, there)

    def _numbers(self, expected: float, value: float) -> float:
        if expected == value:
            return 1.0
        if not (self.rel_tol or self.abs_tol):
            return 0.0
        try:
            near = abs(expected - value) <= max(self.rel_tol * abs(expected), self.abs_tol)
        except OverflowError:
            return 0.0
        return 1.0 if near else 0.0

    def _texts(self, expected: str, value: str, effort: Effort) -> float:
        if self.text == "exact":
            return 0.0
        expected, value = normal(expected), normal(value)
        if expected == value:
            return 1.0
        if self.text == "normal" or len(expected) > MAX_FUZZY or len(value) > MAX_FUZZY:
            return 0.0
        # Attack: writing 15 for 1.5 or -5 for 5 changes one character of a long text, but reverses its meaning.
        if _NUMBERS.findall(expected) != _NUMBERS.findall(value):
            return 0.0
        effort.add(len(expected) * len(value))
        ratio = fuzz.ratio(expected, value, score_cutoff=100 * self.threshold) / 100
        return ratio if self.text == "similarity" else float(ratio >= self.threshold)


def normal(text: str) -> str:
    """Normalises case, the composition of letters, and white space, including that before a unit."""
    return _UNIT.sub("", " ".join(unicodedata.normalize("NFC", text).casefold().split()))


def number_of(value: Any) -> float | int | None:
    """The number itself, or the number in a text, with or without commas between thousands; else None."""
    if not isinstance(value, str):
        return value if isinstance(value, (int, float)) else None
    text = value.strip()
    if len(text) > 90 or _NUMERAL.fullmatch(text) is None:
        return None
    text = text.replace(",", "").replace("\u2212", "-")
    return float(text) if any(char in text for char in ".eE") else int(text)


def _python_number(text: str) -> float | int | None:
    """The number that a text is to Python; None for another text, or a number beyond all floats.

    An integer stays one: as floats, 9007199254740992 and 9007199254740993 would be equal.
    """
    if _PYTHON_NUMERAL.fullmatch(text) is None:
        return None
    if text.lstrip("+-").isdigit():
        return int(text)
    number = float(text)
    return number if isfinite(number) else None


def _word(value: Any) -> str:
    """`true` or `false` for a Boolean or its name, else an empty text."""
    word = str(value).strip().lower() if isinstance(value, (bool, str)) else ""
    return word if word in ("true", "false") else ""
