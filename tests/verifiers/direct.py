"""Judging without an engine: pure verifiers called here, orchestrators with a context that calls them here too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from rewarden.errors import SampleError, SandboxError
from rewarden.types import BadSample, Outcome, Sample, Use
from rewarden.wire.json import outcome_to_json
from rewarden_server.engine import failures
from rewarden_server.engine.lanes.judges import JudgeLane
from rewarden_server.engine.lanes.models import ModelLane
from rewarden_server.engine.plan import Planner
from rewarden_server.engine.scope import run_inline
from rewarden_server.engine.work import BoundUse
from rewarden_server.judges.settings import JudgeSettings
from rewarden_server.models.settings import ModelSettings
from rewarden_verifiers import chat, inference
from rewarden_verifiers.boxes import Boxes
from rewarden_verifiers.contract import AsyncEquivalence, Member, call_orchestrator
from rewarden_verifiers.provers import Prover
from rewarden_verifiers.recheck import Recheck
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.sandbox import Sandbox
from rewarden_verifiers.view import apply_view

Judge = Callable[[Use, Sequence[Sample | BadSample]], Awaitable[Sequence[dict[str, Any]]]]
"""A judge of samples, all with one use: the JSON forms of their verdicts, in order. Direct, or over a transport."""


class DirectContext:
    """A `Context` in this process. `comparisons` counts what its equivalences were asked."""

    def __init__(self, planner: Planner, sample: Sample | None = None) -> None:
        self._planner = planner
        self._sample = sample
        self.verified = 0
        self.read: list[str] = []
        self.compared: list[tuple[str, str]] = []

    async def verify(self, use: Use, *, sample: Sample | None = None, **fields: Any) -> Outcome:
        self.verified += 1
        target = sample or self._sample
        assert target is not None
        target = replace(target, **fields)
        # A verifier asks about the sample that it was given, whatever that was made of.
        return await outcome_of(self._planner, use, target, self._about(target))

    async def verify_group(self, use: Use, members: Sequence[Member]) -> Sequence[Outcome]:
        if not self._planner.bind(use).spec.group:
            return [await self.verify(use, sample=member.sample) for member in members]
        samples = [member.sample for member in members]
        return await group_outcomes(self._planner, use, samples, self._about(None))

    def recheck(self, recheck: Recheck) -> None:
        """Nobody counts here."""

    def _about(self, sample: Sample | None) -> DirectContext:
        """This context for another sample."""
        other = copy(self)
        other._sample = sample
        return other

    @property
    def sandbox(self) -> Sandbox:
        raise SandboxError("there is no sandbox here: cases that run programs go over the transports")

    @property
    def boxes(self) -> Boxes:
        raise SandboxError("there are no boxes here: cases that run programs go over the transports")

    @property
    def box(self) -> None:
        return None

    @property
    def prover(self) -> Prover:
        raise SandboxError("there is no prover here: cases that prove go over the transports")

    @property
    def judge(self) -> chat.Judge:
        return JudgeLane(JudgeSettings())  # of which none is configured: cases with a script go over the transports

    @property
    def model(self) -> inference.Model:
        return ModelLane(ModelSettings())  # likewise

    def equivalence(self, use: Use) -> AsyncEquivalence | None:
        bound = self._planner.bind(use)
        return None if bound.spec.equivalence is None else _DirectEquivalence(bound, self)


class _DirectEquivalence:
    def __init__(self, bound: BoundUse, context: DirectContext) -> None:
        assert bound.spec.equivalence is not None
        self._own = bound.spec.equivalence(bound.params)
        self._context = context

    async def read(self, texts: Sequence[str]) -> Sequence[tuple[str, str | None] | None]:
        self._context.read += texts
        answers = [self._own.extract(text) for text in texts]
        return [None if answer is None else (answer, self._own.key(answer)) for answer in answers]

    async def same(self, pairs: Sequence[tuple[str, str]]) -> Sequence[bool | None]:
        self._context.compared += pairs
        return [self._own.same(a, b) for a, b in pairs]


async def outcome_of(planner: Planner, use: Use, sample: Sample, context: DirectContext | None = None) -> Outcome:
    """The outcome of any but a group verifier; what it raises becomes the outcome that the engine would make of it."""
    try:
        bound = planner.bind(use)
        context = context or DirectContext(planner, sample)
        if bound.spec.orchestrates:
            plan = planner.plan(bound, sample, None, context)
            if plan.viewless is not None:
                return failures.viewless(plan.viewless, bound.spec)
            found: Outcome = await call_orchestrator(bound.spec, plan.arguments)
            return found
        plan = planner.plan(bound, sample, None)
        if plan.viewless is not None:
            return failures.viewless(plan.viewless, bound.spec)
        return run_inline(plan)
    except SampleError as error:
        return failures.outcome_of(error)


async def group_outcomes(
    planner: Planner, use: Use, samples: Sequence[Sample], context: DirectContext | None = None
) -> Sequence[Outcome]:
    """The outcomes of a group verifier for the members of one group."""
    try:
        bound = planner.bind(use)
        members = [
            Member(index=index, response=apply_view(sample.response, bound.view).text, sample=sample)
            for index, sample in enumerate(samples)
        ]
        given = {"samples": members, "ctx": context or DirectContext(planner), "params": bound.params, "progress": None}
        found = await call_orchestrator(bound.spec, {name: given[name] for name in bound.spec.reads})
        return [failures.outcome_of(one) if isinstance(one, SampleError) else one for one in found]
    except SampleError as error:
        return [failures.outcome_of(error)] * len(samples)


def direct_judge(registry: Registry) -> Judge:
    """Judges in this process. All samples of a group verifier are taken for one group."""
    planner = Planner(registry)

    async def judge(use: Use, samples: Sequence[Sample | BadSample]) -> Sequence[dict[str, Any]]:
        good = [sample for sample in samples if isinstance(sample, Sample)]
        if len(good) == len(samples) and registry.resolve(use).group:
            return [outcome_to_json(outcome) for outcome in await group_outcomes(planner, use, good)]
        return [
            outcome_to_json(
                failures.bad_sample(sample) if isinstance(sample, BadSample) else await outcome_of(planner, use, sample)
            )
            for sample in samples
        ]

    return judge
