"""Identity testing in a finite field: exact for expressions of numbers, variables, i, pi, e, square roots and
logarithms.

A ring homomorphism maps equal values to equal images, so different images refute equality for certain. Equal images at
random points prove it up to a chance of about degree / 2^126 (Schwartz and Zippel). Variables, pi, e and the logarithms
of primes become fixed random elements (no algebraic relation between the latter three is known); i becomes a square
root of -1, and the square root of n a product of fixed square roots of n's primes: the prime below is 1 modulo 8 and
modulo every odd prime up to 47, so that those roots exist.

The prime is no secret, so a policy could write it out; `compare` therefore also checks equal images in floating point.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from rewarden_verifiers.answer.math.exact import rational
from rewarden_verifiers.answer.math.limits import MAX_BITS, Budget, TooExpensive
from rewarden_verifiers.answer.math.syntax import (
    Call,
    Constant,
    Degrees,
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
    Sum,
    Symbol,
)

PRIME = 85070591730234615960994710020075346121
_LARGEST_PRIME_FACTOR = 1_000  # trial division; a cofactor below the square of the last trial is prime


class Outside(Exception):
    """The expression has no image in the field."""


def image(node: Node, point: int, budget: Budget) -> int:
    """The image of the node at one of the fixed random points. Raises Outside, or TooExpensive."""
    kind = type(node)
    if kind is Number:
        return _fraction(node.value)  # type: ignore[union-attr]
    budget.spend()
    step = _STEPS.get(kind)
    if step is None:
        raise Outside
    return step(node, point, budget)


@lru_cache(maxsize=4096)
def element(name: str, point: int) -> int:
    """The fixed random element of a name."""
    digest = hashlib.blake2b(f"{point}:{name}".encode("utf-8", "replace"), digest_size=24).digest()
    return int.from_bytes(digest, "big") % PRIME


def _fraction(value: Fraction) -> int:
    if value.denominator == 1:
        return value.numerator % PRIME
    return value.numerator % PRIME * _inverse(value.denominator % PRIME) % PRIME


def _inverse(value: int) -> int:
    if value == 0:
        raise Outside
    return pow(value, -1, PRIME)


def _symbol(node: Symbol, point: int, budget: Budget) -> int:
    return element("variable " + node.name, point)


def _constant(node: Constant, point: int, budget: Budget) -> int:
    if node.name == "i":
        return square_root(PRIME - 1)
    if node.name == "oo":
        raise Outside
    return element(node.name, point)


def _sum(node: Sum, point: int, budget: Budget) -> int:
    return sum(image(term, point, budget) for term in node.terms) % PRIME


def _negation(node: Negation, point: int, budget: Budget) -> int:
    return -image(node.body, point, budget) % PRIME


def _product(node: Product, point: int, budget: Budget) -> int:
    total = 1
    for factor in node.factors:
        total = total * image(factor, point, budget) % PRIME
    return total


def _quotient(node: Quotient, point: int, budget: Budget) -> int:
    return image(node.top, point, budget) * _inverse(image(node.bottom, point, budget)) % PRIME


def _mixed(node: Mixed, point: int, budget: Budget) -> int:
    value = rational(node, budget)
    if value is None:
        raise Outside
    return _fraction(value)


def _percent(node: Percent, point: int, budget: Budget) -> int:
    return image(node.body, point, budget) * _inverse(100) % PRIME


def _degrees(node: Degrees, point: int, budget: Budget) -> int:
    return image(node.body, point, budget) * element("pi", point) * _inverse(180) % PRIME


def _measure(node: Measure, point: int, budget: Budget) -> int:
    return image(node.body, point, budget)


def _power(node: Power, point: int, budget: Budget) -> int:
    exponent = rational(node.exponent, budget)
    if exponent is None:
        raise Outside
    if exponent.numerator.bit_length() > MAX_BITS:
        raise TooExpensive("exponent too large")
    if exponent.denominator == 1:
        base = image(node.base, point, budget)
        if base == 0 and exponent < 0:
            raise Outside
        return pow(base, exponent.numerator, PRIME)
    if exponent.denominator == 2:
        return pow(_positive_root(node.base, budget), exponent.numerator, PRIME)
    raise Outside


def _root(node: Root, point: int, budget: Budget) -> int:
    if rational(node.index, budget) != 2:
        raise Outside
    return _positive_root(node.radicand, budget)


def _positive_root(radicand: Node, budget: Budget) -> int:
    """The image of the principal square root of a rational; for a negative one, i times a root."""
    value = rational(radicand, budget)
    if value is None:
        raise Outside
    # sqrt(a/b) = sqrt(ab)/b
    product = abs(value.numerator * value.denominator)
    if product.bit_length() > 200:
        raise Outside
    result = _root_of_integer(product) * _inverse(value.denominator % PRIME) % PRIME
    return result * square_root(PRIME - 1) % PRIME if value < 0 else result


@lru_cache(maxsize=4096)
def _root_of_integer(value: int) -> int:
    result = 1
    for prime, count in factors(value).items():
        result = result * pow(prime, count // 2, PRIME) % PRIME
        if count % 2:
            result = result * square_root(prime) % PRIME
    return result


@lru_cache(maxsize=4096)
def factors(value: int) -> dict[int, int]:
    """The prime factors of a positive integer, if trial division finds them."""
    if value < 1:
        return {0: 1} if value == 0 else {}
    found: dict[int, int] = {}
    divisor = 2
    while divisor <= _LARGEST_PRIME_FACTOR and divisor * divisor <= value:
        while value % divisor == 0:
            found[divisor] = found.get(divisor, 0) + 1
            value //= divisor
        divisor += 1 if divisor == 2 else 2
    if value > 1:
        if value > _LARGEST_PRIME_FACTOR**2:
            raise Outside
        found[value] = found.get(value, 0) + 1
    return found


@lru_cache(maxsize=4096)
def square_root(value: int) -> int:
    """The smaller square root modulo the prime. Raises Outside if there is none. (Tonelli and Shanks.)"""
    if value == 0:
        return 0
    if pow(value, (PRIME - 1) // 2, PRIME) != 1:
        raise Outside
    odd, twos = PRIME - 1, 0
    while odd % 2 == 0:
        odd //= 2
        twos += 1
    residue = 2
    while pow(residue, (PRIME - 1) // 2, PRIME) == 1:
        residue += 1
    order, factor = twos, pow(residue, odd, PRIME)
    remainder, root = pow(value, odd, PRIME), pow(value, (odd + 1) // 2, PRIME)
    while remainder != 1:
        power, square = 0, remainder
        while square != 1:
            square = square * square % PRIME
            power += 1
        step = pow(factor, 1 << (order - power - 1), PRIME)
        order, factor = power, step * step % PRIME
        remainder, root = remainder * factor % PRIME, root * step % PRIME
    return min(root, PRIME - root)


def _call(node: Call, point: int, budget: Budget) -> int:
    if node.name == "ln" and len(node.arguments) == 1:
        value = rational(node.arguments[0], budget)
        if value is None or value <= 0 or value.numerator.bit_length() + value.denominator.bit_length() > 400:
            raise Outside
        total = 0
        for integer, sign in ((value.numerator, 1), (value.denominator, -1)):
            for prime, count in factors(integer).items():
                total += sign * count * element(f"ln {prime}", point)
        return total % PRIME
    if node.name in _RATIONAL_CALLS:
        exact = rational(node, budget)
        if exact is not None:
            return _fraction(exact)
    raise Outside


_RATIONAL_CALLS = frozenset(
    {"factorial", "factorial2", "binom", "floor", "ceil", "abs", "gcd", "lcm", "max", "min", "remainder"}
)
_STEPS: dict[type, Callable[[Any, int, Budget], int]] = {
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
    Call: _call,
}
