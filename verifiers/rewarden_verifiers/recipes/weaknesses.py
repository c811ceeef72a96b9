"""Ways to earn a recipe's reward without a right answer, found by trying every mix of its verifiers' outcomes.

Each verifier finds the response right, wrong or without an answer, or fails. The recipe is evaluated on all
combinations, with the formulas and conditions that a sample would meet; no verifier runs. A recipe that reads the
length of a response, or how it ended, is also evaluated on a long and on a truncated one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from rewarden.errors import SampleError
from rewarden.types import Outcome, Progress, Sample, Use
from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.outcome import no_answer, right, wrong
from rewarden_verifiers.recipes.evaluate import Run, Shared
from rewarden_verifiers.recipes.load import Resolver
from rewarden_verifiers.recipes.model import Candidate, Recipe

State = Literal["right", "wrong", "no_answer", "fails"]

_STATES: tuple[State, ...] = ("right", "wrong", "no_answer", "fails")
_MOST = 7
"""Verifiers of a recipe whose combinations are all evaluated: 16,384."""

_FORM = frozenset({"format", "length", "repetition", "language", "style_metric"})
"""Verifiers of how a response is written, which is no answer."""

_KNOWN = frozenset({"score", "passed", "status", "reason", "fault", "flags"})
"""The fields of an outcome that can be made up without running its verifier."""

_LARGE = 0.5
"""The share of the full reward from which a reward without an answer is worth a word."""

_NEAR = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Weakness:
    """A way to earn without a right answer. where: the field of the recipe. says: what it pays, and for what. severe:
    it pays as much as a right answer, or more than a wrong one for a failure."""

    where: str
    says: str
    severe: bool


@dataclass(frozen=True, slots=True)
class _Paid:
    """A score that the recipe pays. of: words for an unusual response, such as `a truncated response`."""

    states: Mapping[str, State]
    score: float
    row: str
    of: str = ""


async def weaknesses(recipe: Recipe, spec: VerifierSpec, registry: Resolver) -> list[Weakness] | None:
    """Returns the weaknesses of a recipe with its default parameters; None if it cannot be evaluated without samples,
    because it has too many verifiers, or reads more of the sample or of an outcome than can be made up."""
    names = list(recipe.components)
    if len(names) > _MOST or any(path[0] in names and path[1] not in _KNOWN for path in recipe.reads):
        return None
    params = spec.params_type() if spec.params_type is not None else None
    shared = Shared(recipe, params, Progress(step=0, total_steps=1))
    answers = [name for name in names if not _is_form(recipe, name)]
    reads_status = any(path[0] in names and path[1] == "status" for path in recipe.reads)
    paid: list[_Paid] = []
    failures: list[Weakness] = []
    for sample, of in _samples(recipe):
        for failure in _FAILURES if reads_status else _FAILURES[:1]:
            tried: list[_Paid] = []
            for states in itertools.product(_STATES, repeat=len(names)):
                run = _Rehearsal(recipe, shared, registry, dict(zip(names, states, strict=True)), failure)
                found = await run.paid(sample, of)
                if found is _UNKNOWN:
                    return None
                if isinstance(found, _Paid):
                    tried.append(found)
            paid += tried
            failures += [
                one for one in _for_failure(recipe, tried) if one.where not in {each.where for each in failures}
            ]
    return [*_without_answer(answers, paid), *failures]


class _Unknown:
    """The recipe reads what cannot be made up."""


_UNKNOWN = _Unknown()


_FAILURES = (
    Outcome(status="undecided", reason="failed", fault="verifier"),
    Outcome(status="error", reason="failed", fault="verifier"),
)


@dataclass(frozen=True, slots=True)
class _Rehearsal:
    recipe: Recipe
    shared: Shared
    registry: Resolver
    states: Mapping[str, State]
    failure: Outcome

    async def paid(self, sample: Sample, of: str) -> _Paid | _Unknown | None:
        """Returns the score; None if there is none."""
        run = Run(self.shared, sample, self._verify)
        try:
            outcome = await run.outcome()
        except SampleError:
            return _UNKNOWN
        if outcome.score is None or outcome.exclude:
            return None
        notes: Mapping[str, Any] = outcome.evidence.get("recipe", {})
        row = "fallback" if "fallback" in notes else f"table[{notes['row']}]" if "row" in notes else "score"
        return _Paid(self.states, outcome.score, row, of)

    async def _verify(self, candidate: Candidate, use: Use) -> Outcome:
        span = self.registry.resolve(use).score_range
        name = next(name for name, one in self.recipe.components.items() if candidate in one.candidates)
        match self.states[name]:
            case "right":
                return right(score=span[1], range=span)
            case "wrong":
                return wrong(range=span)
            case "no_answer":
                return no_answer(range=span)
            case "fails":
                return replace(self.failure, range=span)


def _samples(recipe: Recipe) -> list[tuple[Sample, str]]:
    """Returns samples that the recipe may tell apart, each with words for an unusual response."""
    plain = _sample(recipe)
    read = {path[1] for path in recipe.reads if path[0] == "sample" and len(path) > 1}
    samples = [(plain, "")]
    if "token_count" in read:
        samples.append((replace(plain, token_count=1_000_000), "a long response"))
    if "finish_reason" in read:
        samples.append((replace(plain, finish_reason="length"), "a truncated response"))
    return samples


def _sample(recipe: Recipe) -> Sample:
    """Returns a sample with what recipes commonly read of one."""
    return Sample(
        prompt="question",
        response="answer",
        reference="answer",
        token_count=1,
        finish_reason="stop",
        metadata={
            **{path[2]: 0.0 for path in recipe.reads if path[:2] == ("sample", "metadata") and len(path) > 2},
            **{
                candidate.reference: "answer"
                for component in recipe.components.values()
                for candidate in component.candidates
                if candidate.reference is not None
            },
        },
        signals={path[2]: 0.0 for path in recipe.reads if path[:2] == ("sample", "signals") and len(path) > 2},
    )


def _is_form(recipe: Recipe, name: str) -> bool:
    return all(candidate.name in _FORM for candidate in recipe.components[name].candidates)


def _without_answer(answers: list[str], paid: list[_Paid]) -> list[Weakness]:
    """Returns what the recipe pays while none of its verifiers of answers finds a right one, and none fails."""
    sound = [one for one in paid if "fails" not in one.states.values()]
    without = [one for one in sound if not any(one.states[name] == "right" for name in answers)]
    having = [one for one in sound if any(one.states[name] == "right" for name in answers)]
    if not without or not having:
        return []
    best, most = max(without, key=lambda one: one.score), max(one.score for one in having)
    least = min(one.score for one in sound)
    if max(best.score, most) - least <= _NEAR:
        return []
    share = (best.score - least) / (most - least) if most > least else math.inf
    if share <= _LARGE + _NEAR:
        return []
    needed = " and ".join(repr(name) for name, state in best.states.items() if state == "right")
    by = f"{needed} alone{best.of and f' in {best.of}'}" if needed else best.of or "nothing"
    says = f"pays {best.score:g} for {by}, without a right answer; with one, at most {most:g}"
    return [Weakness(where=best.row, says=says, severe=share >= 1 - _NEAR)]


def _for_failure(recipe: Recipe, paid: list[_Paid]) -> list[Weakness]:
    """Returns the verifiers whose failure pays more than a wrong answer, the others unchanged."""
    scores = {tuple(one.states.items()): one for one in paid}
    found: list[Weakness] = []
    for name, component in recipe.components.items():
        worst: tuple[float, _Paid, float] | None = None
        for one in paid:
            if one.states[name] != "fails" or list(one.states.values()).count("fails") > 1:
                continue
            wrongs = [scores.get(tuple({**one.states, name: state}.items())) for state in ("wrong", "no_answer")]
            known = [other.score for other in wrongs if other is not None]
            if known and one.score > max(known) + _NEAR and (worst is None or one.score - max(known) > worst[0]):
                worst = (one.score - max(known), one, max(known))
        if worst is not None:
            _, one, other = worst
            where = f"uses.{name}.default" if component.default is not None else one.row
            says = f"pays {one.score:g} if {name!r} fails, but {other:g} if its answer is wrong: failing must not pay"
            found.append(Weakness(where=where, says=says, severe=True))
    return found
