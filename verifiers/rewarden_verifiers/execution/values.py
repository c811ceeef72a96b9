"""Compares the return value of a call with the expected value. It handles plain values only, never a candidate's
objects.

The values were decoded from a candidate's reply (see `tagged`) or read from a reference's JSON, so `==` on them runs no
foreign code. Dictionary keys are texts. Sets are `Bag`s: in a hash table, a candidate could choose colliding numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

_EXCERPT = 120


class Tuple(list[Any]):
    """The items of a tuple."""


class Bag(list[Any]):
    """The items of a set, in no order."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value that equals only values of its own kind: a date, a time, a range. `parts` are texts."""

    kind: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """The allowed difference between two numbers, absolute or relative. Raises ValueError if invalid."""

    USUAL: ClassVar[tuple[float, float]]
    """Both tolerances, if neither is given."""

    abs: float | None = None
    rel: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("abs", self.abs), ("rel", self.rel)):
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a finite number of at least 0")

    @property
    def tolerance(self) -> tuple[float, float]:
        """Returns absolute and relative tolerance. If only one is given, the other is 0."""
        if self.abs is None and self.rel is None:
            return self.USUAL
        return self.abs or 0.0, self.rel or 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueChecker(Tolerance):
    """The settings of a comparison; see `differs`. Raises ValueError for invalid ones."""

    USUAL = 1e-12, 1e-9

    unordered: bool | Literal["deep"] = False
    strict: bool = False


def differs(checker: ValueChecker, got: Any, wanted: Any, path: str = "") -> str | None:
    """Returns where a value differs from the expected one, or None.

    As `==` in Python, with these exceptions: if either number is a float, both can differ by the tolerance (relative
    1e-9 of the expected one or absolute 1e-12, unless the checker sets others); NaN equals NaN; a tuple equals a list,
    because a reference is JSON; keys of a dictionary are compared as JSON writes them. `unordered`: the outermost list
    (with `deep`: every list) can be in any order, and then a set equals a list too. `strict`: types must be equal as
    well, so that neither 1 and `True` nor 1 and 1.0 nor a tuple and a list are equal. Values nest at most as deep as
    their decoders allow.
    """
    if checker.strict and type(got) is not type(wanted):
        return _said(path, got, wanted)
    if isinstance(wanted, list):
        if not isinstance(got, list):
            return _said(path, got, wanted)
        free = checker.unordered == "deep" or (checker.unordered and not path)
        if not free and isinstance(got, Bag) != isinstance(wanted, Bag):
            return _said(path, got, wanted)
        if len(got) != len(wanted):
            return f"{path or 'the result'}: expected {len(wanted)} items, got {len(got)}"
        if free or isinstance(wanted, Bag):
            got, wanted = sorted(got, key=_key), sorted(wanted, key=_key)
        for place, (one, other) in enumerate(zip(got, wanted, strict=True)):
            found = differs(checker, one, other, f"{path}[{place}]")
            if found is not None:
                return found
        return None
    if isinstance(wanted, dict):
        if not isinstance(got, dict):
            return _said(path, got, wanted)
        if got.keys() != wanted.keys():
            return f"{path or 'the result'}: the keys differ"
        for key, other in wanted.items():
            found = differs(checker, got[key], other, f"{path}[{key[:_EXCERPT]!r}]")
            if found is not None:
                return found
        return None
    if isinstance(got, (list, dict)):
        return _said(path, got, wanted)
    return None if _same(checker, got, wanted) else _said(path, got, wanted)


def _same(checker: ValueChecker, got: Any, wanted: Any) -> bool:
    if isinstance(wanted, complex) or isinstance(got, complex):
        if not all(isinstance(value, (bool, int, float, complex)) for value in (got, wanted)):
            return False
        return all(_same(checker, getattr(got, part), getattr(wanted, part)) for part in ("real", "imag"))
    if isinstance(got, (bool, int, float)) and isinstance(wanted, (bool, int, float)):
        if got == wanted:
            return True
        if not (isinstance(got, float) or isinstance(wanted, float)):
            return False
        try:
            one, other = float(got), float(wanted)
        except OverflowError:  # an int beyond all floats
            return False
        if math.isnan(other):
            return math.isnan(one)
        if not (math.isfinite(one) and math.isfinite(other)):
            return False
        near, share = checker.tolerance
        return abs(one - other) <= max(near, share * abs(other))
    # Other types equal only values of the same type; bool was handled above.
    return type(got) is type(wanted) and bool(got == wanted)


def _key(value: Any) -> tuple[int, Any]:
    """Returns a sort key that puts equal values, and close numbers of any type, next to each other."""
    if value is None:
        return 0, 0
    if isinstance(value, (bool, int, float)):
        return (1, value) if value == value else (2, 0)  # NaN cannot be ordered among numbers
    if isinstance(value, str):
        return 3, value
    if isinstance(value, bytes):
        return 4, value
    if isinstance(value, complex):
        return 5, (_key(value.real), _key(value.imag))
    if isinstance(value, Bag):
        return 6, sorted(_key(item) for item in value)
    if isinstance(value, list):
        return 6, [_key(item) for item in value]
    if isinstance(value, Opaque):
        return 7, (value.kind, value.parts)
    return 8, sorted((key, _key(item)) for key, item in value.items())


def _said(path: str, got: Any, wanted: Any) -> str:
    return f"{path or 'the result'}: expected {brief(wanted)}, got {brief(got)}"


def brief(value: Any) -> str:
    """Returns a value as Python writes it, on one line, without formatting all of a large one."""
    text = _written(value, _EXCERPT)
    return text if len(text) <= _EXCERPT else text[:_EXCERPT] + "…"


def _written(value: Any, room: int) -> str:
    if room <= 0:
        return "…"
    if isinstance(value, (str, bytes)):
        return repr(value[:room])
    if isinstance(value, int) and not isinstance(value, bool):
        # `repr` of an int with more than 4,300 digits raises.
        return repr(value) if value.bit_length() <= 1_000 else f"an integer of {value.bit_length()} bits"
    if isinstance(value, Opaque):
        return f"{value.kind}({', '.join(value.parts)})"
    if not isinstance(value, (list, dict)):
        return repr(value)
    pairs = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    parts: list[str] = []
    for key, item in pairs:
        name = "" if key is None else f"{key[:room]!r}: "
        parts.append(name + _written(item, room))
        room -= len(parts[-1]) + 2
        if room <= 0:
            parts.append("…")
            break
    ends = "()" if isinstance(value, Tuple) else "{}" if isinstance(value, (dict, Bag)) else "[]"
    return ends[0] + ", ".join(parts) + ends[1]
