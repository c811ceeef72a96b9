"""Clusters of equal answers, without comparing every pair."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field

Pairs = Sequence[tuple[str, str]]
Same = Callable[[Pairs], Awaitable[Sequence[bool | None]]]

EXACT = 64
"""Distinct answers up to which every two that could be equal are compared."""

NEAREST = 16
"""Beyond `EXACT`: each answer is compared with so many of the biggest clusters, and no others."""


@dataclass(slots=True)
class Cluster:
    """Members (places in the group) whose answers are equal; `answer` is the first of them."""

    answer: str
    members: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Clustering:
    """Clusters, biggest first (the earlier first among equals). `unclear`: comparisons that could not be decided;
    `limited`: whether some pairs of small clusters were never compared.
    """

    clusters: list[Cluster]
    comparisons: int = 0
    unclear: int = 0
    limited: bool = False

    @property
    def sizes(self) -> list[int]:
        """The clusters' members."""
        return [len(made.members) for made in self.clusters]

    @property
    def entropy(self) -> float | None:
        """Shannon entropy of the answers, in bits; semantic entropy where the sameness is semantic."""
        answered = sum(self.sizes)
        shares = [size / answered for size in self.sizes]
        return max(0.0, -math.fsum(share * math.log2(share) for share in shares)) if shares else None

    def flags(self) -> list[str]:
        """`comparisons_limited`, `comparisons_unclear`: see there."""
        return ["comparisons_limited"] * self.limited + ["comparisons_unclear"] * (self.unclear > 0)


async def cluster(answers: Sequence[tuple[str, str | None] | None], same: Same | None) -> Clustering:
    """Group the (answer, key) of a group's members; None is not an answer and in no cluster.

    Equal keys are equal answers, at no cost. What is left are representatives: the biggest cluster's is compared with
    all others at once, then the next biggest's, so that a thousand members that agree cost a few comparisons. An
    undecided comparison never merges.
    """
    by_key: dict[Hashable, Cluster] = {}
    for place, found in enumerate(answers):
        if found is not None:
            answer, key = found
            made = by_key.setdefault(("key", key) if key is not None else ("text", answer), Cluster(answer))
            made.members.append(place)
    rest = sorted(by_key.values(), key=_order)
    result = Clustering(clusters=[], limited=same is not None and len(rest) > EXACT)
    rounds = NEAREST if result.limited else len(rest)
    while rest:
        head, rest = rest[0], rest[1:]
        if same is not None and rest and len(result.clusters) < rounds:
            verdicts = await same([(head.answer, other.answer) for other in rest])
            result.comparisons += len(rest)
            result.unclear += sum(verdict is None for verdict in verdicts)
            left: list[Cluster] = []
            for other, equal in zip(rest, verdicts, strict=True):
                if equal:
                    head.members.extend(other.members)
                else:
                    left.append(other)
            rest = left
        result.clusters.append(head)
    for found_cluster in result.clusters:
        found_cluster.members.sort()
    result.clusters.sort(key=_order)
    return result


def _order(made: Cluster) -> tuple[int, int]:
    return -len(made.members), min(made.members)
