"""A recipe evaluated with made-up outcomes of its verifiers: its own formula runs, and no verifier does."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from rewarden.errors import SampleError
from rewarden.types import Outcome, Progress, Sample, Use
from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.outcome import no_answer, right, scored, undecided, wrong
from rewarden_verifiers.recipes.evaluate import Run, Shared
from rewarden_verifiers.recipes.model import Candidate, Recipe
from rewarden_verifiers.registry import Registry

State = Literal["right", "wrong", "no_answer", "fails"]
TOKENS = 500
"""The length of a response, where nothing else is said."""

STATES: tuple[State, ...] = ("right", "wrong", "no_answer", "fails")


_LOOP = asyncio.Runner()
"""One for all evaluations: a loop costs more than an evaluation."""

atexit.register(_LOOP.close)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """A made-up evaluation. asked: the parts that ran, each once."""

    outcome: Outcome
    asked: tuple[str, ...]


class Rehearsal:
    """A recipe with its default parameters, evaluated as often as wanted."""

    def __init__(self, recipe: Recipe, spec: VerifierSpec, registry: Registry) -> None:
        self.recipe = recipe
        self._params = spec.params_type() if spec.params_type is not None else None
        self._registry = registry
        self._part = {candidate.path: name for name, one in recipe.components.items() for candidate in one.candidates}

    def run(
        self,
        states: Mapping[str, State | float],
        sample: Sample | None = None,
        progress: Progress | None = None,
    ) -> Rehearsed | None:
        """Returns the outcome with each part in a state or, for a number, with that score; None if the recipe reads
        more than can be made up."""
        asked: list[str] = []

        async def verify(candidate: Candidate, use: Use) -> Outcome:
            name = self._part[candidate.path]
            asked.append(name)
            return _made_up(states.get(name, "right"), self._registry.resolve(use).score_range)

        run = Run(Shared(self.recipe, self._params, progress or Progress()), sample or self.sample(), verify)
        try:
            outcome = _LOOP.run(run.outcome())
        except SampleError:
            return None
        return Rehearsed(outcome, tuple(dict.fromkeys(asked)))

    def sample(self, **fields: Any) -> Sample:
        """Returns a sample with what recipes commonly read of one, and these fields."""
        blank = Sample(
            prompt="question",
            response="answer",
            reference="answer",
            token_count=TOKENS,
            finish_reason="stop",
            metadata=dict.fromkeys(self.keys("metadata"), 0.0),
            signals=dict.fromkeys(self.keys("signals"), 0.0),
        )
        return replace(blank, **fields)

    def keys(self, field: str) -> tuple[str, ...]:
        """Returns the caller's own keys that the recipe reads of a sample's field, `metadata` or `signals`."""
        paths = (path for path in self.recipe.reads if path[:2] == ("sample", field) and len(path) > 2)
        return tuple(dict.fromkeys(path[2] for path in paths))

    def specs(self, name: str) -> list[VerifierSpec]:
        """Returns the verifiers that can judge a part with the default parameters; none that is chosen per sample."""
        found: list[VerifierSpec] = []

        async def verify(candidate: Candidate, use: Use) -> Outcome:
            spec = self._registry.resolve(use)
            if self._part[candidate.path] == name:
                found.append(spec)
                return undecided("failed", range=spec.score_range)
            return right(score=spec.score_range[1], range=spec.score_range)

        try:
            _LOOP.run(Run(Shared(self.recipe, self._params, Progress()), self.sample(), verify).outcome())
        except SampleError:
            return []
        return found


def _made_up(state: State | float, span: tuple[float, float]) -> Outcome:
    match state:
        case "right":
            return right(score=span[1], range=span)
        case "wrong":
            return wrong(range=span)
        case "no_answer":
            return no_answer(range=span)
        case "fails":
            return undecided("failed", range=span)
        case _:
            return scored(state, range=span)
