"""An orchestrator's view of the engine: access to other verifiers, on behalf of the same scope."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from rewarden.errors import PluginError, SampleError, WorkerError
from rewarden.types import Batch, Outcome, Sample, Use
from rewarden_server.engine import failures
from rewarden_server.engine.parts import Parts
from rewarden_server.engine.plan import Plan
from rewarden_server.engine.work import BoundUse, Op, Result
from rewarden_server.observe.telemetry.results import note_outcome
from rewarden_server.observe.telemetry.span import current, within
from rewarden_verifiers.contract import AsyncEquivalence, Member

if TYPE_CHECKING:
    from rewarden_verifiers.boxes import Boxes, LiveBox
    from rewarden_verifiers.chat import Judge
    from rewarden_verifiers.inference import Model
    from rewarden_verifiers.provers import Prover
    from rewarden_verifiers.recheck import Recheck
    from rewarden_verifiers.sandbox import Sandbox

_DEPTH = 16


class Runner(Protocol):
    """Runs verifiers on behalf of one request: a scope, as orchestrators see it."""

    @property
    def parts(self) -> Parts:
        """The engine's parts."""

    @property
    def box(self) -> LiveBox | None:
        """See `Context.box`."""

    @property
    def header(self) -> Batch:
        """The request's batch without its samples."""

    async def judge(self, use: BoundUse, sample: Sample, trail: tuple[BoundUse, ...]) -> Outcome:
        """See `Scope.judge`."""

    async def judge_group(
        self, use: BoundUse, members: Sequence[Member], trail: tuple[BoundUse, ...]
    ) -> Sequence[Outcome]:
        """See `Scope.judge_group`."""

    async def work(self, plan: Plan) -> Result:
        """See `Scope.work`."""

    def bind(self, use: Use) -> BoundUse:
        """See `Scope.bind`."""


class EngineContext:
    """A `rewarden_verifiers.contract.Context`. `trail` is the chain of uses that led here."""

    def __init__(self, scope: Runner, sample: Sample, trail: tuple[BoundUse, ...]) -> None:
        self._scope = scope
        self._sample = sample
        self._trail = trail

    @property
    def sandbox(self) -> Sandbox:
        """See `Context.sandbox`. A job ends with the task that requested it: at the deadline, or if the caller
        disconnects."""
        return self._scope.parts.sandbox

    @property
    def boxes(self) -> Boxes:
        """See `Context.boxes`."""
        return self._scope.parts.boxes

    @property
    def box(self) -> LiveBox | None:
        """See `Context.box`."""
        return self._scope.box

    @property
    def prover(self) -> Prover:
        """See `Context.prover`."""
        return self._scope.parts.lean

    @property
    def judge(self) -> Judge:
        """See `Context.judge`."""
        return self._scope.parts.judges

    @property
    def model(self) -> Model:
        """See `Context.model`."""
        return self._scope.parts.models

    async def verify(self, use: Use, *, sample: Sample | None = None, **fields: Any) -> Outcome:
        """See `Context.verify`."""
        target = sample if sample is not None else self._sample
        try:
            if fields:
                target = replace(target, **fields)
            bound = self._bind(use)
            with within(current().child(f"verify {bound.spec.name}")) as span:
                outcome = await self._scope.judge(bound, target, self._trail)
                note_outcome(span, outcome)
            return outcome
        except Exception as error:  # noqa: BLE001 - named in failures.py; a recipe may fall back
            return failures.outcome_of(error)

    async def verify_group(self, use: Use, members: Sequence[Member]) -> Sequence[Outcome]:
        """See `Context.verify_group`."""
        try:
            bound = self._bind(use)
            if not bound.spec.group:
                return await asyncio.gather(*(self.verify(use, sample=member.sample) for member in members))
            with within(current().child(f"verify {bound.spec.name}", members=len(members))):
                return await self._scope.judge_group(bound, members, self._trail)
        except Exception as error:  # noqa: BLE001 - named in failures.py; a recipe may fall back
            return [failures.outcome_of(error)] * len(members)

    def recheck(self, recheck: Recheck) -> None:
        """See `Context.recheck`."""
        self._scope.parts.rechecks.begin(recheck, self._sample, self._scope.header.progress)

    def equivalence(self, use: Use) -> AsyncEquivalence | None:
        """See `Context.equivalence`."""
        bound = self._bind(use)
        return EngineEquivalence(self._scope, bound) if bound.spec.equivalence is not None else None

    def _bind(self, use: Use) -> BoundUse:
        bound = self._scope.bind(use)
        if len(self._trail) >= _DEPTH:
            names = " → ".join(step.spec.name for step in self._trail[:4])
            raise PluginError(f"verifiers use each other in a cycle: {names} → …")
        return bound


class EngineEquivalence:
    """An equivalence whose items are separate pieces of work, so that an expensive item affects no other."""

    def __init__(self, scope: Runner, use: BoundUse) -> None:
        self._scope = scope
        self._use = use
        made = use.spec.equivalence
        assert made is not None
        self._direct = made(use.params) if use.spec.inline else None

    async def read(self, texts: Sequence[str]) -> Sequence[tuple[str, str | None] | SampleError | None]:
        """See `AsyncEquivalence.read`."""
        if self._direct is not None:
            answers = [self._direct.extract(text) for text in texts]
            return [None if answer is None else (answer, self._direct.key(answer)) for answer in answers]
        return [_answer(result) for result in await self._results("read", [{"text": text} for text in texts])]

    async def same(self, pairs: Sequence[tuple[str, str]]) -> Sequence[bool | None]:
        """See `AsyncEquivalence.same`."""
        if self._direct is not None:
            return [self._direct.same(a, b) for a, b in pairs]
        return [result.value for result in await self._results("same", [{"a": a, "b": b} for a, b in pairs])]

    async def _results(self, op: Op, arguments: Sequence[dict[str, Any]]) -> list[Result]:
        plans = [Plan(self._use, given, op=op) for given in arguments]
        return await asyncio.gather(*(self._scope.work(plan) for plan in plans))


def _answer(result: Result) -> tuple[str, str | None] | SampleError | None:
    failed = result.outcome
    if failed is not None and failed.status == "error":
        kind = PluginError if failed.fault == "verifier" else WorkerError
        return kind(failed.feedback or "a reply could not be read")
    return None if result.value is None else (result.value[0], result.value[1])
