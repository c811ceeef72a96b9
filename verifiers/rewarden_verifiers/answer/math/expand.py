"""Expands plus-minus signs, and the collections in which answers list their values."""

from __future__ import annotations

from itertools import product as combinations

from rewarden_verifiers.answer.math.limits import MAX_SIGNS, TooExpensive
from rewarden_verifiers.answer.math.syntax import (
    Braces,
    Group,
    Listing,
    Negation,
    Node,
    PlusMinus,
    Relation,
    Sum,
    rebuild,
    walk,
)


def count_signs(node: Node) -> int:
    """Returns the number of plus-minus signs in the tree."""
    return sum(1 for part in walk(node) if isinstance(part, PlusMinus))


def written_out(node: Node, *, together: bool = False) -> tuple[Node, ...]:
    """The node for every choice of its signs; `together` chooses all at once, as a minus-plus sign requires."""
    signs = count_signs(node)
    if not signs:
        return (node,)
    if signs > MAX_SIGNS:
        raise TooExpensive("too many plus-minus signs")
    if together or any(isinstance(part, PlusMinus) and part.flipped for part in walk(node)):
        choices = [(1,) * signs, (-1,) * signs]
    else:
        choices = list(combinations((1, -1), repeat=signs))
    return tuple(_chosen(node, list(choice)) for choice in choices)


def _chosen(node: Node, signs: list[int]) -> Node:
    if isinstance(node, PlusMinus):
        sign = signs.pop() * (-1 if node.flipped else 1)
        left = None if node.left is None else _chosen(node.left, signs)
        right = _chosen(node.right, signs)
        right = right if sign > 0 else Negation(right)
        return right if left is None else Sum((left, right))
    return rebuild(node, lambda child: _chosen(child, signs))


def elements(node: Node, *, together: bool = False) -> tuple[Node, ...] | None:
    """The members of a list, a set or an expression with plus-minus signs; None for any other node."""
    match node:
        case Listing(items=items) | Braces(items=items):
            found: list[Node] = []
            for item in items:
                found.extend(written_out(item, together=together))
            return tuple(found)
        case Group() | Relation() if not count_signs(node):
            return None
        case _:
            return written_out(node, together=together) if count_signs(node) else None
