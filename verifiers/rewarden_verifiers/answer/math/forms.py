"""Checks that an answer has the form that a task asks for: simplified, in lowest terms, factored, expanded or the
reference's own.

Equality is decided elsewhere; these checks read the notation. "Simplified" has no standard definition; here it means:
no arithmetic left undone, fractions in lowest terms, roots without square factors, like terms collected, and not much
longer than the reference, which rejects an echo of the unsimplified input.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import Literal

from rewarden_verifiers.answer.math.conditions import parted
from rewarden_verifiers.answer.math.exact import rational
from rewarden_verifiers.answer.math.field import Outside, factors
from rewarden_verifiers.answer.math.limits import Budget, TooExpensive
from rewarden_verifiers.answer.math.syntax import (
    Call,
    Negation,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Relation,
    Root,
    Series,
    Sum,
    Symbol,
    free_symbols,
    walk,
)

Form = Literal["simplified", "lowest_terms", "factored", "expanded", "as_written"]


def has_form(form: Form, candidate: Node, reference: Node, budget: Budget) -> bool:
    """Returns whether the candidate, already known to equal the reference, has the required form.

    With `as_written`, a literally equal answer was accepted before parsing, so any answer that gets here does not have
    the form.
    """
    if form == "as_written":
        return False
    candidate, reference = _value(candidate), _value(reference)
    if form == "lowest_terms":
        return all(_lowest(node, budget) for node in walk(candidate))
    if form == "factored":
        return _factored(candidate, reference)
    if form == "expanded":
        return not any(_unexpanded(node) for node in walk(candidate))
    if any(_undone(node, budget) for node in walk(candidate)):
        return False
    return _size(candidate) <= _size(reference) * 4 // 3 + 2


def _value(node: Node) -> Node:
    """The last side of an equation, without conditions."""
    node = parted(node)[0]
    return node.operands[-1] if isinstance(node, Relation) and set(node.operators) == {"="} else node


def _size(node: Node) -> int:
    """Returns the number of numbers, names and operations in the notation."""
    return sum(1 for part in walk(node) if not isinstance(part, Negation))


def _lowest(node: Node, budget: Budget) -> bool:
    if not isinstance(node, Quotient):
        return True
    top, bottom = _integer(node.top, budget), _integer(node.bottom, budget)
    if top is None or bottom is None:
        # (2x+4)/6: every coefficient shares a factor with the denominator
        return bottom is None or not free_symbols(node.top) or gcd(_content(node.top, budget), bottom) == 1
    return gcd(top, bottom) == 1 and abs(bottom) != 1


def _integer(node: Node, budget: Budget) -> int | None:
    value = _rational(node, budget)
    return value.numerator if value is not None and value.denominator == 1 else None


def _rational(node: Node, budget: Budget) -> Fraction | None:
    try:
        return rational(node, budget)
    except (TooExpensive, ZeroDivisionError):
        return None


def _content(node: Node, budget: Budget) -> int:
    """The greatest common divisor of the integer coefficients of an expression's terms."""
    terms = node.terms if isinstance(node, Sum) else (node,)
    result = 0
    for term in terms:
        body = term.body if isinstance(term, Negation) else term
        parts = body.factors if isinstance(body, Product) else (body,)
        coefficient = 1
        for part in parts:
            value = _integer(part, budget)
            coefficient *= 1 if value is None else value
        result = gcd(result, coefficient)
    return result


def _nonconstant(node: Node) -> list[Node]:
    """The factors that contain variables, each repeated by its integer exponent."""
    if isinstance(node, Negation):
        return _nonconstant(node.body)
    if isinstance(node, Product):
        return [part for factor in node.factors for part in _nonconstant(factor)]
    if isinstance(node, Power) and isinstance(node.exponent, Number):
        exponent = node.exponent.value
        if exponent.denominator == 1 and 0 < exponent <= 64:
            return _nonconstant(node.base) * exponent.numerator
    if isinstance(node, Quotient) and not free_symbols(node.bottom):
        return _nonconstant(node.top)
    return [node] if free_symbols(node) else []


def _factored(candidate: Node, reference: Node) -> bool:
    """Requires at least as many factors as the reference has, and no quotient that it does not have."""
    ours, theirs = _nonconstant(candidate), _nonconstant(reference)
    if not ours and not theirs:
        return not isinstance(candidate, Sum)
    if any(isinstance(part, Quotient) for part in ours) and not any(isinstance(part, Quotient) for part in theirs):
        return False
    return len(ours) >= len(theirs)


def _unexpanded(node: Node) -> bool:
    if isinstance(node, Product):
        sums = [factor for factor in node.factors if _is_sum(factor)]
        return len(sums) > 0 and len(node.factors) > 1
    if isinstance(node, Power):
        return _is_sum(node.base) and isinstance(node.exponent, Number) and node.exponent.value > 1
    return False


def _is_sum(node: Node) -> bool:
    return isinstance(node, Sum) and bool(free_symbols(node))


def _undone(node: Node, budget: Budget) -> bool:
    """Returns whether this node contains arithmetic that should have been done."""
    if isinstance(node, Quotient):
        return not _lowest(node, budget) or _rational(node.top, budget) == 0
    if isinstance(node, Root):
        value = _rational(node.radicand, budget)
        index = _integer(node.index, budget)
        return value is not None and index is not None and _has_power(value, index)
    if isinstance(node, Power | Call | Series):
        return _rational(node, budget) is not None and _small(node, budget)
    if isinstance(node, Sum):
        return _like_terms(node, budget)
    if isinstance(node, Product):
        numbers = [factor for factor in node.factors if isinstance(factor, Number)]
        names = [factor.name for factor in node.factors if isinstance(factor, Symbol)]
        return len(numbers) > 1 or len(names) != len(set(names)) or _rational(node, budget) is not None
    return False


def _small(node: Node, budget: Budget) -> bool:
    """Returns whether the value can reasonably be written out: 2^5 can, 2^100 cannot."""
    value = _rational(node, budget)
    return value is not None and abs(value.numerator) < 10**9 and value.denominator < 10**9


def _has_power(value: Fraction, index: int) -> bool:
    if value.denominator != 1:
        return False
    try:
        return any(count >= index for count in factors(abs(value.numerator)).values())
    except Outside:
        return False


def _like_terms(node: Sum, budget: Budget) -> bool:
    """Returns whether two terms of a sum differ only in their coefficients."""
    seen: set[str] = set()
    for term in node.terms:
        body = term.body if isinstance(term, Negation) else term
        if isinstance(body, Quotient) and not free_symbols(body.bottom):
            body = body.top
        if _rational(body, budget) is not None:
            kind = "number"
        else:
            parts = body.factors if isinstance(body, Product) else (body,)
            kind = " ".join(sorted(repr(part) for part in parts if not isinstance(part, Number)))
        if kind in seen:
            return True
        seen.add(kind)
    return False
