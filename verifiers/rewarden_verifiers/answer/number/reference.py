"""References of `number`, prepared once: a number, a range, a vector or a table, or alternatives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from rewarden.errors import InvalidReference
from rewarden_verifiers.answer.number.limits import MAX_ITEMS, TooExpensive, Unreadable
from rewarden_verifiers.answer.number.params import NumberParams, exact
from rewarden_verifiers.answer.number.quantity import Quantity
from rewarden_verifiers.answer.number.reading import Span, name_of, read_scalar, read_vector

Value = bool | int | float | str  # bool is listed so that `true` is refused instead of being read as 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A range that includes its ends. A missing end is open; at least one end is given."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    low: Value | None = None
    high: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A number with its unit, or with its own tolerances, which override the parameters'."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    value: Value
    unit: str | None = None
    abs_tol: float | None = None
    rel_tol: float | None = None


Single = Value | Measure | Interval | tuple[Value, ...] | dict[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternatives:
    """Several references, any of which can match."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    any: tuple[Single, ...]


Reference = Alternatives | Single


@dataclass(frozen=True, slots=True)
class Gold:
    """An expected number: its notation, and its own tolerances if it has some."""

    quantity: Quantity
    abs_tol: Fraction | None = None
    rel_tol: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """An expected range."""

    low: Gold | None
    high: Gold | None


