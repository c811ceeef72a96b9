"""Small verifiers to build recipes from, a registry that knows only them, and a Context that keeps a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rewarden.errors import SampleError
from rewarden.types import Outcome, Progress, Sample, Use
from rewarden_verifiers.contract import AsyncEquivalence, Context, Member, VerifierSpec, spec_of, verifier
from rewarden_verifiers.outcome import no_answer, right, scored, undecided, wrong
from rewarden_verifiers.recheck import Recheck
from rewarden_verifiers.recipes.load import parse_recipe, recipe_spec
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import parse_params


@dataclass(frozen=True)
class MathParams:
    """`tolerance` is here to be handed through a recipe."""

    tolerance: float = 0.0


@verifier(version="1", inline=True)
def math(response: str, reference: str, params: MathParams) -> Outcome:
    """Right when the text after 'answer ' is the reference; '?' cannot be told; no 'answer ' is not an answer."""
    _, found, answer = response.partition("answer ")
    if not found:
        return no_answer()
    if answer == "?":
        return undecided("too_hard")
    if answer == reference:
        return right(extracted=answer, evidence={"rule": "toy", "tolerance": params.tolerance}, flags=("toy",))
    return wrong(extracted=answer, feedback=f"{answer} is not {reference}")


@dataclass(frozen=True)
class FormatParams:
    """`template` is here because the gallery sets it."""

    template: str = "think_answer"


@verifier(version="1", inline=True)
def format(response: str, params: FormatParams) -> Outcome:
    """Right when the response begins with a dash."""
    return right() if response.startswith("-") else wrong("bad_format", flags=("untidy",))


@dataclass(frozen=True)
class CodeParams:
    """The parameters that the gallery sets."""

    scoring: str = "all"
    extraction: str = "strict"
    reveal: str = "none"


@verifier(version="1", graded=True, inline=True)
def code(response: str, reference: str, params: CodeParams) -> Outcome:
    """Right when the response ends with the reference; half right when it ends with a half."""
    if response.endswith("half"):
        return scored(0.5 if params.scoring == "fraction" else 0.0, passed=False, reason="wrong_answer")
    return right() if response.endswith(reference) else wrong("wrong_answer")


@verifier(version="1", graded=True, inline=True)
def vowels(response: str) -> Outcome:
    """The share of vowels: graded, with no notion of passing."""
    return scored(sum(letter in "aeiou" for letter in response) / max(len(response), 1))


@verifier(version="1", inline=True, determinism="sampled")
def judge(response: str) -> Outcome:
    """Right when the response holds 'good'."""
    return right() if "good" in response else wrong("judged_bad")


@verifier(version="1")
async def lengths(samples: list[Member], ctx: Context) -> list[Outcome]:
    """A group verifier: full marks for the shortest members."""
    shortest = min(len(member.response or "") for member in samples)
    return [right() if len(member.response or "") == shortest else wrong("longer") for member in samples]


TOYS = (math, format, code, vowels, judge, lengths)


class ToyRegistry(Registry):
    """The toys under their names, and recipes of given files."""

    def __init__(self, **recipes: Path) -> None:
        super().__init__()
        self._modules.clear()
        self._recipes = dict(recipes)
        for toy in TOYS:
            spec = spec_of(toy)
            assert spec is not None
            self.add(spec)


@dataclass
class Recorder:
    """A Context that runs toys at once and notes what was asked of it. `outcomes` answers instead of a verifier."""

    sample: Sample
    registry: Registry
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    progress: Progress | None = None
    asked: list[str] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)

    async def verify(self, use: Use, *, sample: Sample | None = None, **fields: Any) -> Outcome:
        target = replace(sample or self.sample, **fields)
        self.uses.append(use)
        self.asked.append(use.name or "recipe")
        if use.name in self.outcomes:
            return self.outcomes[use.name]
        spec = self.registry.resolve(use)
        params = parse_params(spec, use.params)
        own = {"response": target.response, "reference": target.reference, "params": params, "ctx": self}
        own |= {"sample": target, "progress": self.progress}
        made = spec.function(**{name: own[name] for name in spec.reads})
        outcome: Outcome = await made if spec.orchestrates else made
        return outcome

    async def verify_group(self, use: Use, members: Sequence[Member]) -> Sequence[Outcome]:
        self.asked.append(use.name or "recipe")
        spec = self.registry.resolve(use)
        outcomes: Sequence[Outcome] = await spec.function(samples=members, ctx=self)
        return outcomes

    def recheck(self, recheck: Recheck) -> None:
        """Nobody counts here."""

    def equivalence(self, use: Use) -> AsyncEquivalence | None:
        return None


ERROR = Outcome(status="error", reason="provider_failed", fault="infra", feedback="the endpoint is down")


@dataclass
class Judged:
    """A verdict of a recipe, and which verifiers it took."""

    outcome: Outcome
    asked: list[str]
    uses: list[Use]


async def run(
    recipe: Mapping[str, Any] | str | VerifierSpec,
    response: str = "answer 4",
    *,
    reference: Any = "4",
    outcomes: Mapping[str, Outcome] | None = None,
    params: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    registry: Registry | None = None,
    **fields: Any,
) -> Judged:
    """Judge one sample by a recipe."""
    registry = registry or ToyRegistry()
    spec = recipe if isinstance(recipe, VerifierSpec) else recipe_spec(parse_recipe(recipe), registry)
    sample = Sample(response=response, reference=reference, **fields)
    ctx = Recorder(sample, registry, outcomes or {}, progress)
    arguments: dict[str, Any] = {"sample": sample, "progress": progress, "ctx": ctx}
    if "params" in spec.reads:
        arguments["params"] = parse_params(spec, params or {})
    return Judged(await spec.function(**arguments), ctx.asked, ctx.uses)


async def refusal(*args: Any, **kwargs: Any) -> SampleError:
    """The error that judging raises."""
    try:
        judged = await run(*args, **kwargs)
    except SampleError as error:
        return error
    raise AssertionError(f"no error was raised, but {judged.outcome}")
