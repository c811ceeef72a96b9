"""Ways to earn a recipe's reward without a right answer, found by trying every mix of its verifiers' outcomes.

Each verifier finds the response right, wrong or without an answer, or fails. The recipe is evaluated on all
combinations, with the formulas and conditions that a sample would meet; no verifier runs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from rewarden.errors import PluginError, SampleError
from rewarden.types import Outcome, Progress, Sample, Use
from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.outcome import no_answer, right, wrong
from rewarden_verifiers.recipes.evaluate import Run, Shared
from rewarden_verifiers.recipes.load import Resolver
from rewarden_verifiers.recipes.model import Candidate, Recipe

State = Literal["right", "wrong", "no_answer", "fails"]

_STATES: tuple[State, ...] = ("right", "wrong", "no_answer", "fails")
_MOST = 7
"""The maximum number of verifiers for which all combinations are evaluated: 16,384 of them."""

_FORM = frozenset({"format", "length", "repetition", "language", "style_metric"})
"""Verifiers that judge the form of a response, not its answer."""

_VARIED = 4
"""The maximum number of verifiers for which long and truncated responses are evaluated too."""

_LONG = 20_000
"""The number of tokens and words of a long response."""

_KNOWN = frozenset({"score", "passed", "status", "reason", "fault", "flags"})
"""The fields of an outcome that can be made up without running the verifier."""

_LARGE = 0.5
"""The share of the full reward from which a reward without an answer is reported."""

_ALL = 0.99
"""The share of the full reward from which length pays as much as a right answer. Less than 1, since a short response
has some length, too.
"""

_NEAR = 1e-9

_SAID: Mapping[State, str] = {"right": "right", "wrong": "wrong", "no_answer": "without an answer", "fails": "failed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Weakness:
    """A way to earn reward without a right answer. where: the field of the recipe. says: the reward, and what earns it.
    severe: it pays as much as a right answer, or a failure pays more than a wrong answer.
    """

    where: str
    says: str
    severe: bool


@dataclass(frozen=True, slots=True)
class _Paid:
    """A score, and the part of the recipe that gives it. kind: how the response differs from an ordinary one."""

    states: Mapping[str, State]
    score: float
    row: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class _Left:
    """No score, although no verifier fails; or a score that the trainer is asked to exclude (why: None)."""

    states: Mapping[str, State]
    why: str | None
    kind: str = ""


async def weaknesses(recipe: Recipe, spec: VerifierSpec, registry: Resolver) -> list[Weakness] | None:
    """Returns the weaknesses of a recipe with its default parameters; None if it cannot be evaluated without samples,
    because it has too many verifiers, or reads more of the sample or of an outcome than can be made up.

    Recipes with up to four verifiers are also evaluated on a long and on a truncated response, if they read that.
    Values that the caller gives in `metadata` and `signals` are not varied.
    """
    names = list(recipe.components)
    if len(names) > _MOST or any(path[0] in names and path[1] not in _KNOWN for path in recipe.reads):
        return None
    params = spec.params_type() if spec.params_type is not None else None
    rehearsed = _Rehearsed(Shared(recipe, params, Progress(step=0, total_steps=1)), registry)
    paid: list[_Paid] = []
    left: list[_Left] = []
    for kind, sample in _samples(recipe).items():
        for states in itertools.product(_STATES, repeat=len(names)):
            if kind and "fails" in states:
                continue
            found = await rehearsed.paid(dict(zip(names, states, strict=True)), sample, kind)
            if found is _UNKNOWN:
                return None
            if isinstance(found, _Paid):
                paid.append(found)
            elif isinstance(found, _Left):
                left.append(found)
    answers = [name for name in names if not _is_form(recipe, name)]
    plain = [one for one in paid if not one.kind]
    return [
        *_without_answer(answers, [one for one in paid if one.kind != "long"]),
        *_for_length(recipe, answers, paid),
        *_for_failure(recipe, [*plain, *await _with_errors(recipe, rehearsed)]),
        *_for_escape(names, plain, left),
    ]


class _Unknown:
    """The recipe reads something that cannot be made up."""


_UNKNOWN = _Unknown()


_UNDECIDED = Outcome(status="undecided", reason="failed", fault="verifier")


@dataclass(frozen=True, slots=True)
class _Rehearsed:
    """A recipe evaluated on made-up outcomes. failure: the outcome of a verifier that fails."""

    shared: Shared
    registry: Resolver
    failure: Outcome = _UNDECIDED

    async def paid(self, states: Mapping[str, State], sample: Sample, kind: str) -> _Paid | _Left | _Unknown | None:
        """Returns the score; None if there is none because a verifier fails."""
        recipe = self.shared.recipe
        of = {candidate.path: name for name, one in recipe.components.items() for candidate in one.candidates}

        async def verify(candidate: Candidate, use: Use) -> Outcome:
            span = self.registry.resolve(use).score_range
            state = states[of[candidate.path]]
            if state == "right":
                return right(score=span[1], range=span)
            if state == "fails":
                return replace(self.failure, range=span)
            return wrong(range=span) if state == "wrong" else no_answer(range=span)

        try:
            outcome = await Run(self.shared, sample, verify).outcome()
        except PluginError as error:
            # Made-up caller values can break a formula that is sound with real ones.
            if any(path[:2] in (("sample", "metadata"), ("sample", "signals")) for path in recipe.reads):
                return None if kind else _UNKNOWN
            if not {"wrong", "no_answer"} & set(states.values()):
                return _UNKNOWN  # no bad answer escapes here: this verifier never gives the made-up full score
            return _Left(states, str(error).removeprefix(f"recipe {recipe.name!r}: "), kind)
        except SampleError:
            return _UNKNOWN
        if outcome.exclude:
            return _Left(states, None, kind)
        if outcome.score is None:
            return None
        notes: Mapping[str, Any] = outcome.evidence.get("recipe", {})
        row = "fallback" if "fallback" in notes else f"table[{notes['row']}]" if "row" in notes else "score"
        return _Paid(states, outcome.score, row, kind)


async def _with_errors(recipe: Recipe, rehearsed: _Rehearsed) -> list[_Paid]:
    """Returns what a recipe that reads statuses pays if one verifier ends with an error, not undecided."""
    names = list(recipe.components)
    if not any(path[0] in names and path[1] == "status" for path in recipe.reads):
        return []
    broken = replace(rehearsed, failure=replace(rehearsed.failure, status="error"))
    some = [states for states in itertools.product(_STATES, repeat=len(names)) if states.count("fails") == 1]
    found = [await broken.paid(dict(zip(names, states, strict=True)), _sample(recipe), "") for states in some]
    return [one for one in found if isinstance(one, _Paid)]


def _samples(recipe: Recipe) -> dict[str, Sample]:
    """Returns the samples on which the recipe is evaluated, by how they differ from an ordinary one, which is first."""
    found = {"": _sample(recipe)}
    if len(recipe.components) > _VARIED:
        return found
    if ("sample", "finish_reason") in recipe.reads:
        found["truncated"] = replace(found[""], finish_reason="length")
    if recipe.shaping or ("sample", "token_count") in recipe.reads:
        found["long"] = replace(found[""], token_count=_LONG, response="word " * _LONG)
    return found


def _sample(recipe: Recipe) -> Sample:
    """Returns a sample with the fields that recipes commonly read."""
    return Sample(
        prompt="question",
        response="answer",
        reference=dict.fromkeys(keys, "answer") if (keys := _own(recipe, "reference")) else "answer",
        token_count=1,
        finish_reason="stop",
        metadata={
            **{path[2]: 0.0 for path in recipe.reads if path[:2] == ("sample", "metadata") and len(path) > 2},
            **dict.fromkeys(_own(recipe, "metadata"), "answer"),
        },
        signals={path[2]: 0.0 for path in recipe.reads if path[:2] == ("sample", "signals") and len(path) > 2},
    )


def _own(recipe: Recipe, root: str) -> list[str]:
    """Returns the keys of a field of the sample that hold references of uses' own."""
    fields = [one.reference for component in recipe.components.values() for one in component.candidates]
    return [field[1] for field in fields if field is not None and field[0] == root]


