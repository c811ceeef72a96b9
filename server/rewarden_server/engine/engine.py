"""The engine: composes admission, dispatch and the lanes, and starts and ends them together."""

from __future__ import annotations

import asyncio
import contextlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from rewarden.errors import SampleError
from rewarden.types import Batch, BatchResult, Group, Outcome, Progress, Run, RunResult, Sample, Verdict
from rewarden_server.engine import expectation
from rewarden_server.engine.admission import Admission
from rewarden_server.engine.batches import Batches
from rewarden_server.engine.dispatch import Dispatch
from rewarden_server.engine.early import Advise, Early
from rewarden_server.engine.lanes.boxes import BoxLane
from rewarden_server.engine.lanes.judges import JudgeLane
from rewarden_server.engine.lanes.lean import LeanLane
from rewarden_server.engine.lanes.models import ModelLane
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from rewarden_server.engine.parts import Parts
from rewarden_server.engine.plan import Planner
from rewarden_server.engine.rechecks import RECHECK_S, Rechecks
from rewarden_server.engine.scope import Scope
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.engine.stream import Stream
from rewarden_server.engine.tap import OpenTap
from rewarden_server.judges.settings import JudgeSettings
from rewarden_server.lean.settings import LeanSettings
from rewarden_server.models.settings import ModelSettings
from rewarden_server.observe.record import Recorder
from rewarden_server.processes.settings import SandboxSettings
from rewarden_verifiers.boxes import LiveBox
from rewarden_verifiers.contract import Resources
from rewarden_verifiers.models.resources import ModelResources
from rewarden_verifiers.registry import Registry

WARM = ("math",)
"""Verifiers that the fork server of the cpu workers loads before it forks."""


