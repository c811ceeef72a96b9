"""Measures of a ranked list against gains, each from 0 to 1, in the field's definitions.

A list is given as the gain at each rank, 0 if the id is unknown, irrelevant or repeated.
"""

from __future__ import annotations

import math
from bisect import bisect, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Gain = Literal["linear", "exponential"]

NAMES = ("ndcg", "recall", "precision", "mrr", "map", "rbo", "hit", "pairs", "tau", "exact")
ORDERS = ("pairs", "tau", "exact")
"""Measures of the order of all ids of the reference; they take no cut-off rank."""
_NEED_CUT = ("recall", "hit")


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure and the ranks that it looks at; None: all."""

    name: str
    cut: int | None


def parse(text: str) -> Measure:
    """ "ndcg@10" and the like. Raises ValueError."""
    name, at, cut = text.strip().lower().partition("@")
    if name not in NAMES or (at and not (cut.isascii() and cut.isdigit() and 1 <= int(cut[:7]) <= 100_000)):
        raise ValueError(f"unknown metric {text!r}; known: {', '.join(NAMES)}, each with a rank (ndcg@10)")
    if at and name in ORDERS:
        raise ValueError(f"{name!r} compares the order of all ids, and takes no rank")
    if not at and name in _NEED_CUT:
        # Whoever lists everything finds everything.
        raise ValueError(f"{name!r} needs a rank, such as {name}@10: a list of everything would always be right")
    return Measure(name, int(cut) if at else None)


def gained(gain: float, how: Gain) -> float:
    """Returns what a relevance is worth: itself, or 2^relevance - 1."""
    return gain if how == "linear" else 2.0**gain - 1.0


def dcg(gains: Sequence[float], how: Gain) -> float:
    """Discounted cumulative gain: each gain by the logarithm of its rank plus one (Järvelin and Kekäläinen 2002)."""
    return math.fsum(gained(gain, how) / math.log2(rank + 2) for rank, gain in enumerate(gains) if gain)


def ndcg(found: Sequence[float], wanted: Sequence[float], cut: int | None, how: Gain) -> float:
    """DCG as a share of the best possible one. `wanted`: all gains there are, in any order."""
    best = dcg(sorted(wanted, reverse=True)[:cut], how)
    return min(1.0, dcg(found[:cut], how) / best) if best else 0.0


def recall(hits: Sequence[bool], relevant: int, cut: int | None) -> float:
    """The share of the relevant that stands within the cut."""
    return sum(hits[:cut]) / relevant


def precision(hits: Sequence[bool], cut: int | None) -> float:
    """The share of the first `cut` ranks that is relevant; ranks that a short list leaves empty are not."""
    ranks = cut if cut is not None else len(hits)
    return sum(hits[:cut]) / ranks if ranks else 0.0


def reciprocal_rank(hits: Sequence[bool], cut: int | None) -> float:
    """One by the rank of the first relevant one; 0 if there is none."""
    return next((1 / (rank + 1) for rank, hit in enumerate(hits[:cut]) if hit), 0.0)


def average_precision(hits: Sequence[bool], relevant: int, cut: int | None) -> float:
    """The mean, over the relevant ones that could stand within the cut, of precision at their ranks."""
    found, total = 0, 0.0
    for rank, hit in enumerate(hits[:cut]):
        if hit:
            found += 1
            total += found / (rank + 1)
    return total / (relevant if cut is None else min(relevant, cut))


def overlap(found: Sequence[str], ideal: Sequence[str], p: float, cut: int | None) -> float:
    """Rank-biased overlap, extrapolated (Webber, Moffat and Zobel 2010, equation 32): 1 for equal lists, 0 for disjoint
    ones. `p`: how far down the weight reaches; 1: all ranks weigh the same. Ids in each list are distinct.
    """
    short, long = sorted((list(found[:cut]), list(ideal[:cut])), key=len)
    s, l = len(short), len(long)  # noqa: E741 - the names of the paper
    if not s:
        return 0.0
    seen_short: set[str] = set()
    seen_long: set[str] = set()
    shared, at_s, total, weight = 0, 0, 0.0, 1.0
    for depth in range(1, l + 1):
        weight *= p
        one = long[depth - 1]
        if depth <= s:
            other = short[depth - 1]
            shared += (one == other) + (one != other and one in seen_short) + (one != other and other in seen_long)
            seen_short.add(other)
        else:
            shared += one in seen_short
        seen_long.add(one)
        if depth == s:
            at_s = shared
        total += shared / depth * weight
        if depth > s and p < 1:
            total += at_s * (depth - s) / (s * depth) * weight
    if p == 1:
        return min(1.0, total / l)
    rest = ((shared - at_s) / l + at_s / s) * weight
    return min(1.0, max(0.0, (1 - p) / p * total + rest))


def order_pairs(levels: Mapping[str, float]) -> int:
    """The number of pairs of ids with different levels."""
    counts: dict[float, int] = {}
    for level in levels.values():
        counts[level] = counts.get(level, 0) + 1
    return (len(levels) ** 2 - sum(count**2 for count in counts.values())) // 2


def in_order(ids: Sequence[str], levels: Mapping[str, float]) -> int:
    """The number of pairs with different levels whose higher one is listed before the other, by first occurrences.

    A pair with an id that is not listed is not in order.
    """
    listed = [(levels[one], rank) for rank, one in enumerate(dict.fromkeys(ids)) if one in levels]
    listed.sort()
    below: list[int] = []
    same: list[int] = []
    found, last = 0, math.nan
    for level, rank in listed:
        if level != last:
            for other in same:
                insort(below, other)
            same, last = [], level
        found += len(below) - bisect(below, rank)
        same.append(rank)
    return found
