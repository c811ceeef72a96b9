"""Equivalence of two responses by the labels that they name, without a reference."""

from __future__ import annotations

from rewarden_verifiers.answer.label.names import Names, Read
from rewarden_verifiers.answer.label.params import LabelParams


class LabelEquivalence:
    """Equivalence of labels, of sets in any order, and of vectors in their own order. An answer is the names, joined by
    "; ".
    """

    def __init__(self, params: LabelParams) -> None:
        self._params = params
        self._reader = params.reader

    @property
    def _names(self) -> Names:
        return self._reader.names

    def extract(self, text: str) -> str | None:
        """The labels named; None if there are none, for hedges, and for labels that mean "I do not know"."""
        found = self._reader.extract(text, self._names)
        if found is None or found.oversized:
            return None
        several = self._params.mode != "single"
        reads = [self._names.read(answer, several=several) for answer in found.texts]
        if any(read.either or read.contradictory or read.unknown for read in reads):
            return None
        labels = self._ordered(reads)
        if not labels or (not several and len(labels) > 1) or set(labels) <= self._reader.uncertain:
            return None
        return "; ".join(labels)

    def key(self, answer: str) -> str | None:
        """The labels in a canonical order."""
        if self._params.mode == "single":
            return self._names.find(answer) or self._names.normal(answer)
        read = self._names.read(answer, several=True)
        labels = self._ordered([read])
        return "\n".join(labels) if labels and not read.unknown else self._names.normal(answer)

    def same(self, a: str, b: str) -> bool | None:
        """Returns whether the keys are equal."""
        return self.key(a) == self.key(b)

    def _ordered(self, reads: list[Read]) -> list[str]:
        entries = [entry for read in reads for entry in read.entries if entry is not None]
        return entries if self._params.mode == "vector" else sorted(set(entries))