class Engine:
    """Judges batches and streams, and runs programs; see docs/architecture.md. All methods run on one asyncio loop.

    advise: called once for each use most of whose early responses have no answer that can be read, if another
    extraction finds the right ones (`rewarden.early_answers`). open_tap: receives each request's verdicts with their
    samples.
    """

    def __init__(
        self,
        registry: Registry | None = None,
        settings: EngineSettings | None = None,
        observer: Observer | None = None,
        *,
        warm: Sequence[str] = WARM,
        recorder: Recorder | None = None,
        sandbox: SandboxSettings | None = None,
        lean: LeanSettings | None = None,
        judges: JudgeSettings | None = None,
        models: ModelSettings | None = None,
        resources: Mapping[str, Resources] | None = None,
        advise: Advise | None = None,
        open_tap: OpenTap | None = None,
    ) -> None:
        self.registry = registry or Registry()
        self.settings = settings or EngineSettings()
        self.observer = observer or Observer()
        self.models = ModelLane(models or ModelSettings(), self.observer, moved=self._models_moved)
        self.planner = Planner(self.registry, {ModelResources: self.models.resources, **(resources or {})})
        self.sandbox = SandboxLane(sandbox or SandboxSettings(), self.observer, lean)
        self.boxes = BoxLane(self.sandbox)
        self.lean = LeanLane(lean or LeanSettings(), self.sandbox, self.observer)
        self.judges = JudgeLane(judges or JudgeSettings(), self.observer)
        self.admission = Admission(self.settings, self.observer)
        self._warm = [name for name in warm if name in self.registry]
        self.dispatch = Dispatch(self.settings, self.observer, self._warm)
        self.orchestrations = asyncio.Semaphore(self.settings.orchestrations)
        self.rechecks = Rechecks(self._judge_again)
        self._parts = Parts(
            planner=self.planner,
            dispatch=self.dispatch,
            sandbox=self.sandbox,
            boxes=self.boxes,
            lean=self.lean,
            judges=self.judges,
            models=self.models,
            observer=self.observer,
            recorder=recorder,
            orchestrations=self.orchestrations,
            rechecks=self.rechecks,
            early=Early(self._judge_apart, advise) if advise is not None else None,
            open_tap=open_tap,
        )
        self._batches = Batches(self._parts, self.admission)
        self._closed = False

    @property
    def ready(self) -> bool:
        """True while work is admitted."""
        return self.admission.ready

    async def start(self) -> None:
        """Starts to admit work. If the settings say `eager`, workers are forked now; otherwise, like the sandbox host
        and the model processes, they start when they are first needed, and nothing waits for them here.
        """
        if self.settings.eager:
            self.sandbox.start()
            self.lean.start()
            self.models.start()
            # On a thread: importing verifiers must not keep the loop from answering probes.
            await asyncio.gather(self.dispatch.start(), asyncio.to_thread(self._load, self._warm))
        self.admission.start()

    async def close(self, drain_s: float = 30.0) -> None:
        """Admits no more work, gives work in progress `drain_s` seconds to end, then stops. Closing twice has no
        effect."""
        if self._closed:
            return
        self._closed = True
        await self.admission.drain(drain_s)
        if self._parts.early is not None:
            await self._parts.early.close()
        await self.rechecks.close()
        await self.lean.close()  # its processes live in the sandbox
        closing = (self.dispatch, self.sandbox, self.judges, self.models)
        await asyncio.gather(*(part.close() for part in closing))
        self._batches.close()
        if self._parts.recorder is not None:
            self._parts.recorder.close()

    def _load(self, names: Sequence[str]) -> None:
        for name in names:
            with contextlib.suppress(SampleError):  # whoever uses it is told
                self.registry.get(name)

    def _models_moved(self, resources: ModelResources, moved: bool) -> None:
        """Fingerprints change with the weights."""
        self.planner.provide({ModelResources: resources}, moved=moved)

    def info(self) -> dict[str, Any]:
        """Returns versions, lanes, depths and limits, ready for JSON."""
        settings = self.settings
        return {
            "version": version("rewarden-server"),
            "python": platform.python_version(),
            "ready": self.ready,
            "samples": self.admission.samples,
            "bytes": self.admission.bytes,
            **self.dispatch.info(),
            "rechecks": self.rechecks.status(),
            "limits": {
                "item_cpu_s": settings.item_cpu_s,
                "worker_memory_mb": settings.worker_memory_mb,
                "max_samples": settings.max_samples,
                "max_bytes": settings.max_bytes,
            },
        }

    async def verify(self, batch: Batch, source: str = "local", box: LiveBox | None = None) -> BatchResult:
        """Returns the verdicts of a batch, in its order. Cancelling the call cancels the work. box: the live box to
        judge.

        Raises Overloaded, Unavailable or FingerprintMoved, and InvalidRequest for a batch without samples whose use
        cannot judge. Whatever happens to a single sample is in its verdict.
        """
        if self.ready and batch.use is not None and batch.use.name in self._warm:
            self.dispatch.begin()
            await asyncio.sleep(0)  # workers start while this process still imports the verifier
        return await self._batches.judge(batch, source, box)

    async def _judge_again(self, sample: Sample, progress: Progress | None) -> Outcome:
        """Returns the outcome of a recheck."""
        (verdict,) = await self._judge_apart([sample], Batch(progress=progress, deadline_s=RECHECK_S))
        return verdict

    async def _judge_apart(self, samples: Sequence[Sample], header: Batch | None = None) -> Sequence[Verdict]:
        """Returns verdicts on samples that no caller sent: they are not admitted, counted, recorded or rechecked."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        verdicts: dict[int, Verdict] = {}

        def emit(item: Verdict | Group) -> None:
            if isinstance(item, Verdict):
                verdicts[item.index] = item
                if len(verdicts) == len(samples):
                    ended.set_result(None)

        apart = replace(self._parts, observer=Observer(), rechecks=Rechecks(), recorder=None, early=None, open_tap=None)
        scope = Scope(apart, header or Batch(), emit)
        try:
            scope.note_many(samples)
            scope.dispatch_many(scope.plan_many(0, samples))
            scope.finish()
            await ended
        finally:
            scope.close()
        return [verdicts[index] for index in range(len(samples))]

    def open_stream(self, header: Batch, source: str = "local") -> Stream:
        """Opens a stream with the header's defaults; the header's samples are ignored. Raises Unavailable or
        FingerprintMoved."""
        self.admission.check_ready()
        expectation.check(Batch(use=header.use, expect=header.expect), self.planner)
        return Stream(self._parts, self.admission, self.settings, header, source)

    async def run(self, run: Run, source: str = "local") -> RunResult:
        """Runs a program in the sandbox and returns its result. Nothing is cached: a program that is sent twice runs
        twice. Cancelling the call kills the program.

        Raises InvalidRequest for a program that no sandbox would run, Overloaded, Unavailable, InternalError.
        """
        size = len(run.code) + len(run.stdin) + sum(map(len, run.files.values()))
        with self.admission.running(source, size):
            return await self.sandbox.run_program(run)
