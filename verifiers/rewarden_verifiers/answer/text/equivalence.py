"""Equivalence of two short answers, without a reference."""

from __future__ import annotations

from rewarden_verifiers.answer.text.closed import CLOSED
from rewarden_verifiers.answer.text.hedging import negations
from rewarden_verifiers.answer.text.normalise import tokens
from rewarden_verifiers.answer.text.params import TextParams
from rewarden_verifiers.answer.text.reference import MAX_FUZZY
from rewarden_verifiers.answer.text.similarity import numbers, ratio


class TextEquivalence:
    """Equivalence of answers by `mode`: the same characters for `exact`, nearly the same for `fuzzy`, and equal
    canonical forms for all others. Partial matches do not make answers equal ("Paris" in "Paris, Texas").
    """

    def __init__(self, params: TextParams) -> None:
        self._params = params
        self._reader = params.reader

    def extract(self, text: str) -> str | None:
        """The answer; None if there is none, if several differ, and for a refusal: silence is not a majority."""
        found = self._reader.extract(text)
        if found is None or found.oversized or self._reader.refuses(self._reader.plain(found.text)):
            return None
        return found.text if len({self.key(other) for other in found.texts}) == 1 else None

    def key(self, answer: str) -> str | None:
        """The canonical form."""
        return answer.strip() if self._params.mode == "exact" else self._reader.normal(answer)

    def same(self, a: str, b: str) -> bool | None:
        """Returns whether the keys are equal or, for `fuzzy`, at least `threshold` alike; None for texts too long to
        compare.
        """
        first, second = self.key(a), self.key(b)
        if first == second or first is None or second is None:
            return first == second
        if self._params.mode != "fuzzy" or CLOSED & {first, second}:
            return False
        if len(first) > MAX_FUZZY or len(second) > MAX_FUZZY:
            return None
        if self._params.numbers and numbers(first) != numbers(second):
            return False
        if negations(tokens(first)) != negations(tokens(second)):
            return False
        # A text contained in another one is not the same.
        scorer = "ratio" if self._params.scorer == "partial" else self._params.scorer
        return ratio(scorer, first, second) >= (self._reader.threshold or 1.0)
