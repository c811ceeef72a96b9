"""The tree of a parsed answer: scalars, and the structures that contain them.

Nodes are plain data. They keep the notation (a quotient stays a quotient, a decimal keeps its places), because some
tasks reward a form, and because a rounded decimal can match where an exact number cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias


@dataclass(slots=True)
class Number:
    """A literal. `places` is the number of digits after the decimal point, if it has one."""

    value: Fraction
    places: int | None = None


@dataclass(slots=True)
class Based:
    """A numeral with its base, `12_5`; the digits stay as written."""

    digits: str
    base: int


@dataclass(slots=True)
class Symbol:
    """A variable, subscripts and primes included in its name."""

    name: str


@dataclass(slots=True)
class Constant:
    """`pi`, `e`, `i` or `oo`."""

    name: str


@dataclass(slots=True)
class Sum:
    """Terms added together; subtraction is the addition of a `Negation`."""

    terms: tuple[Node, ...]


@dataclass(slots=True)
class Negation:
    """The opposite of a node."""

    body: Node


@dataclass(slots=True)
class Product:
    """Factors multiplied."""

    factors: tuple[Node, ...]


@dataclass(slots=True)
class Quotient:
    """A fraction as written."""

    top: Node
    bottom: Node


@dataclass(slots=True)
class Mixed:
    """A mixed number, `21 13/14`."""

    whole: Number
    part: Quotient


@dataclass(slots=True)
class Power:
    """Base and exponent."""

    base: Node
    exponent: Node


@dataclass(slots=True)
class Root:
    """The root of a radicand; index 2 is the square root."""

    radicand: Node
    index: Node


@dataclass(slots=True)
class Call:
    """A function applied: known ones by name (`sin`, `ln`, `abs` ...), others are opaque."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(slots=True)
class PlusMinus:
    """`left ± right`, or `left ∓ right` where flipped."""

    left: Node | None
    right: Node
    flipped: bool


@dataclass(slots=True)
class Percent:
    """A value followed by a percent sign."""

    body: Node


@dataclass(slots=True)
class Degrees:
    """An angle in degrees."""

    body: Node


@dataclass(slots=True)
class Measure:
    """A value with a unit, as written in lower case."""

    body: Node
    unit: str


@dataclass(slots=True)
class Ratio:
    """`a : b : c`, equal up to a common factor."""

    parts: tuple[Node, ...]


@dataclass(slots=True)
class Series:
    """A sum or product over a range of integers."""

    kind: str
    variable: str
    lower: Node
    upper: Node
    body: Node


@dataclass(slots=True)
class Listing:
    """Items without brackets, joined by commas, "and" or "or"."""

    items: tuple[Node, ...]
    joiner: str


@dataclass(slots=True)
class Group:
    """Items in round or square brackets: a point, a tuple, or, with two items, an interval."""

    opening: str
    items: tuple[Node, ...]
    closing: str


@dataclass(slots=True)
class Braces:
    """A finite set."""

    items: tuple[Node, ...]


@dataclass(slots=True)
class Builder:
    """`{x | condition}`."""

    element: Node
    condition: Node


@dataclass(slots=True)
class SetOperation:
    """Union, intersection or difference: `kind` is `cup`, `cap` or `minus`."""

    kind: str
    operands: tuple[Node, ...]


@dataclass(slots=True)
class NamedSet:
    """The naturals, integers, rationals, reals or complex numbers."""

    name: str


@dataclass(slots=True)
class Matrix:
    """Rows of entries; a column vector has rows of one entry."""

    rows: tuple[tuple[Node, ...], ...]


@dataclass(slots=True)
class Relation:
    """A chain such as `0 < x <= 8`: one operator fewer than operands."""

    operands: tuple[Node, ...]
    operators: tuple[str, ...]


@dataclass(slots=True)
class Membership:
    """`x in S`."""

    element: Node
    container: Node


@dataclass(slots=True)
class Modulus:
    """`(mod m)` after an answer."""

    divisor: Node


@dataclass(slots=True)
class Quantifier:
    """`forall` or `exists` before or after an answer."""

    kind: str


@dataclass(slots=True)
class Conditioned:
    """An answer with conditions on its variables: `x^2 where x > 0`, `3 (mod 7)`, `2k for all k in Z`."""

    body: Node
    conditions: tuple[Node, ...]


@dataclass(slots=True)
class Text:
    """Words, normalised."""

    words: str


