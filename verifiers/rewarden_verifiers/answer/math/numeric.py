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

Value = Any  # mpmath's mpf or mpc; it has no type hints
Bindings = Mapping[str, Value]


class Undefined(Exception):
    """The expression has no finite value here, or contains a part without a value."""


class Evaluator:
    """Evaluates trees at one working precision. Has its own context, so that no global precision changes."""

    def __init__(self, digits: int) -> None:
        self.context = mpmath.MPContext()
        self.context.dps = digits
        self.digits = digits

    def value(self, node: Node, bindings: Bindings, budget: Budget) -> Value:
        """The value. Raises Undefined, or TooExpensive."""
        try:
            result = self._value(node, bindings, budget)
        except (ArithmeticError, ValueError, TypeError, NotImplementedError) as error:
            raise Undefined(type(error).__name__) from None
        if not self.context.isfinite(result):
            raise Undefined("not finite")
        return result

    def _value(self, node: Node, bindings: Bindings, budget: Budget) -> Value:
        budget.spend()
        match node:
            case Number(value=value):
                whole = self.context.mpf(value.numerator)
                return whole if value.denominator == 1 else whole / value.denominator
            case Symbol(name=name):
                if name not in bindings:
                    raise Undefined(name)
                return bindings[name]
            case Sum(terms=terms):
                total = self._value(terms[0], bindings, budget)
                for term in terms[1:]:
                    total = total + self._value(term, bindings, budget)
                return total
            case Product(factors=factors):
                total = self._value(factors[0], bindings, budget)
                for factor in factors[1:]:
                    total = total * self._value(factor, bindings, budget)
                return total
            case Quotient(top=top, bottom=bottom):
                return self._value(top, bindings, budget) / self._value(bottom, bindings, budget)
            case Negation(body=body):
                return -self._value(body, bindings, budget)
            case Power(base=base, exponent=exponent):
                return _raise(self, self._value(base, bindings, budget), self._value(exponent, bindings, budget))
            case Root(radicand=radicand, index=index):
                return _root(self, self._value(radicand, bindings, budget), self._value(index, bindings, budget))
            case Call():
                return _call(self, node, bindings, budget)
            case Constant(name="pi"):
                return +self.context.pi
            case Constant(name="e"):
                return +self.context.e
            case Constant(name="i"):
                return self.context.mpc(0, 1)
            case Constant():
                raise Undefined("infinite")
            case Mixed(whole=integer, part=part):
                fraction = self._value(part, bindings, budget)
                total = self._value(integer, bindings, budget)
                return total + fraction if integer.value >= 0 else total - fraction
            case Percent(body=body):
                return self._value(body, bindings, budget) / 100
            case Degrees(body=body):
                return self._value(body, bindings, budget) * self.context.pi / 180
            case Measure(body=body):
                return self._value(body, bindings, budget)
            case Based(digits=digits, base=radix):
                return self.context.mpf(int(digits, radix))
            case Series():
                return _series(self, node, bindings, budget)
            case _:
                raise Undefined(type(node).__name__)

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
        """Rejects a result with this log2 if it is too large."""
        if abs(self.context.re(magnitude)) > MAX_MAGNITUDE:
            raise TooExpensive("magnitude too large")


def _raise(at: Evaluator, base: Value, exponent: Value) -> Value:
    if base == 0:
        if at.context.re(exponent) <= 0 and exponent != 0:
            raise Undefined("zero to a negative power")
        return base**exponent
    if at.context.mag(exponent) > 64:
        raise TooExpensive("exponent too large")
    at.bounded(exponent * at.context.ln(abs(base)) * 1.4427)
    return base**exponent


def _root(at: Evaluator, radicand: Value, index: Value) -> Value:
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
    """An unknown function: a fixed pseudo-random value for each argument, equal for equal arguments."""
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


def _factorial(name: str) -> Callable[..., Value]:
    def apply(at: Evaluator, value: Value) -> Value:
        if at.context.mag(value) > 17:
            raise TooExpensive("factorial too large")
        return getattr(at.context, name)(value)

    return apply


def _binomial(at: Evaluator, top: Value, bottom: Value) -> Value:
    if at.context.mag(top) > 17 or at.context.mag(bottom) > 17:
        raise TooExpensive("binomial too large")
    return at.context.binomial(top, bottom)


def _settled(at: Evaluator, value: Value) -> Value:
    """Rounds a value that is an integer up to rounding errors."""
    if at.context.mag(value) > 200:
        raise Undefined("too large to round")
    nearest = at.context.nint(value)
    return nearest if abs(value - nearest) < at.context.mpf(10) ** (10 - at.digits) else value


def _common(name: str) -> Callable[..., Value]:
    def apply(at: Evaluator, *values: Value) -> Value:
        from math import gcd, lcm

        integers = [int(value) for value in values]
        if any(integer != value or abs(value) > 1e15 for integer, value in zip(integers, values, strict=True)):
            raise Undefined(name)
        return at.context.mpf(gcd(*integers) if name == "gcd" else lcm(*integers))

    return apply


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{name: _trigonometric(name) for name in ("sin", "cos", "tan", "cot", "sec", "csc")},
    **{name: _hyperbolic(name) for name in ("sinh", "cosh", "tanh", "coth", "sech", "csch")},
    **{f"arc{name}": _unary(f"a{name}") for name in ("sin", "cos", "tan", "cot", "sec", "csc")},
    **{name: _unary(name) for name in ("asinh", "acosh", "atanh", "ln", "sign", "arg")},
    "Re": _unary("re"),
    "Im": _unary("im"),
    "abs": lambda at, value: abs(value),
    "factorial": _factorial("factorial"),
    "factorial2": _factorial("fac2"),
    "binom": _binomial,
    "floor": lambda at, value: at.context.floor(_settled(at, value)),
    "ceil": lambda at, value: at.context.ceil(_settled(at, value)),
    "max": lambda at, *values: max(values),
    "min": lambda at, *values: min(values),
    "gcd": _common("gcd"),
    "lcm": _common("lcm"),
}
_VALUELESS = frozenset({"deg", "dim", "ker", "tr", "rank"})