Expected = Gold | Range | tuple[Gold, ...] | dict[str, Gold]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prepared reference. Each of the `alternatives` is right."""

    alternatives: tuple[Expected, ...]


def prepare(reference: Reference, params: NumberParams) -> Prepared:
    """Prepares the reference, once for all its candidates. Raises InvalidReference if it is not a number."""
    given: tuple[Single, ...] = reference.any if isinstance(reference, Alternatives) else (reference,)
    if not given:
        raise InvalidReference("the reference has no alternatives: 'any' is empty", path="reference.any")
    return Prepared(tuple(_expected(one, params) for one in given))


def _expected(given: Single, params: NumberParams) -> Expected:
    if isinstance(given, dict):
        given = _formed(given)
    if isinstance(given, Measure):
        return _measure(given, params)
    if isinstance(given, Interval):
        return _range(given.low, given.high, params)
    if isinstance(given, dict):
        return _table(given, params)
    if isinstance(given, tuple):
        return _vector(given, params)
    if isinstance(given, str) and given.strip()[:1] in tuple("[({\\"):
        if sum(map(given.count, "[({")) != sum(map(given.count, "])}")):
            raise _bad(given, "has brackets that do not match")
        try:
            entries = read_vector(given, params.decimal)
        except Unreadable:
            entries = ()
        except TooExpensive:
            raise _bad(given, "is too large") from None
        if len(entries) > 1:
            return tuple(Gold(entry) for entry in entries)
    if isinstance(given, str):
        found = _read(given, params)
        if isinstance(found, Span):
            return _between(found.low, found.high)
        return Gold(found)
    return Gold(_quantity(given, params))


def _formed(given: dict[str, Value]) -> dict[str, Value] | Measure | Interval:
    """Converts an object with the fields of a range or a measure, which validation takes for a table of names."""
    if set(given) <= {"low", "high"}:
        return Interval(low=given.get("low"), high=given.get("high"))
    if "value" not in given or not set(given) <= {"value", "unit", "abs_tol", "rel_tol"}:
        return given
    unit, absolute, relative = (given.get(name) for name in ("unit", "abs_tol", "rel_tol"))
    if unit is not None and not isinstance(unit, str):
        raise InvalidReference("the reference's unit must be a string", path="reference.unit")
    for name, tolerance in (("abs_tol", absolute), ("rel_tol", relative)):
        if isinstance(tolerance, (str, bool)):
            raise InvalidReference(f"the reference's {name} must be a number", path=f"reference.{name}")
    return Measure(value=given["value"], unit=unit, abs_tol=absolute, rel_tol=relative)  # type: ignore[arg-type]


def _range(low: Value | None, high: Value | None, params: NumberParams) -> Range:
    if low is None and high is None:
        raise InvalidReference("the reference needs 'low' or 'high'", path="reference.low")
    first = None if low is None else _quantity(low, params)
    second = None if high is None else _quantity(high, params)
    if first is not None and second is not None:
        # A unit given at one end applies to both.
        first, second = replace(first, unit=first.unit or second.unit), replace(second, unit=second.unit or first.unit)
        if first.unit is not None and second.unit is not None and first.unit.dimension != second.unit.dimension:
            raise InvalidReference("the reference's ends have units of different dimensions", path="reference")
        size = second.unit.to(first.unit, second.value) if first.unit and second.unit else second.value
        if first.value > size:
            raise InvalidReference("the reference's 'low' is more than its 'high'", path="reference.low")
    return _between(first, second)


def _between(low: Quantity | None, high: Quantity | None) -> Range:
    return Range(None if low is None else Gold(low), None if high is None else Gold(high))


def _measure(given: Measure, params: NumberParams) -> Gold:
    for name, tolerance in (("abs_tol", given.abs_tol), ("rel_tol", given.rel_tol)):
        if tolerance is not None and not 0 <= tolerance < math.inf:
            raise InvalidReference(f"the reference's {name} must be 0 or more, and finite", path=f"reference.{name}")
    quantity = _quantity(given.value, params)
    if given.unit is not None:
        if quantity.unit is not None or quantity.percent:
            raise InvalidReference("the reference has a unit in 'value' and one in 'unit'", path="reference.unit")
        unit = _read(f"1 {given.unit}", params)
        if not isinstance(unit, Quantity) or unit.value != 1:
            raise _bad(given.unit, "is not a unit")
        quantity = replace(quantity, unit=unit.unit, percent=unit.percent, label=unit.label)
    return Gold(quantity, exact(given.abs_tol), exact(given.rel_tol))


def _vector(given: tuple[Value, ...], params: NumberParams) -> tuple[Gold, ...]:
    if not given or len(given) > MAX_ITEMS:
        raise InvalidReference(f"a vector must have from 1 to {MAX_ITEMS} entries", path="reference")
    return tuple(Gold(_quantity(entry, params)) for entry in given)


def _table(given: Mapping[str, Value], params: NumberParams) -> dict[str, Gold]:
    if not given or len(given) > MAX_ITEMS:
        raise InvalidReference(f"a table must have from 1 to {MAX_ITEMS} entries", path="reference")
    table = {name_of(name): Gold(_quantity(value, params)) for name, value in given.items()}
    if len(table) < len(given) or "" in table:
        raise InvalidReference("the reference's names must differ and must not be blank", path="reference")
    return table


def _quantity(given: Value, params: NumberParams) -> Quantity:
    if isinstance(given, bool):
        raise InvalidReference("the reference must be a number, not true or false", path="reference")
    if isinstance(given, float):
        if not math.isfinite(given):
            raise InvalidReference("the reference must be a finite number", path="reference")
        text = repr(given)
        mantissa, _, exponent = text.lower().partition("e")
        part = mantissa.partition(".")[2].rstrip("0")
        digits = mantissa.replace(".", "").lstrip("-0").rstrip("0") if part else mantissa.partition(".")[0].lstrip("-0")
        return Quantity(Fraction(text), digits=len(digits), places=len(part) - int(exponent or 0))
    if isinstance(given, int):
        bits = abs(given).bit_length()
        if bits > 13_000:
            raise _bad("a number", "has too many digits")
        # Counts digits without writing the number out: log10(2) = 0.30103
        return Quantity(Fraction(given), digits=max(1, bits * 30103 // 100_000 + 1), places=0, large=bits > 130)
    found = _read(given, params)
    if not isinstance(found, Quantity):
        raise _bad(given, "is a range where a number is expected")
    return found


def _read(text: str, params: NumberParams) -> Quantity | Span:
    try:
        return read_scalar(text.strip(), params.decimal)
    except Unreadable as error:
        problem = "names several numbers" if error.reason == "hedged" else "is not a number"
        if params.decimal == "point" and "," in text:
            problem += "; if its comma is a decimal comma, set decimal to 'comma'"
        raise _bad(text, problem) from None
    except TooExpensive:
        raise _bad(text, "is too large") from None


def _bad(given: str, problem: str) -> InvalidReference:
    return InvalidReference(f"the reference {given[:80]!r} {problem}", path="reference")
