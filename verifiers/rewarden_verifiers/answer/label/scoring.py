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
        """The share of the named labels that are right."""
        return self.shared / self.named if self.named else 0.0

    @property
    def recall(self) -> float:
        """The share of the right labels that are named."""
        return self.shared / self.wanted if self.wanted else 0.0

    @property
    def jaccard(self) -> float:
        """The intersection divided by the union."""
        return self.shared / (self.named + self.wanted - self.shared) if self.named or self.wanted else 0.0

    def fbeta(self, beta: float) -> float:
        """F-beta; beta 1 is F1."""
        square = beta * beta
        below = square * self.wanted + self.named
        return (1 + square) * self.shared / below if below else 0.0


def overlap(named: frozenset[str], wanted: frozenset[str], weight: Callable[[str], float]) -> Overlap:
    """Computes the overlap of two sets. Sums run in a fixed order, so that the same sets always give the same
    number.
    """
    shared = sum(weight(label) for label in sorted(named & wanted))
    # Rounding can make sums of the same weights differ by their order.
    return Overlap(shared, shared + _sum(named - wanted, weight), shared + _sum(wanted - named, weight))


def _sum(labels: frozenset[str], weight: Callable[[str], float]) -> float:
    return sum(weight(label) for label in sorted(labels))


def shared_depth(named: tuple[str, ...], wanted: tuple[str, ...]) -> float:
    """The length of the common beginning of two paths, divided by the length of the longer: a path that goes beyond the
    right label names something wrong.
    """
    shared = 0
    for one, other in zip(named, wanted, strict=False):
        if one != other:
            break
        shared += 1
    return shared / max(len(named), len(wanted))
