"""Credit for a set of labels: precision, recall, F-beta, Jaccard and subset accuracy, weighted, for one sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Overlap:
    """The overlap of two sets of labels, by weight."""

    shared: float
    named: float
    wanted: float

    @property
    def precision(self) -> float:
        """The share of what was named that is right."""
        return self.shared / self.named if self.named else 0.0

    @property
    def recall(self) -> float:
        """The share of what is right that was named."""
        return self.shared / self.wanted if self.wanted else 0.0

    @property
    def jaccard(self) -> float:
        """Shared by named or right."""
        return self.shared / (self.named + self.wanted - self.shared) if self.named or self.wanted else 0.0

    def fbeta(self, beta: float) -> float:
        """F-beta; beta 1 is F1."""
        square = beta * beta
        below = square * self.wanted + self.named
        return (1 + square) * self.shared / below if below else 0.0


def overlap(named: frozenset[str], wanted: frozenset[str], weight: Callable[[str], float]) -> Overlap:
    """The overlap of two sets. Sums run in one order, so that the same sets always give the same number."""
    shared = sum(weight(label) for label in sorted(named & wanted))
    # Sums of the same weights in another order may exceed one another by rounding.
    return Overlap(shared, shared + _sum(named - wanted, weight), shared + _sum(wanted - named, weight))


def _sum(labels: frozenset[str], weight: Callable[[str], float]) -> float:
    return sum(weight(label) for label in sorted(labels))


def shared_depth(named: tuple[str, ...], wanted: tuple[str, ...]) -> float:
    """The shared beginning of two paths, by the longer: who goes on past what is right names something wrong."""
    shared = 0
    for one, other in zip(named, wanted, strict=False):
        if one != other:
            break
        shared += 1
    return shared / max(len(named), len(wanted))
