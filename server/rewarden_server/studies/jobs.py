"""Jobs: rescores whose input was uploaded. One journal, one resume: a server that restarts goes on with them.

A job is a folder: `job.json` (what was asked, and how it stands), the input as it came, and what a rescore writes.
Jobs run one after another, so that two of them do not halve each other's rate; interactive requests go beside them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import doc

from rewarden.client import AsyncClient
from rewarden.errors import InvalidRequest, NotFound, RewardenError, TooLarge, Unavailable
from rewarden.routing import STARTER, Routing, read_routing, routing_from_json
from rewarden.wire.json import use_from_json
from rewarden_server.access.caller import CURRENT, Caller
from rewarden_server.engine.engine import Engine
from rewarden_server.observe.logs import get_logger, log_defect
from rewarden_server.studies.rescore.options import RescoreOptions
from rewarden_server.studies.rescore.progress import Watcher
from rewarden_server.studies.rescore.resuming import published
from rewarden_server.studies.rescore.run import rescore
from rewarden_server.studies.settings import JobSettings
from rewarden_verifiers.schema import Misfit, read

JobStatus = Literal["queued", "running", "finished", "failed"]

_MODE = 0o700
"""The mode of a job's folder, which protects everything in it. Attack: other users of the machine read the uploads."""

_log = get_logger("jobs")


@dataclass(slots=True)
class Job:
    """A job as it stands. `asked` is what RescoreOptions are made of; times are seconds since the epoch."""

    id: str
    asked: Mapping[str, Any]
    input: str
    status: JobStatus = "queued"
    created: float = 0.0
    ended: float | None = None
    message: str | None = None
    summary: Mapping[str, Any] | None = None
    rows: int = 0
    share: float = 0.0
    key: str = ""

    def to_json(self) -> dict[str, Any]:
        """Returns the body of the answer to `GET /v1/jobs/{id}`."""
        return {
            "id": self.id,
            "status": self.status,
            "created": self.created,
            "ended": self.ended,
            "message": self.message,
            "rows": self.rows,
            "share": self.share,
            "summary": self.summary,
            "asked": dict(self.asked),
            "key": self.key,
        }


Spend = Callable[[str, int], None]
"""Counts samples against the key of that name."""


class _Progress(Watcher):
    def __init__(self, job: Job, spend: Spend | None) -> None:
        self._job = job
        self._spend = spend

    def advance(self, rows: int, share: float) -> None:
        if self._spend is not None:
            self._spend(self._job.key, max(0, rows - self._job.rows))
        self._job.rows, self._job.share = rows, share


