"""Builds trees from their parts while an answer is parsed."""

from __future__ import annotations

from collections.abc import Sequence

from rewarden_verifiers.answer.math import words
from rewarden_verifiers.answer.math.limits import Unreadable
from rewarden_verifiers.answer.math.syntax import (
    Braces,
    Builder,
    Conditioned,
    Constant,
    Degrees,
    Group,
    Listing,
    Measure,
    Membership,
    Mixed,
    NamedSet,
    Negation,
    Node,
    Number,
    Percent,
    Power,
    Product,
    Quotient,
    SetOperation,
    Sum,
    Symbol,
    rebuild,
)

_DIFFERENTIALS = (Symbol("d"), Symbol(r"\partial"))


def add(terms: list[Node]) -> Node:
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def negate(node: Node) -> Node:
    if isinstance(node, Number):
        return Number(-node.value, node.places)
    return Negation(node)


def times(left: Node, right: Node) -> Node:
    if isinstance(left, Product):
        return Product((*left.factors, right))
    return Product((left, right))


def fraction(top: Node, bottom: Node) -> Node:
    """A quotient, unless it is a derivative: `dy/dx` is a name, and `d/dx` an operator that this parser does not
    support.
    """
    below = bottom.factors if isinstance(bottom, Product) else ()
    if len(below) == 2 and below[0] in _DIFFERENTIALS:
        operator = below[0]
        if top == operator or (isinstance(top, Power) and top.base == operator):
            raise Unreadable("derivative")
        if isinstance(top, Product) and top.factors[0] == operator and len(top.factors) == 2:
            return Symbol(f"d{top.factors[1]!r}/d{below[1]!r}")
    return Quotient(top, bottom)


def mixed(whole: Number, factor: Node) -> Node:
    """A numeral before a fraction: a mixed number if the fraction is proper, whatever sign or unit follows it."""
    match factor:
        case Quotient():
            return Mixed(whole, factor) if is_proper(factor) else times(whole, factor)
        case Percent(body=Quotient() as part) if is_proper(part):
            return Percent(Mixed(whole, part))
        case Degrees(body=Quotient() as part) if is_proper(part):
            return Degrees(Mixed(whole, part))
        case Measure(body=Quotient() as part, unit=unit) if is_proper(part):
            return Measure(Mixed(whole, part), unit)
        case _:
            return times(whole, factor)


def lone(node: Node) -> Node:
    """A bracketed single item without its brackets."""
    return node.items[0] if isinstance(node, Group) and len(node.items) == 1 else node


def is_proper(part: Quotient) -> bool:
    """Returns whether a fraction can follow a whole number: both parts whole, the value below one."""
    top, bottom = part.top, part.bottom
    return (
        isinstance(top, Number)
        and isinstance(bottom, Number)
        and top.places is None
        and bottom.places is None
        and 0 <= top.value < bottom.value
    )


def is_set(node: Node) -> bool:
    return isinstance(node, Braces | Builder | SetOperation | NamedSet | Group)


def is_domain(node: Node) -> bool:
    """Returns whether an item only states the domain of a variable: `k in Z`."""
    return isinstance(node, Membership) and isinstance(node.container, NamedSet)


def conditioned(node: Node, conditions: Sequence[Node]) -> Node:
    """The node with these conditions, in addition to its own."""
    if not conditions:
        return node
    if isinstance(node, Conditioned):
        return Conditioned(node.body, (*conditions, *node.conditions))
    return Conditioned(node, tuple(conditions))


def shared(items: Sequence[Node], joiner: str) -> Node:
    """Several items as a list. A condition after the last one alone applies to all: `1, 3 (mod 8)`."""
    *others, last = items
    if isinstance(last, Conditioned) and not any(isinstance(item, Conditioned) for item in others):
        return Conditioned(Listing((*others, last.body), joiner), last.conditions)
    return Listing(tuple(items), joiner)


def disjunction(items: Sequence[Node], signs: Sequence[str]) -> Node:
    """Propositions joined by the signs for "and" and "or", where "and" binds tighter."""
    if len(set(signs)) == 1:
        return Listing(tuple(items), signs[0])
    parts: list[list[Node]] = [[items[0]]]
    for sign, item in zip(signs, items[1:], strict=True):
        if sign == words.CONJUNCTION:
            parts[-1].append(item)
        else:
            parts.append([item])
    joined = [part[0] if len(part) == 1 else Listing(tuple(part), words.CONJUNCTION) for part in parts]
    return Listing(tuple(joined), words.DISJUNCTION)


def index_i(node: Node) -> Node:
    """The tree with the imaginary unit read as a summation index."""
    if isinstance(node, Constant) and node.name == "i":
        return Symbol("i")
    return rebuild(node, index_i)
