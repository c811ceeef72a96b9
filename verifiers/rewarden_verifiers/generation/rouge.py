"""ROUGE-N, ROUGE-L and ROUGE-Lsum over words of any script (Lin 2004), in bounded time.

On ASCII, without a stemmer, these are the numbers of Google's reference implementation (`rouge-score`): words are runs
of letters and digits in lower case, and sentences of Lsum are lines. In other scripts that implementation drops every
letter; here they are words, and each Han or kana character is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

from rapidfuzz.distance import LCSseq

Measure = Literal["f1", "precision", "recall"]


class Rouge(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean; 0 if both are 0."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


_NOTHING = Rouge(0.0, 0.0)


def _rouge(shared: int, hypothesis: int, reference: int) -> Rouge:
    return Rouge(shared / hypothesis, shared / reference) if hypothesis and reference else _NOTHING


def rouge_n(hypothesis: Sequence[str], reference: Sequence[str], n: int) -> Rouge:
    """Overlap of n-grams, with multiplicity."""
    found, wanted = _ngrams(hypothesis, n), _ngrams(reference, n)
    return _rouge((found & wanted).total(), found.total(), wanted.total())


def _ngrams(words: Sequence[str], n: int) -> Counter[Hashable]:
    return Counter(words) if n == 1 else Counter(zip(*(words[place:] for place in range(n)), strict=False))


def lcs(a: Sequence[str], b: Sequence[str]) -> int:
    """The length of the longest common subsequence, computed bit-parallel, 64 cells of the table at a time."""
    numbers: dict[str, int] = {}
    return LCSseq.similarity(*([numbers.setdefault(word, len(numbers)) for word in words] for words in (a, b)))


def rouge_l(hypothesis: Sequence[str], reference: Sequence[str]) -> Rouge:
    """ROUGE-L: the longest common subsequence, as a share of each side."""
    return _rouge(lcs(hypothesis, reference), len(hypothesis), len(reference))


def lsum_work(hypothesis: Sequence[Sequence[str]], reference: Sequence[Sequence[str]]) -> int:
    """The number of backtracking steps: every sentence of one side with every sentence of the other."""
    return len(reference) * sum(map(len, hypothesis)) + len(hypothesis) * sum(map(len, reference))


def rouge_lsum(hypothesis: Sequence[Sequence[str]], reference: Sequence[Sequence[str]]) -> Rouge:
    """For each sentence of the reference, the union of its longest common subsequences with all sentences; a word
    counts at most as often as it occurs on each side.
    """
    found = Counter(word for sentence in hypothesis for word in sentence)
    wanted = Counter(word for sentence in reference for word in sentence)
    sizes = found.total(), wanted.total()
    hits = 0
    for sentence in reference:
        union: set[int] = set()
        for other in hypothesis:
            union |= _common_places(sentence, other)
        for place in sorted(union):
            word = sentence[place]
            if found[word] > 0 and wanted[word] > 0:
                hits += 1
                found[word] -= 1
                wanted[word] -= 1
    return _rouge(hits, *sizes)


def _common_places(reference: Sequence[str], hypothesis: Sequence[str]) -> set[int]:
    """The indices in `reference` of one longest common subsequence: the one found by backtracking from the ends,
    preferring a step back in `reference` in a tie, as the reference implementation does.

    Each row of the table is one integer with a bit for each index of `hypothesis`: 0 if the length grows there.
    """
    places: dict[str, int] = {}
    for place, word in enumerate(hypothesis):
        places[word] = places.get(word, 0) | (1 << place)
    width = len(hypothesis)
    full = (1 << width) - 1
    if not places.keys() & set(reference):
        return set()
    rows = [full]
    for word in reference:
        row = rows[-1]
        both = row & places.get(word, 0)
        rows.append(((row + both) | (row - both)) & full)
    grown = [full ^ row for row in rows]
    common: set[int] = set()
    i, j = len(reference), width
    while i and j:
        if reference[i - 1] == hypothesis[j - 1]:
            common.add(i - 1)
            i, j = i - 1, j - 1
        elif _length(grown[i], j - 1) > _length(grown[i - 1], j):
            j -= 1
        else:
            i -= 1
    return common


def _length(grown: int, width: int) -> int:
    """The length of the longest common subsequence with the first `width` words."""
    return (grown & ((1 << width) - 1)).bit_count()
