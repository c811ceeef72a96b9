"""Exact rational values. Sizes are estimated before they are computed; what is not rational gives None."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb, factorial, gcd, isqrt, lcm, log2
from typing import Any

from rewarden_verifiers.answer.math.limits import MAX_BITS, MAX_FACTORIAL, MAX_TERMS, Budget, TooExpensive
from rewarden_verifiers.answer.math.syntax import (
    Based,
    Call,
    Measure,
    Mixed,
    Negation,
    Node,
    Number,
    Percent,
    Power,
    Product,
    Quotient,
    Root,
    Series,
    Sum,
    Symbol,
)

Bindings = dict[str, Fraction]


def rational(node: Node, budget: Budget, bindings: Bindings | None = None) -> Fraction | None:
    """The value of a node that is rational by rational steps, else None.

    Raises TooExpensive where the value is rational but too large, ZeroDivisionError where it does not exist.
    """
    kind = type(node)
    if kind is Number:
        return node.value  # type: ignore[union-attr]
    budget.spend()
    step = _STEPS.get(kind)
    if step is None:
        return None
    value = step(node, budget, bindings)
    return value if value is None else _charged(value, budget)


def bits(value: Fraction) -> int:
    """Size of the larger part of a fraction."""
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _charged(value: Fraction, budget: Budget) -> Fraction:
    """The value, bounded in size and paid for: reducing a fraction takes time like the square of its size."""
    size = bits(value)
    if size > 2048:
        if size > MAX_BITS:
            raise TooExpensive("too many digits")
        budget.spend((size >> 10) ** 2)
    return value


def _symbol(node: Symbol, budget: Budget, bindings: Bindings | None) -> Fraction | None:
    return bindings.get(node.name) if bindings else None


def _based(node: Based, budget: Budget, bindings: Bindings | None) -> Fraction | None:
    try:
        return Fraction(int(node.digits, node.base))
    except ValueError:
        return None


def _sum(node: Sum, budget: Budget, bindings: Bindings | None) -> Fraction | None:
    total = Fraction(0)
    for term in node.terms:
        value = rational(term, budget, bindings)
        if value is None:
            return None
        total = _charged(total + value, budget)
    return total


def _negation(node: Negation, budget: Budget, bindings: Bindings | None) -> Fraction | None:
    value = rational(node.body, budget, bindings)
    return None if value is None else -value


def _product(node: Product, budget: Budget, bindings: Bindings | None) -> Fraction | None:
    total = Fraction(1)
    for factor in node.factors:
        value = rational(factor, budget, bindings)
        if value is None:
            return None
        if bits(total) + bits(value) > MAX_BITS:
            raise TooExpensive("too many digits")
        total *= value
    return total


def _quotient(node: Quotient, budget: Budget, bindings: Bindings | None) -> Fraction | None:
    top = rational(node.top, budget, bindings)
    if top is None:
        return None
    bottom = rational(node.bottom, budget, bindings)
    return None if bottom is None else top / bottom


def _mixed(node: Mixed, budget: Budget, bindings: Bindings | None) -> Fraction | None:
    part = _quotient(node.part, budget, bindings)
    if part is None:
        return None
    return node.whole.value + part if node.whole.value >= 0 else node.whole.value - part


def _percent(node: Percent, budget: Budget, bindings: Bindings | None) -> Fraction | None:
    value = rational(node.body, budget, bindings)
    return None if value is None else value / 100


def _measure(node: Measure, budget: Budget, bindings: Bindings | None) -> Fraction | None:
    return rational(node.body, budget, bindings)


def _power(node: Power, budget: Budget, bindings: Bindings | None) -> Fraction | None:
    base = rational(node.base, budget, bindings)
    if base is None:
        return None
    exponent = rational(node.exponent, budget, bindings)
    if exponent is None:
        return None
    if exponent.denominator != 1:
        root = exact_root(base, exponent.denominator)
        if root is None:
            return None
        base = root
    return power(base, exponent.numerator)


def power(base: Fraction, exponent: int) -> Fraction:
    """An integer power, its size estimated first."""
    if base in (0, 1, -1) or exponent in (0, 1):
        if base == 0 and exponent < 0:
            raise ZeroDivisionError
        if abs(base) == 1:
            return base if exponent % 2 else Fraction(1)
        return base**exponent
    if exponent.bit_length() > 32 or abs(exponent) * (_log2(base)) > MAX_BITS:
        raise TooExpensive("power too large")
    return base**exponent


def _log2(value: Fraction) -> float:
    return max(_log2_of(abs(value.numerator)), _log2_of(value.denominator))


def _log2_of(value: int) -> float:
    return log2(value) if value.bit_length() < 1000 else float(value.bit_length())


def exact_root(value: Fraction, index: int) -> Fraction | None:
    """The rational root, where there is one; of a negative number only for the odd index."""
    if index < 0 or index > 1000:
        return None
    if value < 0:
        if index % 2 == 0:
            return None
        root = exact_root(-value, index)
        return None if root is None else -root
    top = _integer_root(value.numerator, index)
    bottom = _integer_root(value.denominator, index)
    return None if top is None or bottom is None else Fraction(top, bottom)


def _integer_root(value: int, index: int) -> int | None:
    if value in (0, 1):
        return value
    if index == 2:
        root = isqrt(value)
        return root if root * root == value else None
    if value.bit_length() > 4096:
        return None
    low, high = 1, 1 << (value.bit_length() // index + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**index < value:
            low = middle + 1
        else:
            high = middle
    return low if low**index == value else None


def _root(node: Root, budget: Budget, bindings: Bindings | None) -> Fraction | None:
    value = rational(node.radicand, budget, bindings)
    if value is None:
        return None
    index = rational(node.index, budget, bindings)
    if index is None or index.denominator != 1 or index < 1:
        return None
    return exact_root(value, index.numerator)


def _call(node: Call, budget: Budget, bindings: Bindings | None) -> Fraction | None:
    values: list[Fraction] = []
    if node.name not in _FUNCTIONS:
        return None
    for argument in node.arguments:
        value = rational(argument, budget, bindings)
        if value is None:
            return None
        values.append(value)
    return _FUNCTIONS[node.name](values)


def _factorial(values: list[Fraction]) -> Fraction | None:
    (value,) = values
    if value.denominator != 1 or value < 0:
        return None
    if value > MAX_FACTORIAL:
        raise TooExpensive("factorial too large")
    return Fraction(factorial(value.numerator))


def _double_factorial(values: list[Fraction]) -> Fraction | None:
    (value,) = values
    if value.denominator != 1 or value < 0:
        return None
    if value > MAX_FACTORIAL:
        raise TooExpensive("factorial too large")
    result = 1
    for factor in range(value.numerator, 1, -2):
        result *= factor
    return Fraction(result)


def _binomial(values: list[Fraction]) -> Fraction | None:
    if len(values) != 2 or any(value.denominator != 1 or value < 0 for value in values):
        return None
    if values[0] > 100 * MAX_FACTORIAL or min(values[1], values[0] - values[1]) > MAX_FACTORIAL // 2:
        raise TooExpensive("binomial too large")
    return Fraction(comb(values[0].numerator, values[1].numerator))


def _floor(values: list[Fraction]) -> Fraction | None:
    return Fraction(values[0].__floor__()) if len(values) == 1 else None


def _ceil(values: list[Fraction]) -> Fraction | None:
    return Fraction(values[0].__ceil__()) if len(values) == 1 else None


def _absolute(values: list[Fraction]) -> Fraction | None:
    return abs(values[0]) if len(values) == 1 else None


def _sign(values: list[Fraction]) -> Fraction | None:
    return Fraction((values[0] > 0) - (values[0] < 0)) if len(values) == 1 else None


def _whole(values: list[Fraction]) -> list[int] | None:
    return [value.numerator for value in values] if all(value.denominator == 1 for value in values) else None


def _gcd(values: list[Fraction]) -> Fraction | None:
    whole = _whole(values)
    return None if whole is None else Fraction(gcd(*whole))


def _lcm(values: list[Fraction]) -> Fraction | None:
    whole = _whole(values)
    return None if whole is None else Fraction(lcm(*whole))


def _series(node: Series, budget: Budget, bindings: Bindings | None) -> Fraction | None:
    lower = rational(node.lower, budget, bindings)
    upper = rational(node.upper, budget, bindings)
    if lower is None or upper is None or lower.denominator != 1 or upper.denominator != 1:
        return None
    if upper - lower > MAX_TERMS:
        raise TooExpensive("too many terms")
    total = Fraction(0) if node.kind == "sum" else Fraction(1)
    for index in range(lower.numerator, upper.numerator + 1):
        value = rational(node.body, budget, {**(bindings or {}), node.variable: Fraction(index)})
        if value is None:
            return None
        total = _charged(total + value if node.kind == "sum" else total * value, budget)
    return total


_FUNCTIONS: dict[str, Callable[[list[Fraction]], Fraction | None]] = {
    "factorial": _factorial,
    "factorial2": _double_factorial,
    "binom": _binomial,
    "floor": _floor,
    "ceil": _ceil,
    "abs": _absolute,
    "sign": _sign,
    "gcd": _gcd,
    "lcm": _lcm,
    "max": lambda values: max(values),
    "min": lambda values: min(values),
    "mod": lambda values: values[0],
}
_STEPS: dict[type, Callable[[Any, Budget, Bindings | None], Fraction | None]] = {
    Symbol: _symbol,
    Based: _based,
    Sum: _sum,
    Negation: _negation,
    Product: _product,
    Quotient: _quotient,
    Mixed: _mixed,
    Percent: _percent,
    Measure: _measure,
    Power: _power,
    Root: _root,
    Call: _call,
    Series: _series,
}
