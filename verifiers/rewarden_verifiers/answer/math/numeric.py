"""High-precision values at given points, with magnitudes bounded before each power, exponential and factorial."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import mpmath

from rewarden_verifiers.answer.math.limits import MAX_MAGNITUDE, MAX_TERMS, Budget, TooExpensive
from rewarden_verifiers.answer.math.syntax import (
    Based,
    Call,
    Constant,
    Degrees,
    Matrix,
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

Value = Any  # mpmath's mpf or mpc; it ships no types
Bindings = Mapping[str, Value]


class Undefined(Exception):
    """The expression has no finite value here, or holds what has no value."""


class Evaluator:
    """Evaluates trees at one working precision. A context of its own, so that no global precision changes."""

    def __init__(self, digits: int) -> None:
        self.context = mpmath.MPContext()
        self.context.dps = digits
        self.digits = digits

    def value(self, node: Node, bindings: Bindings, budget: Budget) -> Value:
        """The value. Raises Undefined, or TooExpensive."""
        try:
            result = self._value(node, bindings, budget)
        except (ZeroDivisionError, ValueError, OverflowError, ArithmeticError, TypeError, NotImplementedError) as error:
            raise Undefined(type(error).__name__) from None
        if not self.context.isfinite(result):
            raise Undefined("not finite")
        return result

    def _value(self, node: Node, bindings: Bindings, budget: Budget) -> Value:
        budget.spend()
        step = _STEPS.get(type(node))
        if step is None:
            raise Undefined(type(node).__name__)
        return step(self, node, bindings, budget)

    def integer(self, node: Node, bindings: Bindings, budget: Budget) -> int:
        """The value, which must be an integer of moderate size."""
        value = self._value(node, bindings, budget)
        if self.context.im(value) != 0 or abs(value) > 1e12:
            raise Undefined("no integer")
        rounded = int(self.context.nint(self.context.re(value)))
        if abs(value - rounded) > 1e-9:
            raise Undefined("no integer")
        return rounded

    def bounded(self, magnitude: Value) -> None:
        """Refuse a result whose log2 is this large."""
        if abs(self.context.re(magnitude)) > MAX_MAGNITUDE:
            raise TooExpensive("magnitude too large")


def _number(at: Evaluator, node: Number, bindings: Bindings, budget: Budget) -> Value:
    value = node.value
    whole = at.context.mpf(value.numerator)
    return whole if value.denominator == 1 else whole / value.denominator


def _based(at: Evaluator, node: Based, bindings: Bindings, budget: Budget) -> Value:
    return at.context.mpf(int(node.digits, node.base))


def _symbol(at: Evaluator, node: Symbol, bindings: Bindings, budget: Budget) -> Value:
    try:
        return bindings[node.name]
    except KeyError:
        raise Undefined(node.name) from None


def _constant(at: Evaluator, node: Constant, bindings: Bindings, budget: Budget) -> Value:
    if node.name == "pi":
        return +at.context.pi
    if node.name == "e":
        return +at.context.e
    if node.name == "i":
        return at.context.mpc(0, 1)
    raise Undefined("infinite")


def _sum(at: Evaluator, node: Sum, bindings: Bindings, budget: Budget) -> Value:
    total = at._value(node.terms[0], bindings, budget)
    for term in node.terms[1:]:
        total = total + at._value(term, bindings, budget)
    return total


def _negation(at: Evaluator, node: Negation, bindings: Bindings, budget: Budget) -> Value:
    return -at._value(node.body, bindings, budget)


def _product(at: Evaluator, node: Product, bindings: Bindings, budget: Budget) -> Value:
    total = at._value(node.factors[0], bindings, budget)
    for factor in node.factors[1:]:
        total = total * at._value(factor, bindings, budget)
    return total


def _quotient(at: Evaluator, node: Quotient, bindings: Bindings, budget: Budget) -> Value:
    return at._value(node.top, bindings, budget) / at._value(node.bottom, bindings, budget)


def _mixed(at: Evaluator, node: Mixed, bindings: Bindings, budget: Budget) -> Value:
    part = at._value(node.part, bindings, budget)
    whole = at._value(node.whole, bindings, budget)
    return whole + part if node.whole.value >= 0 else whole - part


def _percent(at: Evaluator, node: Percent, bindings: Bindings, budget: Budget) -> Value:
    return at._value(node.body, bindings, budget) / 100


def _degrees(at: Evaluator, node: Degrees, bindings: Bindings, budget: Budget) -> Value:
    return at._value(node.body, bindings, budget) * at.context.pi / 180


def _measure(at: Evaluator, node: Measure, bindings: Bindings, budget: Budget) -> Value:
    return at._value(node.body, bindings, budget)


def _power(at: Evaluator, node: Power, bindings: Bindings, budget: Budget) -> Value:
    base = at._value(node.base, bindings, budget)
    exponent = at._value(node.exponent, bindings, budget)
    return _raise(at, base, exponent)


def _raise(at: Evaluator, base: Value, exponent: Value) -> Value:
    if base == 0:
        if at.context.re(exponent) <= 0 and exponent != 0:
            raise Undefined("zero to a negative power")
        return base**exponent
    if at.context.mag(exponent) > 64:
        raise TooExpensive("exponent too large")
    at.bounded(exponent * at.context.ln(abs(base)) * 1.4427)
    return base**exponent


def _root(at: Evaluator, node: Root, bindings: Bindings, budget: Budget) -> Value:
    radicand = at._value(node.radicand, bindings, budget)
    index = at._value(node.index, bindings, budget)
    context = at.context
    if index == 2:
        return context.sqrt(radicand)
    if context.im(radicand) == 0 and radicand < 0 and context.isint(index) and int(index) % 2:
        return -_raise(at, -radicand, 1 / index)  # the real odd root of a negative number
    return _raise(at, radicand, 1 / index)


def _series(at: Evaluator, node: Series, bindings: Bindings, budget: Budget) -> Value:
    lower = at.integer(node.lower, bindings, budget)
    upper = at.integer(node.upper, bindings, budget)
    if upper - lower > MAX_TERMS:
        raise TooExpensive("too many terms")
    context = at.context
    total = context.mpf(0 if node.kind == "sum" else 1)
    inner = dict(bindings)
    for index in range(lower, upper + 1):
        inner[node.variable] = context.mpf(index)
        value = at._value(node.body, inner, budget)
        total = total + value if node.kind == "sum" else total * value
    return total


def _call(at: Evaluator, node: Call, bindings: Bindings, budget: Budget) -> Value:
    if node.name == "det":
        return _determinant(at, node, bindings, budget)
    values = [at._value(argument, bindings, budget) for argument in node.arguments]
    known = _FUNCTIONS.get(node.name)
    if known is not None:
        budget.spend(4)
        return known(at, *values)
    if len(node.name) > 1 and node.name in _VALUELESS:
        raise Undefined(node.name)
    return opaque(at, node.name, values)


def opaque(at: Evaluator, name: str, values: list[Value]) -> Value:
    """A function nobody defined: a fixed pseudo-random value for each argument, equal for equal arguments."""
    context = at.context
    text = name + "".join(":" + context.nstr(value, 12) for value in values)
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
    return context.mpf(int.from_bytes(digest, "big")) / (1 << 124) - 3


def _determinant(at: Evaluator, node: Call, bindings: Bindings, budget: Budget) -> Value:
    (matrix,) = node.arguments
    if not isinstance(matrix, Matrix) or len(matrix.rows) != len(matrix.rows[0]) or len(matrix.rows) > 8:
        raise Undefined("determinant")
    rows = [[at._value(entry, bindings, budget) for entry in row] for row in matrix.rows]
    return at.context.det(at.context.matrix(rows))


def _unary(name: str) -> Callable[..., Value]:
    def apply(at: Evaluator, value: Value) -> Value:
        return getattr(at.context, name)(value)

    return apply


def _trigonometric(name: str) -> Callable[..., Value]:
    def apply(at: Evaluator, value: Value) -> Value:
        context = at.context
        if context.mag(value) > 200:
            raise TooExpensive("angle too large")
        if context.im(value) != 0 and abs(context.im(value)) > MAX_MAGNITUDE:
            raise TooExpensive("magnitude too large")
        result = getattr(context, name)(value)
        if name in ("tan", "sec", "cot", "csc") and abs(result) > context.mpf(10) ** (context.dps - 8):
            raise Undefined("pole")  # tan(pi/2) in floating point is huge, not undefined
        return result

    return apply


def _hyperbolic(name: str) -> Callable[..., Value]:
    def apply(at: Evaluator, value: Value) -> Value:
        at.bounded(value)
        return getattr(at.context, name)(value)

    return apply


def _logarithm(at: Evaluator, value: Value) -> Value:
    return at.context.ln(value)


def _factorial(at: Evaluator, value: Value) -> Value:
    if at.context.mag(value) > 17:
        raise TooExpensive("factorial too large")
    return at.context.factorial(value)


def _double_factorial(at: Evaluator, value: Value) -> Value:
    if at.context.mag(value) > 17:
        raise TooExpensive("factorial too large")
    return at.context.fac2(value)


def _binomial(at: Evaluator, top: Value, bottom: Value) -> Value:
    if at.context.mag(top) > 17 or at.context.mag(bottom) > 17:
        raise TooExpensive("binomial too large")
    return at.context.binomial(top, bottom)


def _floor(at: Evaluator, value: Value) -> Value:
    return at.context.floor(_settled(at, value))


def _ceil(at: Evaluator, value: Value) -> Value:
    return at.context.ceil(_settled(at, value))


def _settled(at: Evaluator, value: Value) -> Value:
    """A value that rounding left a hair beside an integer, as that integer."""
    if at.context.mag(value) > 200:
        raise Undefined("too large to round")
    nearest = at.context.nint(value)
    return nearest if abs(value - nearest) < at.context.mpf(10) ** (10 - at.digits) else value


def _sign(at: Evaluator, value: Value) -> Value:
    return at.context.sign(value)


def _largest(at: Evaluator, *values: Value) -> Value:
    return max(values)


def _smallest(at: Evaluator, *values: Value) -> Value:
    return min(values)


def _common(name: str) -> Callable[..., Value]:
    def apply(at: Evaluator, *values: Value) -> Value:
        from math import gcd, lcm

        integers = [int(value) for value in values]
        if any(integer != value or abs(value) > 1e15 for integer, value in zip(integers, values, strict=True)):
            raise Undefined(name)
        return at.context.mpf(gcd(*integers) if name == "gcd" else lcm(*integers))

    return apply


def _first(at: Evaluator, value: Value, modulus: Value) -> Value:
    return value


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{name: _trigonometric(name) for name in ("sin", "cos", "tan", "cot", "sec", "csc")},
    **{name: _hyperbolic(name) for name in ("sinh", "cosh", "tanh", "coth", "sech", "csch")},
    "arcsin": _unary("asin"),
    "arccos": _unary("acos"),
    "arctan": _unary("atan"),
    "arccot": _unary("acot"),
    "arcsec": _unary("asec"),
    "arccsc": _unary("acsc"),
    "asinh": _unary("asinh"),
    "acosh": _unary("acosh"),
    "atanh": _unary("atanh"),
    "ln": _logarithm,
    "abs": lambda at, value: abs(value),
    "factorial": _factorial,
    "factorial2": _double_factorial,
    "binom": _binomial,
    "floor": _floor,
    "ceil": _ceil,
    "sign": _sign,
    "max": _largest,
    "min": _smallest,
    "gcd": _common("gcd"),
    "lcm": _common("lcm"),
    "mod": _first,
    "Re": lambda at, value: at.context.re(value),
    "Im": lambda at, value: at.context.im(value),
    "arg": lambda at, value: at.context.arg(value),
}
_VALUELESS = frozenset({"deg", "dim", "ker", "tr", "rank"})
_STEPS: dict[type, Callable[[Evaluator, Any, Bindings, Budget], Value]] = {
    Number: _number,
    Based: _based,
    Symbol: _symbol,
    Constant: _constant,
    Sum: _sum,
    Negation: _negation,
    Product: _product,
    Quotient: _quotient,
    Mixed: _mixed,
    Percent: _percent,
    Degrees: _degrees,
    Measure: _measure,
    Power: _power,
    Root: _root,
    Series: _series,
    Call: _call,
}