@dataclass(slots=True)
class Jobs:
    """The jobs of a server. `settings` bound one upload, the jobs of a key, and all that lies here; all methods run on
    the engine's loop.

    `spend` is told whose rows were judged, and how many.
    """

    engine: Engine
    folder: Path
    settings: JobSettings
    spend: Spend | None = None
    _jobs: dict[str, Job] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _queue: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    _runner: asyncio.Task[None] | None = None
    _current: tuple[str, asyncio.Task[Any]] | None = None

    def start(self) -> None:
        """Find the jobs of earlier times, and go on with those that did not end."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=_MODE)
        # Also of what is not a job, or none yet: it fills the disk as well.
        self._sizes = {path.name: _size(path) for path in self.folder.iterdir()}
        found = [self._load(path) for path in self.folder.glob("*/job.json")]
        for job in sorted((job for job in found if job is not None), key=lambda job: job.created):
            with contextlib.suppress(PermissionError):  # another user's
                (self.folder / job.id).chmod(_MODE)  # earlier releases left it open
            self._jobs[job.id] = job
            if job.status in ("queued", "running"):
                job.status = "queued"
                self._queue.put_nowait(job.id)
        self._runner = asyncio.ensure_future(self._run())

    async def close(self) -> None:
        """Stop; what runs is kept, and goes on at the next start."""
        if self._runner is not None:
            self._runner.cancel()
            await asyncio.gather(self._runner, return_exceptions=True)

    async def submit(
        self, asked: Mapping[str, Any], pieces: AsyncIterator[bytes], suffix: str = "", key: str = ""
    ) -> Job:
        """Store an upload and queue its rescore. `suffix` is `.gz`, `.zst` or nothing; `key` the name of whose it is.

        Raises InvalidRequest for what cannot be asked, TooLarge; then nothing is kept.
        """
        if not self.engine.ready:
            raise Unavailable("the server is draining")
        self._check_count(key)
        job = Job(id=uuid.uuid4().hex, asked=asked, input=f"input.jsonl{suffix}", created=time.time(), key=key)
        self._options(job)  # refuse before the upload
        folder = self.folder / job.id
        folder.mkdir(mode=_MODE)
        try:
            size = 0
            with (folder / job.input).open("wb") as file:
                async for piece in pieces:
                    size += len(piece)
                    self._sizes[job.id] = size
                    self._check_size(size)
                    await asyncio.to_thread(file.write, piece)
            if not size:
                raise InvalidRequest("the body is empty; send JSON lines")
            self._check_count(key)  # others may have come meanwhile
            self._save(job)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            self._sizes.pop(job.id, None)
            raise
        self._jobs[job.id] = job
        self._queue.put_nowait(job.id)
        return job

    def list(self) -> list[Job]:
        """All jobs, the oldest first."""
        return sorted(self._jobs.values(), key=lambda job: job.created)

    def get(self, id: str) -> Job:
        """Raises NotFound."""
        if id not in self._jobs:
            raise NotFound(f"there is no job {id[:64]!r}")
        return self._jobs[id]

    def output(self, id: str) -> Path:
        """The file of a finished job's rows. Raises NotFound for a job that is unknown or has not finished."""
        job = self.get(id)
        if job.status != "finished":
            raise NotFound(f"job {id} is {job.status}: it has no verdicts yet", status=job.status)
        return self.folder / id / "output.jsonl"

    async def delete(self, id: str) -> None:
        """Stop a job if it runs, and forget it with its files. Raises NotFound."""
        self.get(id)
        del self._jobs[id]
        if self._current is not None and self._current[0] == id:
            task = self._current[1]
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await asyncio.to_thread(shutil.rmtree, self.folder / id, ignore_errors=True)
        self._sizes.pop(id, None)

    async def _run(self) -> None:
        while True:
            id = await self._queue.get()
            job = self._jobs.get(id)
            if job is None:
                continue  # deleted while it waited
            task = asyncio.ensure_future(self._rescore(job))
            self._current = (id, task)
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                raise
            finally:
                self._current = None

    async def _rescore(self, job: Job) -> None:
        try:
            job.status = "running"
            self._save(job)
            # A kill after the output was published, or a full disk, may have kept the job's end from being written.
            told = published(self.folder / job.id / "output.jsonl")
            if told is not None:
                job.summary, job.rows = told, told["rows"]
            else:
                options = self._options(job)
                # A job has a task of its own: its verdicts are its key's in the store of runs.
                CURRENT.set(Caller(job.key, frozenset()))
                async with AsyncClient("local", engine=self.engine) as client:
                    summary = await rescore(options, client, _Progress(job, self.spend))
                job.summary = summary.to_json() if summary is not None else job.summary
            job.status, job.share = "finished", 1.0
        except Exception as error:  # noqa: BLE001 - told to whoever asks for the job, which would run for ever otherwise
            if not self.engine.ready:
                return  # the server stops; the journal goes on at the next start
            if isinstance(error, (RewardenError, OSError, ValueError)):
                job.message = str(error)
                _log.warning("job failed", job=job.id, error=type(error).__name__)
            else:
                job.message = f"{type(error).__name__}: {error}"
                log_defect(_log, error, job=job.id)
            job.status = "failed"
        job.ended = time.time()
        if job.id in self._jobs:
            try:
                self._save(job)
            except OSError as error:  # the next start finds the output, or tries again
                _log.error("the status of a job cannot be written", job=job.id, error=error.strerror)
            self._sizes[job.id] = _size(self.folder / job.id)

    def _check_count(self, key: str) -> None:
        """Raises TooLarge if a key has its jobs. Attack: uploads again and again, each within its bound."""
        most = self.settings.max_jobs
        if sum(job.key == key for job in self._jobs.values()) >= most:
            raise TooLarge(
                f"{key or 'this caller'} has {most} jobs already: delete finished ones (DELETE /v1/jobs/ID), or raise "
                "jobs.max_jobs",
                limit="jobs.max_jobs",
                most=most,
            )

    def _check_size(self, size: int) -> None:
        """Raises TooLarge for an upload of that size so far, or where it has no room beside what lies here."""
        if size > self.settings.max_bytes:
            raise TooLarge(
                f"the upload has more than {self.settings.max_bytes} bytes",
                limit="jobs.max_bytes",
                most=self.settings.max_bytes,
            )
        if sum(self._sizes.values()) > self.settings.max_total_bytes:
            raise TooLarge(
                "there is no room for another job: delete finished ones (DELETE /v1/jobs/ID), or raise "
                "jobs.max_total_bytes",
                limit="jobs.max_total_bytes",
                most=self.settings.max_total_bytes,
            )

    def _options(self, job: Job) -> RescoreOptions:
        folder = self.folder / job.id
        begun = (folder / "output.jsonl.rescore").exists()
        return read_asked(job.asked, folder / job.input, folder / "output.jsonl", resume=begun)

    def _save(self, job: Job) -> None:
        path = self.folder / job.id / "job.json"
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps({**job.to_json(), "input": job.input}), encoding="utf-8")
        fresh.replace(path)

    @staticmethod
    def _load(path: Path) -> Job | None:
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            return Job(**json.loads(path.read_text(encoding="utf-8")))
        _log.warning("not a job", folder=path.parent.name)
        return None


