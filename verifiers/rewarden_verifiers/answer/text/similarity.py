"""Similarity of two normalised texts: token F1 after SQuAD, and edit ratios by rapidfuzz."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

Scorer = Literal["ratio", "edit", "partial", "token_sort"]

_PERCENTAGES: Mapping[Scorer, Callable[[str, str], float]] = {
    "ratio": fuzz.ratio,
    "partial": fuzz.partial_ratio,
    "token_sort": fuzz.token_sort_ratio,
}
_NUMBER = re.compile(r"-?[0-9]+(?:[.,/:^][0-9-]+)*")


def counted(parts: Sequence[str]) -> Mapping[str, int]:
    """Returns how often each token occurs."""
    once = dict.fromkeys(parts, 1)
    return once if len(once) == len(parts) else Counter(parts)


def f1(counts: Mapping[str, int], size: int, other: Mapping[str, int], other_size: int) -> tuple[float, float, float]:
    """F1, precision and recall of the first bag of tokens against the second; 0 if they share none."""
    common = 0
    few, many = (other, counts) if len(other) < len(counts) else (counts, other)
    for token, count in few.items():
        there = many.get(token)
        if there is not None:
            common += count if count < there else there
    if not common:
        return 0.0, 0.0, 0.0
    precision, recall = common / size, common / other_size
    return 2 * precision * recall / (precision + recall), precision, recall


def ratio(scorer: Scorer, answer: str, reference: str) -> float:
    """A similarity from 0 to 1, by rapidfuzz.

    `partial` looks for the reference within the answer and never the other way round: otherwise each letter of the
    reference would be "part" of it and earn full marks. An answer shorter than the reference is compared whole.
    """
    if scorer == "edit":
        return float(Levenshtein.normalized_similarity(answer, reference))
    if scorer == "partial" and len(answer) < len(reference):
        scorer = "ratio"
    return float(_PERCENTAGES[scorer](answer, reference)) / 100


def numbers(normalised: str) -> tuple[str, ...]:
    """The numbers in a normalised text, sorted, with signs: texts with different numbers are never nearly the same."""
    return tuple(sorted(_NUMBER.findall(normalised)))


def among(few: tuple[str, ...], many: tuple[str, ...]) -> bool:
    """Returns whether the numbers are contained in others, with multiplicity."""
    return not few or Counter(few) <= Counter(many)
