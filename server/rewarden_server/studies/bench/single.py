"""One response that is right or wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewarden.types import Sample, Verdict
from rewarden_server.studies.bench.entry import Entry, Result, Way
from rewarden_server.studies.calibration.labels import Label
from rewarden_server.studies.calibration.rows import Labelled
from rewarden_verifiers.group.statistics import passes


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted(Result):
    """A verdict next to people's labels. passed: the verifier's verdict; labels: one per person, at least one. within:
    further parts of the set in which the row counts."""

    passed: bool
    labels: Sequence[bool]
    within: Sequence[str] = ()

    @property
    def agrees(self) -> bool:
        """Returns whether the verifier agrees with the only label."""
        return self.passed == self.labels[0]


@dataclass(frozen=True, kw_only=True)
class Single(Entry[Accepted]):
    """A response with people's labels, one or several."""

    sample: Sample
    labels: Sequence[bool]
    within: Sequence[str] = ()

    def samples(self, way: Way) -> list[Sample]:
        """See `Entry`."""
        return [self.sample]

    def result(self, way: Way, verdicts: Sequence[Verdict]) -> Accepted:
        """See `Entry`."""
        return Accepted(subset=self.subset, passed=passes(verdicts[0]), labels=self.labels, within=self.within)

    def labelled(self, way: Way, coin: bool) -> list[Labelled]:
        """See `Entry`. The majority of the labels counts; if they are evenly split, the row is left out."""
        yes = sum(self.labels)
        if 2 * yes == len(self.labels):
            return []
        right = 2 * yes > len(self.labels)
        return [Labelled(self.id, self.sample, Label(right), None if right else self.sample)]
