"""A solution in steps, some of which are wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.types import Sample, Step, Text, Verdict
from rewarden_server.studies.bench.entry import Entry, Result, UnusableError, Way
from rewarden_server.studies.calibration.labels import Label
from rewarden_server.studies.calibration.rows import Labelled

_RIGHT, _WRONG = frozenset({"correct", "right"}), frozenset({"incorrect", "wrong"})
_HALF = 0.5
MANY_STEPS: Mapping[str, Mapping[str, Any]] = {"critic": {"max_steps": 512}, "rm_process": {"most_steps": 512}}
"""Parameters that let verifiers judge even the longest solution of any set."""
_BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked(Result):
    """The marks of a solution's steps. good: for each step, whether the verifier considers it right; errors: the
    indices of the wrong steps according to the set, from 0."""

    good: Sequence[bool]
    errors: Sequence[int]

    @property
    def first(self) -> int | None:
        """The first step that the verifier considers wrong; None if there is none."""
        return next((place for place, good in enumerate(self.good) if not good), None)


@dataclass(frozen=True, kw_only=True)
class Solution(Entry[Marked]):
    """A problem, the steps of a solution, and the indices of the wrong steps."""

    problem: Text
    steps: Sequence[str]
    errors: Sequence[int]

    @property
    def sample(self) -> Sample:
        """The solution as one response with its steps marked, so that no verifier has to find them."""
        spans: list[Step] = []
        start = 0
        for step in self.steps:
            spans.append(Step(start=start, end=start + len(step)))
            start += len(step) + len(_BETWEEN)
        return Sample(prompt=self.problem, response=_BETWEEN.join(self.steps), steps=spans)

    def samples(self, way: Way) -> list[Sample]:
        """See `Entry`."""
        return [self.sample]

    def result(self, way: Way, verdicts: Sequence[Verdict]) -> Marked:
        """See `Entry`."""
        steps = verdicts[0].steps or ()
        if not steps:
            raise UnusableError(
                "the verdict has no steps: use a verifier that marks them, such as critic or rm_process"
            )
        if len(steps) != len(self.steps):
            raise UnusableError(f"the verdict has {len(steps)} steps, the solution {len(self.steps)}")
        # A step without a mark was merged into another or dropped as a repetition; the other one has the mark.
        good = [
            one.label in _RIGHT or (one.label not in _WRONG and (one.score is None or one.score >= _HALF))
            for one in sorted(steps, key=lambda one: one.index)
        ]
        return Marked(subset=self.subset, good=good, errors=self.errors)

    def labelled(self, way: Way, coin: bool) -> list[Labelled]:
        """See `Entry`."""
        right, sample = not self.errors, self.sample
        return [Labelled(self.id, sample, Label(right), None if right else sample)]
