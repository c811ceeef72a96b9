"""The share of n-grams of each text that no other text of the group has, in time and memory linear in the texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Gram = tuple[str, ...]

MOST_WORDS = 200_000
"""Maximum number of words of a group that are compared, which takes two or three seconds; each text gets an equal
part.
"""


@dataclass(frozen=True, slots=True)
class Novelty:
    """distances: for each text, from 0 (all of it is in others) to 1. distinct: for n = 1, 2 …, distinct n-grams
    divided by all n-grams (distinct-n, Li et al. 2016, arXiv 1510.03055); None if there are none. cut: whether some
    texts were truncated for the comparison.
    """

    distances: Sequence[float]
    distinct: Sequence[float | None]
    cut: bool


def novelty(texts: Sequence[Sequence[str]], orders: int) -> Novelty:
    """Measures for each text, given as words, the share of its n-grams that no other text has, with multiplicity: 1 -
    the mean over n up to `orders`, or up to the longest n-gram of the text. This is self-BLEU (Zhu et al. 2018, arXiv
    1802.01886) with an arithmetic mean, so that it is not 0 if no 4-gram is shared, and without the brevity penalty, so
    that short texts do not count as distant.
    """
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
    """For each n-gram that several texts contain: the text that has it most often, its count there, and the highest
    count in any other text.
    """
    found: dict[Gram, tuple[int, int, int]] = {}
    for place, own in enumerate(counts):
        for gram, count in own.items():
            if holders[gram] > 1:
                owner, most, second = found.get(gram, (place, 0, 0))
                found[gram] = (place, count, most) if count > most else (owner, most, max(second, count))
    return found


def _shared(highest: tuple[int, int, int], place: int, count: int) -> int:
    """Returns how many occurrences of an n-gram in this text another text has too."""
    owner, most, second = highest
    return min(count, second if owner == place else most)
