"""Limits that apply before anything is evaluated, and the two ways in which reading an answer can fail.

A policy can write an expression whose value has more digits than there are atoms. Every size is therefore estimated
before it is computed: text length, tokens, nesting, digits of literals, bits of exact results, exponents of
floating-point results, terms of sums, and the number of node evaluations in one comparison.
"""

from __future__ import annotations

MAX_TEXT = 2_000  # characters of one answer; a longer reference raises the bound for its candidates
MAX_REFERENCE_TEXT = 20_000
MAX_DEPTH = 48  # nesting of brackets; each level costs about ten Python frames
MAX_HEIGHT = 120  # levels of the tree: 2^2^2^2 ... nests without brackets, and evaluation is recursive
MAX_DIGITS = 1_500  # digits of one literal, well under the interpreter's own limit on int <-> str
MAX_BITS = 131_072  # bits of an exact numerator or denominator: 2006! needs 19,000
MAX_FACTORIAL = 10_000  # argument of an exact factorial
MAX_MAGNITUDE = 4_000_000  # log2 of the largest floating-point result
MAX_TERMS = 2_000  # terms of one sum or product with explicit bounds
MAX_EVALUATIONS = 40_000  # nodes visited by all evaluations of one comparison
MAX_ITEMS = 200  # elements of a list, set or matrix that are compared element by element
COMPARISON_COST = 15  # cost of comparing two items, in evaluations
MAX_CONFIRMED_DIGITS = 6_000  # digits to which huge values are compared
MAX_SIGNS = 6  # plus-minus signs that are expanded, 2^6 readings
MAX_FALLBACK_TEXT = 300  # characters handed to latex2sympy2-extended


class TooExpensive(Exception):
    """The expression exceeds a limit: deciding it would be too expensive."""


class Unreadable(Exception):
    """The text is not mathematics that this parser can read."""


class Budget:
    """Counts node evaluations, so that nested sums cannot multiply beyond the limit."""

    __slots__ = ("left",)

    def __init__(self, evaluations: int = MAX_EVALUATIONS) -> None:
        self.left = evaluations

    def spend(self, amount: int = 1) -> None:
        """Spends `amount` evaluations. Raises TooExpensive if none are left."""
        self.left -= amount
        if self.left < 0:
            raise TooExpensive("too many evaluations")
