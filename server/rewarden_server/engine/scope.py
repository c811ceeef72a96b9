"""A scope: one request, stream or job, with its samples, groups, deadline and receiver.

Every sample that a scope takes ends in exactly one verdict, and every group in one `Group`; both go to `emit`. All
methods run on the engine's loop, except bulk planning, which runs on the engine's thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from rewarden.errors import (
    Cancelled,
    DeadlineReached,
    InvalidParams,
    InvalidSample,
    RequestError,
    SampleError,
)
from rewarden.types import BadSample, Batch, Group, Outcome, Sample, Use, Verdict, VerifierRef
from rewarden_server.engine import expectation, failures
from rewarden_server.engine.context import EngineContext
from rewarden_server.engine.groups import OpenGroup
from rewarden_server.engine.orchestrator_slots import orchestrating
from rewarden_server.engine.parts import Parts
from rewarden_server.engine.plan import Plan, as_judged, default_use
from rewarden_server.engine.spending import spending
from rewarden_server.engine.verdicts import make_verdict
from rewarden_server.engine.work import BoundUse, Result, Waiter
from rewarden_server.observe.telemetry.results import note_verdict, verdict_made
from rewarden_server.observe.telemetry.span import Span, current, within, worked
from rewarden_verifiers.boxes import LiveBox
from rewarden_verifiers.contract import (
    Member,
    Unwatched,
    VerifierSpec,
    call_direct,
    call_orchestrator,
    call_prepare,
    call_pure,
)
from rewarden_verifiers.group.statistics import describe
from rewarden_verifiers.view import apply_view

_REMEMBERED = 1024
"""Uses that a scope remembers by identity."""


Sink = Callable[[Verdict | Group], None]
"""Receives verdicts and groups as they end."""


class _Waits(BaseException):
    """The work has to wait. Not an Exception, which becomes an outcome."""


class _Pending:
    """A planned sample that has yet to go to a lane."""

    __slots__ = ("index", "plan", "sample", "use")

    def __init__(self, index: int, sample: Sample, use: BoundUse, plan: Plan | None) -> None:
        self.index, self.sample, self.use, self.plan = index, sample, use, plan


class Scope:
    """See the module. `header`: the batch without its samples. `box`: the live box to judge."""

    def __init__(
        self,
        parts: Parts,
        header: Batch,
        emit: Sink,
        on_stop: Callable[[RequestError], None] | None = None,
        span: Span | None = None,
        box: LiveBox | None = None,
    ) -> None:
        self.parts = parts
        self.box = box
        self.header = header
        self._emit = emit
        self._on_stop = on_stop
        self._span = span or current()
        self._loop = asyncio.get_running_loop()
        self._unfinished: dict[int, Sample | BadSample] = {}
        self._waiters: set[Waiter] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._groups: dict[str, OpenGroup] = {}
        self._bound: tuple[int, dict[int, tuple[Use, BoundUse]]] = (parts.planner.generation, {})
        self._timers: list[asyncio.TimerHandle] = []
        self._finished = False
        self._abandoned: Outcome | None = None
        self._late: set[str] = set()
        self._tap = parts.open_tap(header) if parts.open_tap is not None else None
        if header.deadline_s is not None:
            self._timers.append(self._loop.call_later(header.deadline_s, self._expire))

    @property
    def unfinished(self) -> int:
        """Samples taken that have no verdict yet."""
        return len(self._unfinished)

    # --- samples in ---------------------------------------------------------------------------------------------

    def take(self, index: int, sample: Sample | BadSample) -> None:
        """Starts one sample."""
        self._note(index, sample)
        if self._abandoned is not None:
            self._settle(make_verdict(index, sample, self._abandoned))
        else:
            self._dispatch(self._plan(index, sample))

    def note_many(self, samples: Sequence[Sample | BadSample]) -> None:
        """Registers all samples of a batch before any starts, so that a deadline covers them all."""
        for index, sample in enumerate(samples):
            self._note(index, sample)

    def plan_many(self, first: int, samples: Sequence[Sample | BadSample]) -> list[Verdict | _Pending]:
        """Plans samples and runs the inline verifiers among them. Runs on the engine's thread."""
        return [self._plan(index, sample) for index, sample in enumerate(samples, first)]

    def dispatch_many(self, planned: Sequence[Verdict | _Pending]) -> None:
        """Dispatches planned samples. Runs on the loop."""
        for item in planned:
            self._dispatch(item)

    def finish(self) -> None:
        """Declares that no more samples come: groups without a promised size are complete."""
        self._finished = True
        for group in list(self._groups.values()):
            if not group.closed:
                incomplete = group.size is not None and not group.whole
                self._close_group(group, complete=not incomplete)

    def _note(self, index: int, sample: Sample | BadSample) -> None:
        self._unfinished[index] = sample
        if isinstance(sample, BadSample) or sample.group is None:
            return
        group = self._groups.get(sample.group)
        if group is None:
            group = self._groups[sample.group] = OpenGroup(sample.group, len(self._groups))
            if self.header.group_deadline_s is not None:
                timer = self._loop.call_later(self.header.group_deadline_s, self._expire_group, group)
                self._timers.append(timer)
        group.seen += 1
        if sample.group_size is not None:
            group.size = sample.group_size

    def _plan(self, index: int, sample: Sample | BadSample) -> Verdict | _Pending:
        if isinstance(sample, BadSample):
            return make_verdict(index, sample, failures.bad_sample(sample))
        use: BoundUse | None = None
        try:
            planner = self.parts.planner
            use = self._expected(self.bind(default_use(sample, self.header)))
            resolved = planner.resolve(sample, self.header.shared)
            spec = use.spec
            if spec.group and sample.group is None:
                raise InvalidSample(f"verifier {spec.name!r} judges groups: give the sample a 'group'", path="group")
            if use.immediate:
                start = time.perf_counter()
                outcome = self._judge_now(use, resolved)
                if outcome is not None:
                    return make_verdict(index, sample, outcome, use.ref, Result(run_s=time.perf_counter() - start))
            if spec.orchestrates:
                return _Pending(index, resolved, use, None)
            plan = planner.plan(use, resolved, self.header.progress)
            if plan.viewless is not None:
                return make_verdict(index, sample, failures.viewless(plan.viewless, spec), use.ref)
            return _Pending(index, resolved, use, plan)
        except Exception as error:  # noqa: BLE001 - named in failures.py; a bad row must not cost its neighbours
            ref = use.ref if use is not None else None
            return make_verdict(index, sample, failures.outcome_of(error), ref)

    def _judge_now(self, use: BoundUse, sample: Sample) -> Outcome | None:
        """Returns the outcome of an immediate use on a resolved sample, computed on this thread. None if a recipe calls
        what is not immediate after all, which can depend on the sample. Raises SampleError."""
        try:
            return self._judged(use, sample)
        except _Waits:
            return None

    def _judged(self, use: BoundUse, sample: Sample) -> Outcome:
        spec = use.spec
        if spec.inline:
            plan = self.parts.planner.plan(use, sample, self.header.progress)
            return run_inline(plan) if plan.viewless is None else failures.viewless(plan.viewless, spec)

        def verify(part: Use, fields: Mapping[str, Any]) -> Outcome:
            try:
                bound = self.bind(part)
                if not bound.immediate:
                    raise _Waits
                return self._judged(bound, replace(sample, **fields) if fields else sample)
            except Exception as error:  # noqa: BLE001 - named in failures.py; a recipe may fall back
                return failures.outcome_of(error)

        return call_direct(spec, as_judged(sample), self.header.progress, verify, use.params)

    def bind(self, use: Use) -> BoundUse:
        """Returns the bound use. Samples mostly share one use object, as do the evaluations of a recipe, so it is
        looked up by identity before it is looked up by content."""
        planner = self.parts.planner
        generation, remembered = self._bound  # read once: the thread that plans binds while orchestrators do
        if generation != planner.generation:
            generation, remembered = self._bound = (planner.generation, {})
        known = remembered.get(id(use))
        if known is not None and known[0] is use:
            return known[1]
        bound = planner.bind(use)
        if len(remembered) < _REMEMBERED:
            remembered[id(use)] = (use, bound)
        return bound

    def _expected(self, use: BoundUse) -> BoundUse:
        """Returns the use. Raises InvalidParams if it is not the one that the caller expects."""
        found = expectation.difference(self.header.expect, use.ref) if self.header.expect else None
        if found is not None:
            raise InvalidParams(found, path="use")
        return use

    # --- lanes --------------------------------------------------------------------------------------------------

    def _dispatch(self, planned: Verdict | _Pending) -> None:
        if planned.index not in self._unfinished:
            return  # its deadline passed while it was planned
        name = planned.group if isinstance(planned, Verdict) else planned.sample.group
        if name is not None:
            self._groups[name].arrived += 1
        if isinstance(planned, Verdict):
            self._settle(planned)
            return
        index, sample, use, plan = planned.index, planned.sample, planned.use, planned.plan
        if plan is not None:
            self.request(plan, lambda result: self._ended(index, sample, use, result))
        elif use.spec.group:
            assert sample.group is not None
            group = self._groups[sample.group]
            if group.name in self._late:
                outcome = failures.incomplete_group(group.name, group.size, group.arrived, late=True)
                self._settle(make_verdict(index, sample, outcome, use.ref))
                return
            group.waiting.setdefault(use.id, (use, []))[1].append((index, sample))
            if group.whole:
                self._close_group(group, complete=True)
        else:
            self._start(self._orchestrate(index, sample, use))

    def request(self, plan: Plan, tell: Callable[[Result], None]) -> None:
        """Requests a piece of pure work on behalf of this scope."""

        def told(result: Result) -> None:
            self._waiters.discard(waiter)
            tell(result)

        waiter = Waiter(told)
        self._waiters.add(waiter)
        self.parts.dispatch.request(plan, waiter)

    async def judge(self, use: BoundUse, sample: Sample, trail: tuple[BoundUse, ...]) -> Outcome:
        """Returns the outcome of a verifier of single samples on a resolved sample. Raises SampleError."""
        spec = use.spec
        if spec.group:
            raise InvalidParams(f"verifier {spec.name!r} judges groups, not single samples", path="use")
        if spec.orchestrates:
            context = EngineContext(self, sample, (*trail, use))
            plan = self.parts.planner.plan(use, sample, self.header.progress, context)
            if plan.viewless is not None:
                return failures.viewless(plan.viewless, spec)
            outcome: Outcome = await call_orchestrator(spec, plan.arguments)
            return outcome
        if spec.inline:
            return self._judged(use, sample)
        plan = self.parts.planner.plan(use, sample, self.header.progress)
        if plan.viewless is not None:
            return failures.viewless(plan.viewless, spec)
        result = await self.work(plan)
        assert result.outcome is not None
        if not result.cached:
            worked(current(), worker_of(spec), result.queue_s, result.run_s)
        return result.outcome

    async def judge_group(
        self, use: BoundUse, members: Sequence[Member], trail: tuple[BoundUse, ...]
    ) -> Sequence[Outcome]:
        """Returns a group verifier's outcomes for resolved members, in order. Raises SampleError."""
        spec = use.spec
        if not spec.group:
            raise InvalidParams(f"verifier {spec.name!r} judges single samples, not groups", path="use")
        context = EngineContext(self, members[0].sample, (*trail, use))
        arguments = self.parts.planner.plan(use, members[0].sample, self.header.progress, context).arguments
        # Each use has its own view: a recipe may look at the thought and consensus at the answer.
        arguments["samples"] = [
            Member(
                index=member.index,
                response=apply_view(member.sample.response, use.view).text,
                sample=as_judged(member.sample),
            )
            for member in members
        ]
        outcomes: Sequence[Outcome | SampleError] = await call_orchestrator(spec, arguments)
        return [failures.outcome_of(one) if isinstance(one, SampleError) else one for one in outcomes]

    def only_groups_wait(self) -> bool:
        """Returns whether every unfinished sample belongs to a group verifier that waits for the rest of its group."""
        waiting = sum(len(members) for group in self._groups.values() for _, members in group.waiting.values())
        return waiting >= len(self._unfinished)

    async def work(self, plan: Plan) -> Result:
        """Returns the result of a piece of pure work. Cancelling the waiting task takes the work out of the queue."""
        future: asyncio.Future[Result] = self._loop.create_future()
        self.request(plan, lambda result: None if future.done() else future.set_result(result))
        return await future

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _orchestrate(self, index: int, sample: Sample, use: BoundUse) -> None:
        queued = time.monotonic()
        with within(self._span.child(f"verify {use.spec.name}")) as span, self._spending(sample):
            async with orchestrating(self.parts.orchestrations):
                started = time.monotonic()
                try:
                    outcome = await self.judge(use, sample, ())
                except Exception as error:  # noqa: BLE001 - named in failures.py
                    outcome = failures.outcome_of(error)
            result = Result(queue_s=started - queued, run_s=time.monotonic() - started)
            outcome, ref = self._as_it_is_now(sample, use, outcome)
            verdict = make_verdict(index, sample, outcome, ref, result)
            note_verdict(span, verdict)
            self._settle(verdict, traced=True)

    async def _orchestrate_group(self, use: BoundUse, members: Sequence[tuple[int, Sample]]) -> None:
        queued = time.monotonic()
        with within(self._span.child(f"verify {use.spec.name}", members=len(members))), self._spending(members[0][1]):
            async with orchestrating(self.parts.orchestrations):
                started = time.monotonic()
                try:
                    whole = [Member(index=index, response=None, sample=sample) for index, sample in members]
                    outcomes = await self.judge_group(use, whole, ())
                except Exception as error:  # noqa: BLE001 - named in failures.py
                    outcomes = [failures.outcome_of(error)] * len(members)
        result = Result(queue_s=started - queued, run_s=time.monotonic() - started)
        for (index, sample), outcome in zip(members, outcomes, strict=True):
            now, ref = self._as_it_is_now(sample, use, outcome)
            self._settle(make_verdict(index, sample, now, ref, result), traced=True)

    def _spending(self, sample: Sample) -> AbstractContextManager[None]:
        """Within the block, the tap is told what is spent on judges for this sample."""
        return spending(partial(self._tap.spent, sample) if self._tap is not None else None)

    def _as_it_is_now(self, sample: Sample, use: BoundUse, outcome: Outcome) -> tuple[Outcome, VerifierRef]:
        """Returns the outcome and the reference that now describes it. Since the use was bound, a model's weights may
        have become known or been swapped; the outcome is then flagged `swapped`, or becomes an error if the caller
        demands the old weights."""
        planner = self.parts.planner
        if planner.generation == 0 or outcome.status == "error":
            return outcome, use.ref
        now = planner.bind(default_use(sample, self.header))
        if now.ref == use.ref:
            return outcome, use.ref
        if now.epoch == use.epoch:
            return outcome, use.ref if use.ref.name in self.header.expect else now.ref
        try:
            self._expected(now)
        except InvalidParams as error:
            return failures.outcome_of(error), use.ref
        return replace(outcome, flags=tuple(dict.fromkeys((*outcome.flags, "swapped")))), use.ref

    def _ended(self, index: int, sample: Sample, use: BoundUse, result: Result) -> None:
        assert result.outcome is not None
        self._settle(make_verdict(index, sample, result.outcome, use.ref, result), worker_of(use.spec))

    # --- verdicts out -------------------------------------------------------------------------------------------

    def _settle(self, verdict: Verdict, worker: str | None = None, *, traced: bool = False) -> None:
        """Ends a sample with its verdict. worker: the kind of process that did the work; traced: the sample already has
        a span."""
        sample = self._unfinished.pop(verdict.index, None)
        if sample is None:
            return  # its deadline passed first
        use = None if isinstance(sample, BadSample) else sample.use or self.header.use
        inline = use is not None and use.recipe is not None
        self.parts.observer.verdict(verdict, inline)
        if self._span.recording and not traced:
            verdict_made(self._span, verdict, worker)
        if self.parts.recorder is not None:
            self.parts.recorder.add(self.header, sample, verdict, always=self._judges_groups(verdict))
        early = self.parts.early
        if early is not None and isinstance(sample, Sample) and early.watches(verdict):
            resolved = self.parts.planner.resolve(sample, self.header.shared)
            early.add(default_use(sample, self.header), resolved, verdict)
        if self._tap is not None:
            self._tap.verdict(sample, verdict)
        self._emit(verdict)
        if verdict.group is not None:
            group = self._groups[verdict.group]
            group.verdicts.append(verdict)
            group.inline |= inline
            if group.whole and not group.closed and not group.waiting:
                group.closed = True  # the last member's verifier judges no groups
            self._report(group)

    def _judges_groups(self, verdict: Verdict) -> bool:
        """Returns True for a group verifier's verdict, which says nothing without those of its siblings."""
        registry = self.parts.planner.registry
        name = verdict.verifier.name if verdict.verifier is not None else ""
        return name in registry and registry.get(name).group

    # --- groups -------------------------------------------------------------------------------------------------

    def _close_group(self, group: OpenGroup, *, complete: bool) -> None:
        group.closed = True
        waiting, group.waiting = group.waiting, {}
        for use, members in waiting.values():
            members = [member for member in members if member[0] in self._unfinished]
            if complete and members:
                self._start(self._orchestrate_group(use, members))
            else:
                late = group.name in self._late
                outcome = failures.incomplete_group(group.name, group.size, group.arrived, late=late)
                for index, sample in members:
                    self._settle(make_verdict(index, sample, outcome, use.ref))
        self._report(group)

    def _expire_group(self, group: OpenGroup) -> None:
        if not group.closed and not group.whole and not self._finished:
            self._late.add(group.name)
            self._close_group(group, complete=False)

    def _report(self, group: OpenGroup) -> None:
        if group.judged and group.verdicts:
            verdicts, group.verdicts = group.verdicts, []
            made = describe(group.name, verdicts)
            self.parts.observer.group(made, verdicts, group.inline)
            if self._tap is not None:
                self._tap.group(made, verdicts)
            self._emit(made)
            if not self._finished:
                # Late siblings start new statistics; a stream of a million groups must not be remembered.
                self._groups.pop(group.name, None)

    # --- the ends -----------------------------------------------------------------------------------------------

    def _expire(self) -> None:
        seconds = self.header.deadline_s
        self._abandon(DeadlineReached(f"the deadline of {seconds:g} s passed before this sample's verdict"))

    def cancel(self) -> None:
        """Ends the scope because the caller left: work that has not started is dropped, orchestrators are cancelled,
        and no more verdicts are sent."""
        self._emit = lambda item: None
        self._close_tap()
        self._abandon(Cancelled("the caller disconnected"))

    def stop(self, error: RequestError) -> None:
        """Ends the scope because the server stops: like `cancel`, but whoever waits is told."""
        self.cancel()
        if self._on_stop is not None:
            self._on_stop(error)

    def close(self) -> None:
        """Cancels timers and tasks at the end of the scope."""
        for timer in self._timers:
            timer.cancel()
        self._drop()
        self._close_tap()

    def _close_tap(self) -> None:
        tap, self._tap = self._tap, None
        if tap is not None:
            tap.close()

    def _drop(self) -> None:
        """Cancels the work in progress on behalf of this scope."""
        for waiter in self._waiters:
            waiter.leave()
        self._waiters.clear()
        for task in list(self._tasks):
            task.cancel()

    def _abandon(self, error: SampleError) -> None:
        self._drop()
        outcome = self._abandoned = failures.outcome_of(error)
        for index, sample in list(self._unfinished.items()):
            self._settle(make_verdict(index, sample, outcome))


def run_inline(plan: Plan) -> Outcome:
    """Returns the outcome of a verifier that is provably cheap, computed on this thread. Raises SampleError."""
    spec = plan.use.spec
    watch = Unwatched()
    try:
        arguments = {**plan.arguments, "resources": plan.use.resources, "watch": watch}
        if spec.prepare is not None and "prepared" in spec.reads:
            arguments["prepared"] = call_prepare(
                spec, arguments["reference"], plan.use.params, plan.use.resources, watch
            )
        return call_pure(spec, {name: arguments[name] for name in spec.reads})
    except RecursionError:  # nesting deep enough to reach it is the text's doing
        return failures.expired(spec, "run", 0.0, "recursion")


def worker_of(spec: VerifierSpec) -> str:
    """Returns the name in traces of the kind of process that does a pure verifier's work."""
    return "query worker" if spec.blocking else "cpu worker"