def _size(folder: Path) -> int:
    """Bytes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A job's JSON. use: a use, or an object of patterns of data sources to uses under `routes`. routing: instead of
    it, what a routing file holds, or `starter`.
    """

    use: Any = None
    routing: Any = None
    columns: Mapping[str, str] = field(default_factory=dict)
    sort: bool = False
    only: frozenset[Literal["scored", "undecided", "error", "missing"]] = frozenset()
    unscored: Annotated[Literal["skip"] | float | None, doc("null, 'skip' or a number")] = None
    overwrite: bool = False


def read_asked(asked: Mapping[str, Any], source: Path, output: Path, *, resume: bool = False) -> RescoreOptions:
    """The options of a rescore from a job's JSON. Raises InvalidRequest, naming the field.

    Recipes stand inline: none is ever read from the server's disk.
    """
    try:
        made: _Asked = read(_Asked, asked, "")
    except Misfit as misfit:
        raise InvalidRequest(misfit.message, path=misfit.path) from None
    return RescoreOptions(
        input=source,
        output=output,
        routing=_routing(asked),
        columns=made.columns,
        sort=made.sort,
        only=made.only,
        unscored=made.unscored,
        overwrite=made.overwrite,
        resume=resume,
    )


def _routing(asked: Mapping[str, Any]) -> Routing:
    if ("use" in asked) == ("routing" in asked):
        raise InvalidRequest("give either use or routing", path="use")
    if "routing" in asked:
        given = asked["routing"]
        return read_routing(STARTER) if given == STARTER else routing_from_json(given)
    uses = asked["use"]
    routed = isinstance(uses, Mapping) and set(uses) == {"routes"} and isinstance(uses["routes"], Mapping)
    if routed and not uses["routes"]:
        raise InvalidRequest("use.routes is empty; map a pattern of data sources to a use", path="use.routes")
    return Routing.by_source(
        [
            (pattern, use_from_json(value), value if isinstance(value, str) else json.dumps(value))
            for pattern, value in (uses["routes"] if routed else {"*": uses}).items()
        ],
        "use",
    )
