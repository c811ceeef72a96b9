"""The share of n-grams of each text that no other text of the group has, in time and memory linear in the texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Gram = tuple[str, ...]

MOST_WORDS = 200_000
"""Words of all texts of a group together that are compared, in two or three seconds; each may have its equal part of
them."""


@dataclass(frozen=True, slots=True)
class Novelty:
    """distances: of each text, from 0 (all of it is in others) to 1. distinct: for n = 1, 2 … the distinct n-grams of
    all texts by all n-grams (distinct-n, Li et al. 2016, arXiv 1510.03055); None if there is none. cut: whether only
    the beginnings of some texts were compared."""

    distances: Sequence[float]
    distinct: Sequence[float | None]
    cut: bool


def novelty(texts: Sequence[Sequence[str]], orders: int) -> Novelty:
    """Of each text, given as its words, 1 - the share of its n-grams that are in one of the others, each as often as
    there: the mean over n up to `orders`, or to the longest that the text has. This is self-BLEU (Zhu et al. 2018,
    arXiv 1802.01886) by an arithmetic mean, so that it is not 0 if no 4-gram is shared, and without its penalty for
    brevity, so that short texts are not thought distant."""
    most = MOST_WORDS // max(1, len(texts))
    words = [text[:most] for text in texts]
    shares: list[list[float]] = [[] for _ in texts]
    distinct: list[float | None] = []
    for order in range(1, orders + 1):
        counts = [Counter(zip(*(text[place:] for place in range(order)), strict=False)) for text in words]
        holders: Counter[Gram] = Counter()
        for own in counts:
            holders.update(own.keys())
        highest = _highest(counts, holders)
        for place, own in enumerate(counts):
            if total := own.total():
                shared = (_shared(highest[gram], place, count) for gram, count in own.items() if holders[gram] > 1)
                shares[place].append(sum(shared) / total)
        everything = sum(own.total() for own in counts)
        distinct.append(len(holders) / everything if everything else None)
    distances = [1.0 - sum(found) / len(found) if found else 0.0 for found in shares]
    return Novelty([max(0.0, one) for one in distances], distinct, any(len(text) > most for text in texts))


def _highest(counts: Sequence[Counter[Gram]], holders: Mapping[Gram, int]) -> dict[Gram, tuple[int, int, int]]:
    """Of each n-gram that several texts hold the text that has it most often, how often, and how often another has it
    at most."""
    found: dict[Gram, tuple[int, int, int]] = {}
    for place, own in enumerate(counts):
        for gram, count in own.items():
            if holders[gram] > 1:
                owner, most, second = found.get(gram, (place, 0, 0))
                found[gram] = (place, count, most) if count > most else (owner, most, max(second, count))
    return found


def _shared(highest: tuple[int, int, int], place: int, count: int) -> int:
    """Returns how often an n-gram of this text is in another one too."""
    owner, most, second = highest
    return min(count, second if owner == place else most)
