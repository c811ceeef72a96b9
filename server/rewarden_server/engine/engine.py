"""The engine: admits batches and streams, does identical work once, and hands work to the lanes."""

from __future__ import annotations

import asyncio
import contextlib
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

from rewarden.errors import Overloaded, RequestError, SampleError, Unavailable
from rewarden.types import BadSample, Batch, BatchResult, Group, Outcome, Run, RunResult, Sample, Verdict
from rewarden_server.engine import expectation
from rewarden_server.engine.cache import Cache, cacheable, content_key
from rewarden_server.engine.cache_redis import RedisCache
from rewarden_server.engine.lanes.cpu import CpuLane
from rewarden_server.engine.lanes.judges import JudgeLane
from rewarden_server.engine.lanes.lean import LeanLane
from rewarden_server.engine.lanes.models import ModelLane
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from rewarden_server.engine.plan import Plan, Planner
from rewarden_server.engine.scope import Scope, Sink
from rewarden_server.engine.settings import EngineSettings, JudgeSettings, LeanSettings, ModelSettings, SandboxSettings
from rewarden_server.engine.stream import Stream
from rewarden_server.engine.work import BoundUse, Result, Waiter, Work
from rewarden_server.record import Recorder
from rewarden_server.telemetry.span import Span, current, within
from rewarden_verifiers.contract import Site
from rewarden_verifiers.models.site import ModelSite
from rewarden_verifiers.registry import Registry

_CHUNK = 256
"""Samples that are planned at a stretch on the thread, before the loop has a turn."""

_DIRECT = 32
"""Batches up to this size are planned on the loop: a hop to the thread would cost more."""

_DIRECT_BYTES = 256 * 1024

WARM = ("math",)
"""Verifiers that the template of the cpu workers loads before it forks."""

WARM_QUERIES = ("sql",)
"""The same for the workers of verifiers that wait, which start when the first such verifier is asked."""