Scalar: TypeAlias = (
    Number
    | Based
    | Symbol
    | Constant
    | Sum
    | Negation
    | Product
    | Quotient
    | Mixed
    | Power
    | Root
    | Call
    | PlusMinus
    | Percent
    | Degrees
    | Measure
    | Ratio
    | Series
)
Node: TypeAlias = (
    Scalar
    | Listing
    | Group
    | Braces
    | Builder
    | SetOperation
    | NamedSet
    | Matrix
    | Relation
    | Membership
    | Modulus
    | Quantifier
    | Conditioned
    | Text
)

TWO = Number(Fraction(2))


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly under this one."""
    match node:
        case Sum(terms=items) | Product(factors=items) | Call(arguments=items) | Ratio(parts=items):
            return items
        case Listing(items=items) | Group(items=items) | Braces(items=items):
            return items
        case SetOperation(operands=items) | Relation(operands=items):
            return items
        case Negation(body=body) | Percent(body=body) | Degrees(body=body) | Measure(body=body) | Modulus(divisor=body):
            return (body,)
        case Conditioned(body=body, conditions=items):
            return (body, *items)
        case Quotient(top=first, bottom=second) | Power(base=first, exponent=second):
            return (first, second)
        case Root(radicand=first, index=second) | Builder(element=first, condition=second):
            return (first, second)
        case Membership(element=first, container=second):
            return (first, second)
        case Mixed(whole=whole, part=part):
            return (whole, part)
        case PlusMinus(left=left, right=right):
            return (right,) if left is None else (left, right)
        case Series(lower=lower, upper=upper, body=body):
            return (lower, upper, body)
        case Matrix(rows=rows):
            return tuple(entry for row in rows for entry in row)
        case _:
            return ()


def rebuild(node: Node, change: Callable[[Node], Node]) -> Node:
    """The same node over changed children."""
    match node:
        case Sum(terms=items) | Product(factors=items) | Ratio(parts=items) | Braces(items=items):
            return type(node)(tuple(map(change, items)))
        case Call(name=name, arguments=items):
            return Call(name, tuple(map(change, items)))
        case Listing(items=items, joiner=joiner):
            return Listing(tuple(map(change, items)), joiner)
        case Group(opening=opening, items=items, closing=closing):
            return Group(opening, tuple(map(change, items)), closing)
        case SetOperation(kind=kind, operands=items):
            return SetOperation(kind, tuple(map(change, items)))
        case Relation(operands=items, operators=operators):
            return Relation(tuple(map(change, items)), operators)
        case Negation(body=body) | Percent(body=body) | Degrees(body=body) | Modulus(divisor=body):
            return type(node)(change(body))
        case Conditioned(body=body, conditions=items):
            return Conditioned(change(body), tuple(map(change, items)))
        case Measure(body=body, unit=unit):
            return Measure(change(body), unit)
        case Quotient(top=first, bottom=second) | Power(base=first, exponent=second):
            return type(node)(change(first), change(second))
        case Root(radicand=first, index=second) | Builder(element=first, condition=second):
            return type(node)(change(first), change(second))
        case Membership(element=first, container=second):
            return Membership(change(first), change(second))
        case PlusMinus(left=left, right=right, flipped=flipped):
            return PlusMinus(None if left is None else change(left), change(right), flipped)
        case Series(kind=kind, variable=variable, lower=lower, upper=upper, body=body):
            return Series(kind, variable, change(lower), change(upper), change(body))
        case Matrix(rows=rows):
            return Matrix(tuple(tuple(map(change, row)) for row in rows))
        case _:
            return node


def walk(node: Node) -> Iterator[Node]:
    """Every node of the tree, this one first."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(children(current))


def height(node: Node) -> int:
    """The number of levels of the tree, counted without recursion."""
    levels = 0
    current = [node]
    while current:
        levels += 1
        current = [child for parent in current for child in children(parent)]
    return levels


def free_symbols(node: Node) -> frozenset[str]:
    """The names of free variables; the index of a sum is bound."""
    names: set[str] = set()
    bound: set[str] = set()
    for part in walk(node):
        if isinstance(part, Symbol):
            names.add(part.name)
        elif isinstance(part, Series):
            bound.add(part.variable)
    return frozenset(names - bound)


def rename(node: Node, names: dict[str, str]) -> Node:
    """The tree with variables renamed."""
    if isinstance(node, Symbol):
        return Symbol(names.get(node.name, node.name))
    return rebuild(node, lambda child: rename(child, names))
