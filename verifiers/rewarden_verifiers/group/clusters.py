"""Clusters of equal answers, without comparing every pair."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field

Pairs = Sequence[tuple[str, str]]
Same = Callable[[Pairs], Awaitable[Sequence[bool | None]]]

EXACT = 64
"""Maximum number of distinct answers for which all pairs that could be equal are compared."""

NEAREST = 16
"""With more than `EXACT` answers: each answer is only compared with this many of the largest clusters."""


@dataclass(slots=True)
class Cluster:
    """Members (indices in the group) with equal answers; `answer` is the first of these answers."""

    answer: str
    members: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Clustering:
    """Clusters, largest first (the earlier one first among equals). `unclear`: the number of comparisons that could not
    be decided; `limited`: whether some pairs of small clusters were never compared.
    """

    clusters: list[Cluster]
    comparisons: int = 0
    unclear: int = 0
    limited: bool = False

    @property
    def sizes(self) -> list[int]:
        """The number of members of each cluster."""
        return [len(made.members) for made in self.clusters]

    @property
    def entropy(self) -> float | None:
        """Shannon entropy of the answers, in bits; semantic entropy if the equivalence is semantic."""
        answered = sum(self.sizes)
        shares = [size / answered for size in self.sizes]
        return max(0.0, -math.fsum(share * math.log2(share) for share in shares)) if shares else None

    def flags(self) -> list[str]:
        """The flags `comparisons_limited` and `comparisons_unclear`, according to the fields."""
        return ["comparisons_limited"] * self.limited + ["comparisons_unclear"] * (self.unclear > 0)


async def cluster(answers: Sequence[tuple[str, str | None] | None], same: Same | None) -> Clustering:
    """Clusters the (answer, key) pairs of a group; None is not an answer and in no cluster.

    Answers with equal keys are equal without a comparison. One representative of each remains: the largest cluster's is
    compared with all others at once, then the next largest's, so that a thousand members that agree cost a few
    comparisons. An undecided comparison never merges clusters.
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
