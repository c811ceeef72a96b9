"""Contradictions between the conditions of two answers. A condition that only one of them states is ignored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from rewarden_verifiers.answer.math import words
from rewarden_verifiers.answer.math.limits import Budget
from rewarden_verifiers.answer.math.regions import NoRegion, Region, region
from rewarden_verifiers.answer.math.syntax import (
    Conditioned,
    Listing,
    Membership,
    Modulus,
    NamedSet,
    Node,
    Quantifier,
    Text,
    free_symbols,
)

Same: TypeAlias = Callable[[Node, Node], bool | None]
SamePieces: TypeAlias = Callable[[Region, Region], bool | None]

_COUNTING = frozenset({"Z+", "Z^+", "Z_+", "N", "N+", "N*", "N^*", "N_+", "N^+"})
"""Sets of whole numbers that authors do not distinguish: some begin at zero, some at one."""


def parted(node: Node) -> tuple[Node, tuple[Node, ...]]:
    """An answer and its conditions."""
    return (node.body, node.conditions) if isinstance(node, Conditioned) else (node, ())


def contradict(
    ours: Sequence[Node], theirs: Sequence[Node], same: Same, same_pieces: SamePieces, budget: Budget
) -> bool:
    """Returns whether the conditions of two answers exclude each other: a different modulus, "exists" for "for all",
    "odd" for "even", or a different restriction of a variable that both restrict.
    """
    kinds = [[part.kind for part in side if isinstance(part, Quantifier)] for side in (ours, theirs)]
    if all(kinds) and (set(kinds[0]) != set(kinds[1]) or (len(kinds[0]) == len(kinds[1]) and kinds[0] != kinds[1])):
        return True
    moduli = [[part.divisor for part in side if isinstance(part, Modulus)] for side in (ours, theirs)]
    if all(moduli) and not any(same(one, two) for one in moduli[0] for two in moduli[1]):
        return True
    said = [{part.words for part in side if isinstance(part, Text)} for side in (ours, theirs)]
    for one in said[0] - said[1]:
        if any(words.PROPERTIES[one] == words.PROPERTIES[two] for two in said[1] - said[0]):
            return True
    limits = [[part for part in side if free_symbols(part)] for side in (ours, theirs)]
    for limit in limits[0]:
        names = free_symbols(limit)
        related = [other for other in limits[1] if free_symbols(other) & names]
        if related and all(same(limit, other) is False for other in related):
            beside = [other for other in limits[0] if free_symbols(other) & names]
            if _differ(beside, related, same_pieces, budget):
                return True
    return False


def _differ(ours: Sequence[Node], theirs: Sequence[Node], same_pieces: SamePieces, budget: Budget) -> bool:
    """Returns whether the combined restrictions of the same variables certainly differ."""
    try:
        regions = [region(Listing(tuple(side), "and"), budget, together=True) for side in (ours, theirs)]
        return same_pieces(*regions) is False
    except NoRegion:
        pass
    one, two = ours[0], theirs[0]
    if len(ours) > 1 or len(theirs) > 1 or type(one) is not type(two):
        return False
    if isinstance(one, Membership) and isinstance(two, Membership):
        sets = (one.container, two.container)
        return not all(isinstance(part, NamedSet) and part.name in _COUNTING for part in sets)
    return True