class Engine:
    """See docs/architecture.md for its surface. All methods run on one asyncio loop."""

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
        sites: Mapping[str, Site] | None = None,
    ) -> None:
        self.registry = registry or Registry()
        self.settings = settings or EngineSettings()
        self.observer = observer or Observer()
        self.recorder = recorder
        self.models = ModelLane(models or ModelSettings(), self.observer, moved=self._models_moved)
        self.planner = Planner(self.registry, {ModelSite: self.models.site, **(sites or {})})
        self.orchestrations = asyncio.Semaphore(self.settings.orchestrations)
        self._warm = [name for name in warm if name in self.registry]
        self._cpu = CpuLane(self.settings, self.observer, self._done, self._warm)
        self._queries = CpuLane(self.settings.for_queries(), self.observer, self._done, WARM_QUERIES, "queries")
        self.sandbox = SandboxLane(sandbox or SandboxSettings(), self.observer, lean)
        self.lean = LeanLane(lean or LeanSettings(), self.sandbox, self.observer)
        self.judges = JudgeLane(judges or JudgeSettings(), self.observer)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rewarden-inline")
        self._cache = (
            Cache(self.settings.cache_entries, self.settings.cache_bytes, self.settings.cache_dir, self.observer)
            if self.settings.cache
            else None
        )
        self._shared = (
            RedisCache.of(self.settings, self.observer)
            if self.settings.cache and self.settings.cache_redis is not None
            else None
        )
        self._inflight: dict[bytes, Work] = {}
        self._samples = 0
        self._bytes = 0
        self._scopes: set[Scope] = set()
        self._runs = 0
        self._short_of_room: set[Stream] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._started = False
        self._draining = False
        self._closed = False

    @property
    def ready(self) -> bool:
        """Whether work is admitted."""
        return self._started and not self._draining

    async def start(self) -> None:
        """Begin to admit work. Workers are forked now when the settings say `eager`, else at the first need; so are the
        sandbox host and models' processes, which are not waited for.
        """
        if self.settings.eager:
            self.sandbox.start()
            self.lean.start()
            self.models.start()
            # On a thread: what the verifiers import must not keep the loop from answering probes.
            await asyncio.gather(self._cpu.start(), asyncio.to_thread(self._load, self._warm))
        self._started = True

    async def close(self, drain_s: float = 30.0) -> None:
        """Admit no more, let what runs end for so many seconds, then stop. Closing twice is closing once."""
        if self._closed:
            return
        self._draining = self._closed = True
        if not self._idle.is_set():
            try:
                await asyncio.wait_for(self._idle.wait(), drain_s)
            except TimeoutError:
                for scope in list(self._scopes):
                    scope.stop(Unavailable("the server stopped before this ended", retry_after_s=1.0))
        if self._shared is not None:
            await self._shared.close()  # what waits for a look-up goes to the lanes
        await self.lean.close()  # its processes live in the sandbox
        lanes = (self._cpu, self._queries, self.sandbox, self.judges, self.models)
        await asyncio.gather(*(lane.close() for lane in lanes))
        self._thread.shutdown(wait=True)
        if self._cache is not None:
            self._cache.close()
        if self.recorder is not None:
            self.recorder.close()

    def _load(self, names: Sequence[str]) -> None:
        for name in names:
            with contextlib.suppress(SampleError):  # whoever uses it is told
                self.registry.get(name)

    def _models_moved(self, site: ModelSite, moved: bool) -> None:
        """Fingerprints move with the weights."""
        self.planner.provide({ModelSite: site}, moved=moved)

    def info(self) -> dict[str, Any]:
        """JSON-ready: versions, lanes, depths, limits."""
        settings = self.settings
        return {
            "version": version("rewarden-server"),
            "python": platform.python_version(),
            "ready": self.ready,
            "samples": self._samples,
            "bytes": self._bytes,
            "cache_entries": len(self._cache) if self._cache is not None else 0,
            "cache_shared": None if self._shared is None else "away" if self._shared.away else "ready",
            "lanes": {
                "cpu": {
                    "workers": settings.workers,
                    "slow_workers": settings.slow_workers,
                    "depth": self._cpu.depth(),
                    "pids": self._cpu.pids(),
                },
                "queries": {
                    "workers": settings.query_workers,
                    "slow_workers": settings.slow_query_workers,
                    "depth": self._queries.depth(),
                    "pids": self._queries.pids(),
                },
            },
            "limits": {
                "item_cpu_s": settings.item_cpu_s,
                "worker_memory_mb": settings.worker_memory_mb,
                "max_samples": settings.max_samples,
                "max_bytes": settings.max_bytes,
            },
        }

    # --- batches ------------------------------------------------------------------------------------------------

    async def verify(self, batch: Batch, source: str = "local") -> BatchResult:
        """The verdicts of a batch, in its order. Cancelling the call cancels the work.

        Raises Overloaded, Unavailable or FingerprintMoved; whatever happens to a sample is in its verdict.
        """
        with within(current().child("batch", source=source, samples=len(batch.samples))):
            return await self._verify(batch, source)

    async def _verify(self, batch: Batch, source: str) -> BatchResult:
        start = time.monotonic()
        samples = batch.samples
        size = sum(map(weight, samples))
        self.admit(source, len(samples), size)
        verdicts: list[Verdict | None] = [None] * len(samples)
        groups: list[Group] = []
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        left = len(samples)

        def emit(item: Verdict | Group) -> None:
            nonlocal left
            if isinstance(item, Group):
                groups.append(item)
                return
            verdicts[item.index] = item
            left -= 1
            if left == 0 and not ended.done():
                ended.set_result(None)

        def stopped(error: RequestError) -> None:
            if not ended.done():
                ended.set_exception(error)

        scope = self.open_scope(batch, emit, stopped)
        try:
            self._check_expected(batch)
            scope.note_many(samples)
            if len(samples) <= _DIRECT and size <= _DIRECT_BYTES:
                scope.dispatch_many(scope.plan_many(0, samples))
            else:
                await self._plan_in_pieces(scope, samples)
            scope.finish()
            if left:
                await ended
        except RequestError as error:
            self.observer.refused(source, error.code)
            raise
        finally:
            if left:
                scope.cancel()
            self.close_scope(scope)
            self.release(len(samples), size)
        self.observer.batch(source, time.monotonic() - start, len(samples))
        order = {name: place for place, name in enumerate(_group_names(samples))}
        groups.sort(key=lambda group: order[group.group])
        return BatchResult(verdicts=[verdict for verdict in verdicts if verdict is not None], groups=groups)

    async def _plan_in_pieces(self, scope: Scope, samples: Sequence[Sample | BadSample]) -> None:
        loop = asyncio.get_running_loop()
        for first in range(0, len(samples), _CHUNK):
            if not scope.unfinished:
                return  # the deadline has passed
            piece = samples[first : first + _CHUNK]
            scope.dispatch_many(await loop.run_in_executor(self._thread, scope.plan_many, first, piece))

    def open_stream(self, header: Batch, source: str = "local") -> Stream:
        """A stream with the header's defaults; its samples are ignored. Raises Unavailable or FingerprintMoved."""
        if not self.ready:
            raise Unavailable("the server is draining" if self._draining else "the engine is not started")
        self._check_expected(Batch(use=header.use, expect=header.expect))
        return Stream(self, header, source)

    def _check_expected(self, batch: Batch) -> None:
        if not batch.expect:
            return
        uses = [batch.use, *(sample.use for sample in batch.samples if isinstance(sample, Sample))]
        bound: list[BoundUse] = []
        for use in {id(use): use for use in uses if use is not None}.values():
            with contextlib.suppress(SampleError):  # a use that cannot be bound is its samples' error, not the batch's
                bound.append(self.planner.bind(use))
        expectation.check(batch.expect, [use.ref for use in bound])

    # --- programs -----------------------------------------------------------------------------------------------

    async def run(self, run: Run, source: str = "local") -> RunResult:
        """How a program ended in the sandbox; nothing of it is kept, and equal programs run each. Cancelling the call
        kills it.

        Raises InvalidRequest for what no sandbox would run, Overloaded, Unavailable, InternalError.
        """
        size = len(run.code) + len(run.stdin) + sum(map(len, run.files.values()))
        with self.running(source, size):
            return await self.sandbox.run_program(run)

    @contextlib.contextmanager
    def running(self, source: str, size: int, programs: int = 1) -> Iterator[None]:
        """Counts programs of so many bytes together in and out; the engine waits for them when it drains.

        Raises Overloaded or Unavailable.
        """
        try:
            self._check_room(programs, size)
        except RequestError as error:
            self.observer.refused(source, error.code)
            raise
        self._samples += programs
        self._bytes += size
        self._runs += 1
        self._idle.clear()
        try:
            yield
        except RequestError as error:
            self.observer.refused(source, error.code)
            raise
        finally:
            self._runs -= 1
            self.release(programs, size)
            self._rest()

    # --- admission ----------------------------------------------------------------------------------------------

    def admit(self, source: str, samples: int, size: int) -> None:
        """Count work in. Raises Unavailable, or Overloaded when it does not fit beside what is there."""
        try:
            self._check_room(samples, size)
        except RequestError as error:
            self.observer.refused(source, error.code)
            raise
        self.count_in(source, samples, size)

    def _check_room(self, samples: int, size: int) -> None:
        if not self.ready:
            raise Unavailable("the server is draining" if self._draining else "the engine is not started")
        if not self.fits(samples, size):
            raise Overloaded(
                f"{self._samples} samples ({self._bytes} bytes) are under way, and {samples} more do not fit; "
                "send them later, in smaller batches, or as a stream",
                retry_after_s=1.0,
            )

    def fits(self, samples: int, size: int) -> bool:
        """Whether so much work fits beside what is there."""
        settings = self.settings
        return self._samples + samples <= settings.max_samples and self._bytes + size <= settings.max_bytes

    def count_in(self, source: str, samples: int, size: int) -> None:
        """Count work in, whether it fits or not."""
        self._samples += samples
        self._bytes += size
        self.observer.admitted(source, samples)

    def release(self, samples: int, size: int) -> None:
        """Count work out, and wake the streams that wait for it."""
        self._samples -= samples
        self._bytes -= size
        for stream in self._short_of_room:
            stream.wake()
        self._short_of_room.clear()

    def wait_for_room(self, stream: Stream) -> None:
        """Wake this stream at the next release."""
        self._short_of_room.add(stream)

    def open_scope(
        self, header: Batch, emit: Sink, on_stop: Callable[[RequestError], None], span: Span | None = None
    ) -> Scope:
        """A scope that the engine waits for when it drains; `on_stop` is told when it waits no longer. What it does is
        part of `span`, or of the current one."""
        scope = Scope(self, header, emit, on_stop, span)
        self._scopes.add(scope)
        self._idle.clear()
        return scope

    def close_scope(self, scope: Scope) -> None:
        """The scope's end."""
        scope.close()
        self._scopes.discard(scope)
        self._rest()

    def _rest(self) -> None:
        if not self._scopes and not self._runs:
            self._idle.set()

    def judges_groups(self, verdict: Verdict) -> bool:
        """Whether a verdict is a group verifier's, so that it says nothing without its siblings."""
        name = verdict.verifier.name if verdict.verifier is not None else ""
        return name in self.registry and self.registry.get(name).group

    # --- pure work ----------------------------------------------------------------------------------------------

    def request(self, plan: Plan, waiter: Waiter) -> None:
        """Have a piece of pure work done, unless it is known or under way."""
        use = plan.use
        key: bytes | None = None
        if use.spec.determinism != "stateful":
            with contextlib.suppress(RecursionError):  # too deep to be written: the lane refuses it
                key = content_key(use.ref.fingerprint, plan.op, plan.arguments, plan.reference_key)
        if key is not None:
            if self._cache is not None and plan.op == "verify":
                known = self._cache.get(key)
                if known is not None:
                    waiter.tell(Result(outcome=known, cached=True))
                    return
            under_way = self._inflight.get(key)
            if under_way is not None:
                under_way.waiters.append(waiter)
                return
        work = Work(use, plan.op, plan.arguments, key, plan.reference_key, [waiter])
        if key is not None:
            self._inflight[key] = work
            if self._cache is not None and plan.op == "verify":
                if self._shared is not None and self._shared.ask(key, lambda known: self._looked_up(work, known)):
                    return
                self.observer.cache_missed()
        self._submit(work)

    def _submit(self, work: Work) -> None:
        (self._queries if work.use.spec.waits else self._cpu).submit(work)

    def _looked_up(self, work: Work, known: Outcome | None) -> None:
        """What the shared cache knows of a piece of work that waits for this."""
        if known is None:
            self.observer.cache_missed()
            self._submit(work)
            return
        self.observer.cache_hit("redis")
        assert work.key is not None
        if self._inflight.get(work.key) is work:
            del self._inflight[work.key]
        if self._cache is not None:
            self._cache.put(work.key, known, 1024)
        for waiter in work.waiters:
            waiter.tell(Result(outcome=known, cached=True))

    def _done(self, work: Work, result: Result, size: int) -> None:
        if work.key is not None:
            if self._inflight.get(work.key) is work:
                del self._inflight[work.key]
            outcome = result.outcome
            if outcome is not None and self._cache is not None and cacheable(work.use.spec, outcome):
                self._cache.put(work.key, outcome, size)
                if self._shared is not None and work.op == "verify":
                    self._shared.put(work.key, outcome)
        for waiter in work.waiters:
            waiter.tell(result)


def weight(sample: Sample | BadSample) -> int:
    """About how many bytes a sample holds on to."""
    if isinstance(sample, BadSample):
        return 256
    size = 512
    for text in (sample.response, sample.prompt):
        if isinstance(text, str):
            size += len(text)
        elif text is not None:
            size += sum(len(content) for message in text if isinstance(content := message.get("content"), str))
    return size


def _group_names(samples: Sequence[Sample | BadSample]) -> list[str]:
    return list(dict.fromkeys(s.group for s in samples if isinstance(s, Sample) and s.group is not None))


__all__ = ["BoundUse", "Engine", "weight"]
