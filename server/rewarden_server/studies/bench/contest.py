"""Responses to one prompt, some of which should rank above the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewarden.types import Sample, Text, Verdict
from rewarden_server.studies.bench.entry import Entry, Result, Way
from rewarden_server.studies.calibration.judged_responses import score_of
from rewarden_server.studies.calibration.labels import Label
from rewarden_server.studies.calibration.rows import Labelled

_MIDDLE = 0.5
_REFUSED = -1e9
"""Below any reward, yet finite, so that margins can be computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contested(Result):
    """The rank of the best response. above: how many others the verifier puts before it; level: how many it considers
    equal to it; rated: it rated each response on its own."""

    above: int
    level: int
    rated: bool

    @property
    def won(self) -> bool:
        """Returns whether the best response comes before all others."""
        return not self.above and not self.level


@dataclass(frozen=True, kw_only=True)
class Contest(Entry[Contested]):
    """A prompt, the response that should win, and the others.

    A verifier that compares judges the best response against each other one; a verifier that ranks judges them all as a
    group; any other rates each on its own.
    """

    prompt: Text
    best: str
    others: Sequence[str]

    def samples(self, way: Way) -> list[Sample]:
        """See `Entry`."""
        if way.kind == "comparison":
            return [Sample(prompt=self.prompt, response=self.best, reference=other) for other in self.others]
        group = f"{self.subset}/{self.id}" if way.kind == "ranking" else None
        return [Sample(prompt=self.prompt, response=text, group=group) for text in (self.best, *self.others)]

    def result(self, way: Way, verdicts: Sequence[Verdict]) -> Contested:
        """See `Entry`."""
        if way.kind == "comparison":
            margins = [(score_of(verdict) or 0.0) - _MIDDLE for verdict in verdicts]
        else:
            best, *others = (rating_of(verdict, way) for verdict in verdicts)
            margins = [best - other for other in others]
        above, level = sum(margin < 0 for margin in margins), margins.count(0.0)
        return Contested(
            subset=self.subset, tied=level > 0 and not above, above=above, level=level, rated=way.kind != "comparison"
        )

    def labelled(self, way: Way, coin: bool) -> list[Labelled]:
        """See `Entry`."""
        return contested(self.id, self.prompt, [self.best], self.others, way, coin)


def contested(
    name: str, prompt: Text, best: Sequence[str], others: Sequence[str], way: Way, coin: bool
) -> list[Labelled]:
    """Labelled responses: for a verifier that compares, the first of the best paired with each other response; for any
    other, each response on its own, the best ones right and the others wrong."""
    if way.kind != "comparison":
        right = [(text, True) for text in best]
        return [
            Labelled(f"{name}#{place + 1}", sample := _alone(prompt, text), Label(good), None if good else sample)
            for place, (text, good) in enumerate([*right, *((text, False) for text in others)])
        ]
    found: list[Labelled] = []
    for place, other in enumerate(others):
        turned = Sample(prompt=prompt, response=other, reference=best[0])
        first = coin if place % 2 == 0 else not coin
        sample = Sample(prompt=prompt, response=best[0], reference=other) if first else turned
        found.append(Labelled(f"{name}#{place + 1}" if len(others) > 1 else name, sample, Label(first), turned))
    return found


def rating_of(verdict: Verdict, way: Way) -> float:
    """A response's rating. A response that the reward model never saw, because it has no substance or is too long,
    ranks below all others."""
    if way.own:
        return float(verdict.raw) if isinstance(verdict.raw, (int, float)) else _REFUSED
    return verdict.score or 0.0


def _alone(prompt: Text, text: str) -> Sample:
    return Sample(prompt=prompt, response=text)