def _is_form(recipe: Recipe, name: str) -> bool:
    return all(candidate.name in _FORM for candidate in recipe.components[name].candidates)


def _without_answer(answers: list[str], paid: list[_Paid]) -> list[Weakness]:
    """Returns the reward while none of the recipe's answer verifiers finds a right answer, and none fails."""
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
    truncated = f" {'in' if needed else 'for'} a truncated response" if best.kind else ""
    by = f" for {needed} alone{truncated}" if needed else truncated or " for nothing"
    says = f"pays {best.score:g}{by}, without a right answer; with one, at most {most:g}"
    alone = max((one.score for one in having if not _formed(one, answers)), default=best.score)
    # Behind a gate, a right answer alone earns the lowest score or a penalty, so other rewards are not a bonus larger
    # than the answer.
    more = max(least, 0.0) + _NEAR < alone < best.score - _NEAR
    if more:
        says = f"{says}, and {alone:g} for the answer alone"
    return [Weakness(where=best.row, says=says, severe=more or share >= 1 - _NEAR)]


def _formed(one: _Paid, answers: list[str]) -> bool:
    """Returns whether a verifier that does not judge the answer passes."""
    return any(state == "right" for name, state in one.states.items() if name not in answers)


def _for_length(recipe: Recipe, answers: list[str], paid: list[_Paid]) -> list[Weakness]:
    """Returns where a long response without a right answer earns as much as a short one with it, and where a wrong one
    earns more past the limit than before it."""
    found: list[Weakness] = []
    for step in recipe.shaping:
        numbers = step.wrong or {}
        beyond = numbers.get("exceeded")
        ends = [number for name in ("start", "end") if isinstance(number := numbers.get(name), float)]
        if isinstance(beyond, float) and len(ends) == 2 and step.weight == 1.0 and beyond > max(ends) + _NEAR:
            says = f"pays a wrong answer {beyond:g} past its limit, but at most {max(ends):g} before it"
            found.append(Weakness(where=f"shaping.{step.name}", says=says, severe=True))
    sound = [one for one in paid if "fails" not in one.states.values()]
    short = {tuple(one.states.items()): one.score for one in sound if not one.kind}
    wrongs = [
        one
        for one in sound
        if one.kind == "long"
        and not any(one.states[name] == "right" for name in answers)
        and one.score > short.get(tuple(one.states.items()), one.score) + _NEAR
    ]
    for one in sorted(wrongs, key=lambda one: -one.score):
        least = short[tuple(one.states.items())]
        best: dict[str, State] = {**one.states, **dict.fromkeys(answers, "right")}
        right = short.get(tuple(best.items()))
        if right is None or right <= least + _NEAR:
            continue
        share = (one.score - least) / (right - least)
        if share > _LARGE + _NEAR:
            says = f"pays {one.score:g} for {_LONG:,} tokens without a right answer; a short one earns {least:g}, "
            where = f"shaping.{recipe.shaping[0].name}" if recipe.shaping else one.row
            found.append(Weakness(where=where, says=f"{says}and if right {right:g}", severe=share >= _ALL))
        break
    return found


