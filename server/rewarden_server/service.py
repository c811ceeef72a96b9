"""The parts that the surfaces share: the engine and what stands around it, and the checks that a request passes on its
way in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from rewarden.errors import TooLarge, Unavailable
from rewarden.routing import Routing
from rewarden.types import BadSample, Batch, BatchResult, Run, RunResult, Sample
from rewarden_server.access.audit import Audit
from rewarden_server.access.caller import Caller, charged, note
from rewarden_server.access.keys import Keys
from rewarden_server.boxes.registry import Boxes
from rewarden_server.config import Config
from rewarden_server.engine.engine import Engine
from rewarden_server.environments.live import LiveEpisodes
from rewarden_server.intake.blobs import Blobs, fill_media, fill_shared
from rewarden_server.intake.budget import Budget
from rewarden_server.intake.depth import deeper_than, too_deep_field
from rewarden_server.intake.routing import load_routing, routed
from rewarden_server.intake.settings import LimitSettings
from rewarden_server.observe.installed import InstalledOnce
from rewarden_server.observe.logs import VerdictLog, get_logger
from rewarden_server.observe.metrics import Metrics
from rewarden_server.observe.record import Recorder
from rewarden_server.observe.telemetry.configured import configured_tracing
from rewarden_server.observe.telemetry.tracing import Tracing
from rewarden_server.runs.store import Store
from rewarden_server.studies.jobs import Jobs
from rewarden_server.tasks.tasks import Tasks
from rewarden_server.verifier_resources import resources_of, tasks_of
from rewarden_verifiers.boxes import LiveBox
from rewarden_verifiers.chat import Question, Reply
from rewarden_verifiers.execution.datasets import Unpacking

T = TypeVar("T")

LARGE = 1024**2
"""Bytes from which decoding and encoding leave the loop to others, on a thread."""

BOX_SCOPE = "sessions"
"""The scope that boxes need."""

_log = get_logger("service")


@dataclass(frozen=True, slots=True)
class Service:
    """One server's parts. The engine's observer is `metrics`.

    `bodies` bounds what is being read, over both surfaces. `stopped` is set when the time to drain is over: whatever
    still waits for the engine is then refused.
    """

    engine: Engine
    config: Config
    keys: Keys
    metrics: Metrics
    blobs: Blobs
    bodies: Budget
    boxes: Boxes
    episodes: LiveEpisodes
    jobs: Jobs | None = None
    runs: Store | None = None
    routing: Routing | None = None
    tracing: Tracing = field(default_factory=Tracing)
    audit: Audit | None = None
    installed: InstalledOnce = field(default_factory=InstalledOnce)
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def build(cls, config: Config) -> Service:
        """A service as configured; its engine is not started. Raises ConfigError."""
        metrics = Metrics()
        limits = config.limits
        records = config.records
        recorder = (
            Recorder(records.dir, records.share, max_bytes=records.max_bytes) if records.dir is not None else None
        )
        runs = Store(config.runs) if config.runs.store else None
        tasks = tasks_of(config)
        engine = Engine(
            settings=config.engine,
            observer=metrics,
            recorder=recorder,
            sandbox=config.sandbox,
            lean=config.lean,
            judges=config.judges,
            models=config.models,
            resources={**resources_of(config, tasks), "code": Unpacking(config.limits.max_sample_bytes)},
            advise=lambda name, advice: _log.warning("answers are not read", verifier=name, advice=advice),
            open_tap=runs.feed.open if runs is not None else None,
        )
        metrics.registered(engine.registry)
        keys = Keys(config.keys)
        return cls(
            engine=engine,
            config=config,
            keys=keys,
            metrics=metrics,
            blobs=Blobs(
                max_blob_bytes=limits.max_blob_bytes, max_bytes=limits.blob_store_bytes, folder=limits.blob_dir
            ),
            bodies=Budget(limits.max_open_bytes),
            boxes=Boxes(config.boxes, engine.sandbox, Tasks(tasks, engine.boxes)),
            episodes=LiveEpisodes(config.environments),
            jobs=Jobs(engine, config.jobs.dir, config.jobs, keys.spend) if config.jobs.dir is not None else None,
            runs=runs,
            routing=load_routing(config),
            tracing=configured_tracing(config.telemetry),
            audit=Audit(config.audit) if config.audit.file is not None else None,
        )

    @property
    def limits(self) -> LimitSettings:
        """Returns the limits on one request."""
        return self.config.limits

    def take_header(self, header: Batch) -> Batch:
        """A batch with the blobs of its shared table put in place. Raises NotFound, InvalidRequest, TooLarge."""
        shared = fill_shared(header.shared, self.blobs, self.limits)
        use = header.use
        most = self.limits.max_depth
        for name, value in (("shared", shared), *((("use", use.params), ("use", use.recipe)) if use else ())):
            if deeper_than(value, most):
                raise TooLarge(
                    f"{name} nests deeper than {most} levels (limits.max_depth)", limit="max_depth", most=most
                )
        return header if shared is header.shared else replace(header, shared=shared)

    def take_sample(self, sample: Sample | BadSample, header: Batch) -> Sample | BadSample:
        """A row of a request within its limits, with the blobs of its media put in place, and with who judges it where
        neither it nor its request says so; else a `BadSample`."""
        if isinstance(sample, BadSample):
            return sample
        most = self.limits.max_sample_bytes
        if isinstance(sample.response, str) and len(sample.response) > most:
            return too_long(most, sample.id)
        deep = too_deep_field(sample, self.limits.max_depth)
        if deep is not None:
            message = f"{deep} nests deeper than {self.limits.max_depth} levels (limits.max_depth)"
            return BadSample(message=message, path=deep, id=sample.id)
        filled = fill_media(sample, self.blobs) if sample.media else sample
        found = routed(filled, header, self.routing)
        if isinstance(found, Sample) and found is not filled and deeper_than(found.reference, self.limits.max_depth):
            # A reference form reads JSON in texts, which nobody has measured yet.
            message = f"reference nests deeper than {self.limits.max_depth} levels (limits.max_depth)"
            return BadSample(message=message, path="reference", id=sample.id)
        return found

    def take_batch(self, batch: Batch) -> Batch:
        """A whole batch, checked and filled. Raises NotFound, InvalidRequest, TooLarge."""
        check_count(len(batch.samples), self.limits)
        header = self.take_header(batch)
        return replace(header, samples=[self.take_sample(sample, header) for sample in batch.samples])

    async def verify(self, batch: Batch, surface: str, box: LiveBox | None = None) -> BatchResult:
        """The verdicts of a batch that `take_batch` passed; what went wrong is logged. They count against the caller's
        key. box: the live box that is judged. Raises RequestError."""
        with charged(len(batch.samples)):
            result = await self.until_stopped(self.engine.verify(batch, source=surface, box=box))
        note(result.verdicts)
        log = VerdictLog(_log)
        for verdict in result.verdicts:
            log.note(verdict)
        log.end()
        return result

    async def ask(self, question: Question, judge: str) -> Reply:
        """The reply of a judge, see `rewarden_verifiers.chat.Judge`. Raises SampleError, Unavailable."""
        return await self.until_stopped(self.engine.judges.ask(question, judge))

    async def run(self, run: Run, surface: str) -> RunResult:
        """Runs a program and returns its result. It counts as one sample against the caller's key. Raises
        RequestError."""
        with charged(1):
            return await self.until_stopped(self.engine.run(run, source=surface))

    def leaseholder(self, text: str) -> Caller:
        """Returns the caller that a lease identifies: it has the name and the rates of the key that gave it, and can
        use the one box. Raises Unauthorized, Forbidden."""
        lease = self.boxes.read_lease(text)
        giver = self.keys.holder(lease.owner)
        giver.demand(BOX_SCOPE)
        if "score" in lease.rights:
            giver.demand("verify")
        return replace(giver, scopes=frozenset({BOX_SCOPE}), lease=lease)

    async def why_not_ready(self) -> str | None:
        """Returns the reason why no work should be sent here now, or None if it may be."""
        if not self.engine.ready:
            return "the server is starting or draining"
        if self.config.sandbox.required:
            sandbox = await self.engine.sandbox.status()
            if sandbox["state"] != "ready":
                return f"the sandbox is required but {sandbox['state']}: {sandbox['reason']}"
        if self.audit is not None and self.audit.refuses:
            return "the audit log is required (audit.required) but cannot be written"
        loading = self.engine.models.loading()
        if loading:  # one that failed keeps nobody's work away that needs it not; /v1/info tells
            return f"models are still loading: {', '.join(loading)}"
        return None

    @staticmethod
    def stop_error() -> Unavailable:
        """Returns the error for work that is cut off when the server stops."""
        return Unavailable(
            "the server stopped before the end; resend the samples that have no verdict", retry_after_s=1.0
        )

    async def until_stopped(self, work: Awaitable[T]) -> T:
        """The result of `work`, which is cancelled when the server stops. Raises Unavailable then."""
        task = asyncio.ensure_future(work)
        stopped = asyncio.ensure_future(self.stopped.wait())
        try:
            await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise self.stop_error()
            return task.result()
        finally:
            for each in (task, stopped):
                each.cancel()
            await asyncio.gather(task, stopped, return_exceptions=True)


async def run_beside(work: Callable[[], T], size: int) -> T:
    """Do a piece of computing that grows with `size`: at once when it is small, on a thread otherwise."""
    return work() if size < LARGE else await asyncio.to_thread(work)


def check_count(samples: int, limits: LimitSettings) -> None:
    """Raises TooLarge for more rows than one request may have."""
    if samples > limits.max_samples:
        raise TooLarge(
            f"the request has {samples} samples, more than {limits.max_samples}; send several requests, or a stream",
            limit="max_samples",
            most=limits.max_samples,
        )


def too_long(most: int, id: str | None = None) -> BadSample:
    """The row in the place of one that is over its limit."""
    return BadSample(message=f"the row has more than {most} bytes (limits.max_sample_bytes)", path="", id=id)
