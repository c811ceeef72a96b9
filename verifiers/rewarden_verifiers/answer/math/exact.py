"""Exact rational values. Sizes are estimated before values are computed; an irrational value gives None."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, comb, factorial, floor, gcd, isqrt, lcm, log2, prod

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
Function = Callable[[list[Fraction]], Fraction]


class Irrational(Exception):
    """The node has no rational value that rational steps can compute."""


def rational(node: Node, budget: Budget, bindings: Bindings | None = None) -> Fraction | None:
    """The value of a node if rational steps can compute it, else None.

    Raises TooExpensive if the value is rational but too large, and ZeroDivisionError if it does not exist.
    """
    try:
        return _value(node, budget, bindings or {})
    except Irrational:
        return None


def bits(value: Fraction) -> int:
    """Size of the larger part of a fraction."""
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _charged(value: Fraction, budget: Budget) -> Fraction:
    """Bounds the size of the value and charges for it: reducing a fraction takes quadratic time in its size."""
    size = bits(value)
    if size > 2048:
        if size > MAX_BITS:
            raise TooExpensive("too many digits")
        budget.spend((size >> 10) ** 2)
    return value


def _value(node: Node, budget: Budget, bindings: Bindings) -> Fraction:
    if isinstance(node, Number):
        return node.value
    budget.spend()
    return _charged(_step(node, budget, bindings), budget)


def _step(node: Node, budget: Budget, bindings: Bindings) -> Fraction:
    match node:
        case Symbol(name=name):
            if name not in bindings:
                raise Irrational
            return bindings[name]
        case Quotient():
            return _quotient(node, budget, bindings)
        case Negation(body=body):
            return -_value(body, budget, bindings)
        case Sum(terms=terms):
            total = Fraction(0)
            for term in terms:
                total = _charged(total + _value(term, budget, bindings), budget)
            return total
        case Product(factors=factors):
            total = Fraction(1)
            for factor in factors:
                value = _value(factor, budget, bindings)
                if bits(total) + bits(value) > MAX_BITS:
                    raise TooExpensive("too many digits")
                total *= value
            return total
        case Power(base=base, exponent=exponent):
            value, raised = _value(base, budget, bindings), _value(exponent, budget, bindings)
            return _power(value if raised.denominator == 1 else _root(value, raised.denominator), raised.numerator)
        case Root(radicand=radicand, index=index):
            value, degree = _value(radicand, budget, bindings), _value(index, budget, bindings)
            if degree.denominator != 1 or degree < 1:
                raise Irrational
            return _root(value, degree.numerator)
        case Call(name=name, arguments=arguments) if name in _FUNCTIONS:
            return _FUNCTIONS[name]([_value(argument, budget, bindings) for argument in arguments])
        case Mixed(whole=whole, part=part):
            fraction = _quotient(part, budget, bindings)
            return whole.value + fraction if whole.value >= 0 else whole.value - fraction
        case Percent(body=body):
            return _value(body, budget, bindings) / 100
        case Measure(body=body):
            return _value(body, budget, bindings)
        case Based(digits=digits, base=radix):
            try:
                return Fraction(int(digits, radix))
            except ValueError:
                raise Irrational from None
        case Series():
            return _series(node, budget, bindings)
        case _:
            raise Irrational


def _quotient(node: Quotient, budget: Budget, bindings: Bindings) -> Fraction:
    return _value(node.top, budget, bindings) / _value(node.bottom, budget, bindings)


def _power(base: Fraction, exponent: int) -> Fraction:
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


def _root(value: Fraction, index: int) -> Fraction:
    """The rational root; for a negative number only with an odd index. Raises Irrational if there is none."""
    if index > 1000 or (value < 0 and index % 2 == 0):
        raise Irrational
    if value < 0:
        return -_root(-value, index)
    return Fraction(_integer_root(value.numerator, index), _integer_root(value.denominator, index))


def _integer_root(value: int, index: int) -> int:
    if value in (0, 1):
        return value
    if index == 2:
        root = isqrt(value)
        if root * root != value:
            raise Irrational
        return root
    if value.bit_length() > 4096:
        raise Irrational
    low, high = 1, 1 << (value.bit_length() // index + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**index < value:
            low = middle + 1
        else:
            high = middle
    if low**index != value:
        raise Irrational
    return low


def _natural(values: list[Fraction]) -> int:
    """The argument of a factorial. Raises Irrational for an invalid one, and TooExpensive if the result has too many
    digits.
    """
    (value,) = values
    if value.denominator != 1 or value < 0:
        raise Irrational
    if value > MAX_FACTORIAL:
        raise TooExpensive("factorial too large")
    return value.numerator


def _binomial(values: list[Fraction]) -> Fraction:
    if len(values) != 2 or any(value.denominator != 1 or value < 0 for value in values):
        raise Irrational
    if values[0] > 100 * MAX_FACTORIAL or min(values[1], values[0] - values[1]) > MAX_FACTORIAL // 2:
        raise TooExpensive("binomial too large")
    return Fraction(comb(values[0].numerator, values[1].numerator))


def _of_one(compute: Callable[[Fraction], Fraction | int]) -> Function:
    def apply(values: list[Fraction]) -> Fraction:
        if len(values) != 1:
            raise Irrational
        return Fraction(compute(values[0]))

    return apply


def _of_integers(compute: Callable[..., int]) -> Function:
    def apply(values: list[Fraction]) -> Fraction:
        if any(value.denominator != 1 for value in values):
            raise Irrational
        return Fraction(compute(*(value.numerator for value in values)))

    return apply


def _remainder(value: int, modulus: int) -> int:
    return value % modulus


def _series(node: Series, budget: Budget, bindings: Bindings) -> Fraction:
    # Evaluate both ends, even if the first is not rational: the second can be too expensive.
    lower, upper = rational(node.lower, budget, bindings), rational(node.upper, budget, bindings)
    if lower is None or upper is None or lower.denominator != 1 or upper.denominator != 1:
        raise Irrational
    if upper - lower > MAX_TERMS:
        raise TooExpensive("too many terms")
    total = Fraction(0) if node.kind == "sum" else Fraction(1)
    for index in range(lower.numerator, upper.numerator + 1):
        budget.spend()  # terms that are numbers cost nothing themselves: nested sums of 1 took minutes
        value = _value(node.body, budget, {**bindings, node.variable: Fraction(index)})
        total = _charged(total + value if node.kind == "sum" else total * value, budget)
    return total


_FUNCTIONS: dict[str, Function] = {
    "factorial": lambda values: Fraction(factorial(_natural(values))),
    "factorial2": lambda values: Fraction(prod(range(_natural(values), 1, -2))),
    "binom": _binomial,
    "floor": _of_one(floor),
    "ceil": _of_one(ceil),
    "abs": _of_one(abs),
    "sign": _of_one(lambda value: (value > 0) - (value < 0)),
    "gcd": _of_integers(gcd),
    "lcm": _of_integers(lcm),
    "max": lambda values: max(values),
    "min": lambda values: min(values),
    "remainder": _of_integers(_remainder),
}
