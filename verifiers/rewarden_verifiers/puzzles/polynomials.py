"""Expanded polynomials with rational coefficients: for `polynomial_multiplication`, without SymPy's `eval`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from rewarden_verifiers.puzzles.findings import RIGHT, Finding, malformed, wrong

Monomial = tuple[tuple[str, int], ...]
Polynomial = dict[Monomial, Fraction]

MAX_TERMS = 2000
_TERM = re.compile(r"\s*([-+])?\s*([^-+]+)")
_FACTOR = re.compile(r"(?:(\d{1,200}(?:\.\d{1,50})?)|([A-Za-z]))(?:(?:\*\*|\^)\{?(\d{1,6})\}?)?", re.ASCII)


class NotExpanded(Exception):
    """The text is not a sum of terms such as `3*x**2`."""


def parse(text: str) -> Polynomial:
    """Parses a sum of monomials, and combines like terms. Raises NotExpanded for products of sums, among other
    things.
    """
    text = text.replace("\u2212", "-").replace("\u00b7", "*").replace(" ", "").replace("\\cdot", "*")
    found: Polynomial = {}
    at = terms = 0
    while at < len(text):
        match = _TERM.match(text, at)
        terms += 1
        if match is None or terms > MAX_TERMS or (at and match.group(1) is None):
            raise NotExpanded
        at = match.end()
        coefficient = Fraction(-1 if match.group(1) == "-" else 1)
        powers: dict[str, int] = {}
        for factor in match.group(2).replace("**", "^").split("*"):
            coefficient = _multiplied(factor, coefficient, powers)
        monomial = tuple(sorted((name, power) for name, power in powers.items() if power))
        found[monomial] = found.get(monomial, Fraction(0)) + coefficient
    if not terms:
        raise NotExpanded
    return {monomial: coefficient for monomial, coefficient in found.items() if coefficient}


def _multiplied(factor: str, coefficient: Fraction, powers: dict[str, int]) -> Fraction:
    parts = factor.split("/")
    for place, part in enumerate(parts):
        match = _FACTOR.fullmatch(part)
        if match is None:
            raise NotExpanded
        number, name, power = match.group(1), match.group(2), int(match.group(3) or 1)
        if name is not None:
            if place:
                raise NotExpanded
            powers[name] = powers.get(name, 0) + power
        elif power * len(number) > 400 or (place and Fraction(number) == 0):  # 9**999999 would take forever
            raise NotExpanded
        else:
            value = Fraction(number) ** power
            coefficient = coefficient / value if place else coefficient * value
    return coefficient


@dataclass(frozen=True, slots=True)
class PolynomialChecker:
    """The expanded product."""

    product: Polynomial

    def check(self, answer: str) -> Finding:
        """Right for the same polynomial as a sum of terms, in any order. Echoing the product is `malformed`."""
        try:
            found = parse(answer)
        except NotExpanded:
            return malformed("it is not a sum of terms such as 3*x**2")
        return RIGHT if found == self.product else wrong("the polynomial is different")