def _for_escape(names: list[str], paid: list[_Paid], left: list[_Left]) -> list[Weakness]:
    """Returns outcomes, which a policy can bring about, that leave a sample without a score or out of training."""
    scores = {tuple(one.states.items()): one for one in paid}
    found: list[Weakness] = []
    for one in left:
        if "fails" in one.states.values():
            continue
        if one.why is not None:
            states = " and ".join(f"{name!r} is {_SAID[state]}" for name, state in one.states.items())
            place, mark, why = one.why.partition(": ")
            if not mark or " " in place:
                place, why = "score", one.why
            response = f" in a {one.kind} response" if one.kind else ""
            found.append(Weakness(where=place, says=f"gives no score if {states}{response}: {why}", severe=True))
            break
        for name in () if one.kind else names:
            if one.states[name] == "right":
                continue
            other: dict[str, State] = {**one.states, name: "wrong" if one.states[name] == "no_answer" else "no_answer"}
            scored = scores.get(tuple(other.items()))
            if scored is not None:
                says = (
                    f"leaves the sample out if {name!r} is {_SAID[one.states[name]]}, but pays {scored.score:g} if it "
                    f"is {_SAID[scored.states[name]]}: a policy can choose to be left out"
                )
                found.append(Weakness(where="exclude", says=says, severe=True))
                return found
    return found


def _for_failure(recipe: Recipe, paid: list[_Paid]) -> list[Weakness]:
    """Returns the verifiers whose failure pays more than a wrong answer, all others being equal."""
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
