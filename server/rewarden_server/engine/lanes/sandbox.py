"""The sandbox lane: sends programs to a host in another process, a limited number at a time, in the order of their
arrival."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rewarden.errors import InternalError, InvalidSample, Overloaded, SandboxError, Unavailable
from rewarden.types import Run, RunResult
from rewarden_sandboxes.checks import check_job
from rewarden_sandboxes.errors import BadJob, Busy, HostError, HostLost, Leaving, NoRoom
from rewarden_sandboxes.flags import refused
from rewarden_sandboxes.job import CaseResult, Clock, Job, JobEvent, Program, Report
from rewarden_sandboxes.launchers.launcher import build_command
from rewarden_sandboxes.settings import default_slots
from rewarden_server.engine.lanes.delivered_once import DeliveredOnce
from rewarden_server.engine.lanes.host_retry import HostRetry
from rewarden_server.engine.lanes.hosts import Hosts, Lent, Wants, row_of
from rewarden_server.engine.lanes.own_host import OwnHost
from rewarden_server.engine.lanes.remote_hosts import RemoteHosts
from rewarden_server.engine.lanes.resizable_semaphore import ResizableSemaphore
from rewarden_server.engine.lanes.single_runs import job_of_run, refused_run, result_of
from rewarden_server.engine.observer import Observer
from rewarden_server.lean.settings import LeanSettings
from rewarden_server.observe.telemetry.results import ran
from rewarden_server.observe.telemetry.span import current
from rewarden_server.processes.settings import SandboxSettings

if TYPE_CHECKING:
    from rewarden_sandboxes.box import BoxSpec
    from rewarden_sandboxes.remote_box import RemoteBox
    from rewarden_sandboxes.remote_session import RemoteSession

_FOR_EACH_SLOT = 4
"""Jobs that the hosts have at once, for each slot: enough that no slot waits for its next one."""


_STATUS_S = 5.0
"""Seconds for which a host that has just started is asked for its languages."""


class SandboxLane:
    """A `rewarden_verifiers.sandbox.Sandbox`. Used on one loop."""

    def __init__(self, settings: SandboxSettings, observer: Observer, lean: LeanSettings | None = None) -> None:
        self.settings = settings
        self._observer = observer
        self._hosts: Hosts = RemoteHosts(settings) if settings.addresses else OwnHost(settings, lean)
        self._hosts.changed = self._count_slots
        self._turns = ResizableSemaphore(settings.in_flight or _FOR_EACH_SLOT * (self._hosts.slots or default_slots()))
        self._closed = False
        self._holding: set[asyncio.Task[None]] = set()
        self._runnable: set[str] = set()
        """Languages, as they were asked for, that a host was found to have."""
        self._flags: dict[str, Sequence[str]] = {}
        """By language, as it was asked for: the patterns of the flags that its row allows."""

    def start(self) -> None:
        """Starts the server's own host, or the checks of remote ones; returns at once. Otherwise the first job does
        so."""
        self._hosts.start()

    async def close(self) -> None:
        """Ends the server's own host. Programs that run there are killed, and callers that wait for them get
        SandboxError."""
        self._closed = True
        await self._hosts.close()

    @property
    def waiting(self) -> int:
        """Returns the number of jobs that wait here and that no host has yet."""
        return self._turns.waiting

    @property
    def under_way(self) -> int:
        """Returns the number of jobs that were sent to a host, or are about to be."""
        return self._turns.taken

    def _count_slots(self) -> None:
        if self.settings.in_flight is None and self._hosts.slots is not None:
            self._turns.allow(_FOR_EACH_SLOT * self._hosts.slots)

    # --- jobs of verifiers --------------------------------------------------------------------------------------

    async def run(self, job: Job) -> AsyncGenerator[JobEvent, None]:
        """See `rewarden_verifiers.sandbox.Sandbox`."""
        # Lost verdicts: jobs at the end of a long queue failed with an error of ours. Only the deadline counts here.
        job = replace(job, patience_s=math.inf)
        with _said_as_ours("the job"):
            async with aclosing(self._traced(job, patient=True)) as events:
                async for event in events:
                    yield event

    async def lacking(self, languages: Sequence[str]) -> str | None:
        """See `rewarden_verifiers.sandbox.Sandbox`. Each sample asks, so what is there is looked up once: an image that
        is removed later is the host's to refuse.
        """
        if self._runnable.issuperset(languages):
            return None
        host = await self._host_status()
        rows, images = host.get("languages"), host.get("images")
        if not rows:
            return None  # a host that does not say it: the job will
        for language in languages:
            row = row_of(rows, language)
            if row is None:
                return f"unknown language {language!r}; known: {', '.join(rows)}"
            if images and not any(images.get(image) for image in row["images"]):
                image = row["images"][0]
                how = build_command(image, "images")
                return f"the language {language!r} needs the image {image!r}, which is not built; make it: {how}"
            if images:  # a host that is starting does not know its images yet
                self._runnable.add(language)
        return None

    async def refused_flag(self, language: str, flags: Sequence[str]) -> tuple[int, str] | None:
        """See `rewarden_verifiers.sandbox.Sandbox`. A language's row is looked up once."""
        if language not in self._flags:
            host = await self._host_status()
            row = row_of(host.get("languages") or {}, language)
            if row is None or "flags" not in row:
                return None  # the job will say what is wrong
            self._flags[language] = row["flags"]
        return refused(language, flags, self._flags[language])

    async def _host_status(self) -> Mapping[str, Any]:
        """Returns what the host says of itself; nothing if hosts differ, for a job goes to one that has its language,
        and if none answers, for the job will say what is wrong."""
        status = await self._hosts.status()
        if status.get("differences"):
            return {}
        host: Mapping[str, Any] | None = status.get("host")
        try:
            if host is None:
                lent = await self._lend(HostRetry(self._hosts, Wants(languages=()), patient=True))
                host = await lent.client.status(timeout_s=_STATUS_S)
        except HostError:
            return {}
        return host

    # --- sessions -----------------------------------------------------------------------------------------------

    async def session(self, program: Program) -> Session:
        """Starts a program that is fed and read while it runs. The caller must close it. Waits while all of the host's
        sessions are taken. Raises InvalidSample, SandboxError.
        """
        wants = Wants(languages=(program.language,), session=True)
        tries = HostRetry(self._hosts, wants, patient=True)
        with _said_as_ours("the program"):
            while True:
                lent = await self._lend(tries)
                with ExitStack() as stack:
                    stack.enter_context(lent.load(session=True))
                    try:
                        begun = await lent.client.session(program)
                        return Session(begun, stack.pop_all())
                    except HostError as error:
                        failed = error
                await self._again(tries, failed)

    # --- boxes --------------------------------------------------------------------------------------------------

    async def box(self, spec: BoxSpec, *, patient: bool = False) -> RemoteBox:
        """Opens a box on the host with the least load. The caller must close it. patient: wait while all hosts have as
        many as they can. Raises HostError."""
        tries = HostRetry(self._hosts, Wants(languages=(), session=True), patient=patient)
        while True:
            lent = await self._lend(tries)
            with ExitStack() as stack:
                stack.enter_context(lent.load(session=True))
                try:
                    box = await lent.client.box(spec)
                except HostError as error:
                    failed = error
                else:
                    self._hold(box, stack.pop_all())
                    return box
            await self._again(tries, failed)

    def _hold(self, box: RemoteBox, held: ExitStack) -> None:
        """Counts a box as load of its host until it is over."""

        async def until_over() -> None:
            with held:
                await box.wait()

        task = asyncio.get_running_loop().create_task(until_over())
        self._holding.add(task)
        task.add_done_callback(self._holding.discard)

    # --- single runs --------------------------------------------------------------------------------------------

    async def run_program(self, run: Run) -> RunResult:
        """Runs a program and returns its result. Raises InvalidRequest, Overloaded, Unavailable, InternalError."""
        job = job_of_run(run)
        try:
            check_job(job)  # before it waits for anything
        except BadJob as error:
            raise refused_run(error) from None
        if self.waiting >= self.settings.max_waiting:
            raise Overloaded(
                f"{self.waiting} runs are already waiting for the sandbox (sandbox.max_waiting)", retry_after_s=1.0
            )
        compiled: RunResult | None = None
        ended: RunResult | None = None
        try:
            async with aclosing(self._traced(job, patient=False)) as events:
                async for event in events:  # to its end: leaving earlier would cancel the job
                    if isinstance(event, CaseResult):
                        ended = result_of(event.program, compiled)
                    else:
                        compiled = result_of(event.report, None)
        except BadJob as error:
            raise refused_run(error) from None
        except Busy as error:
            raise Overloaded(error.message, retry_after_s=1.0) from None
        except (NoRoom, HostLost, Leaving) as error:
            raise Unavailable(f"no program can run now: {error.message}", retry_after_s=1.0) from None
        except HostError as error:
            raise InternalError(f"the sandbox host failed: {error.message}") from None
        if ended is not None:
            return ended
        if compiled is None:
            raise InternalError("the sandbox host returned no result for the program")
        status = "internal_error" if compiled.status == "internal_error" else "compile_error"
        return RunResult(
            status=status,
            limit=compiled.limit,
            enforced=compiled.enforced,
            message=compiled.message,
            compile=compiled,
        )

    # --- the host -----------------------------------------------------------------------------------------------

    async def status(self) -> dict[str, Any]:
        """Returns the state of the lane, ready for JSON: `state` (`off`, `idle`: not started, `starting`, `ready`,
        `missing`), `reason` where nothing can run, the number of waiting jobs, and the host's own status (`host`).
        Where there are several hosts, `host` is one that is ready, `hosts` has all of them, and `differences` lists
        their differences. At most about a second old. Never raises.
        """
        return {**await self._hosts.status(), "in_flight": self.under_way, "waiting_here": self.waiting}

    async def _traced(self, job: Job, *, patient: bool) -> AsyncGenerator[JobEvent, None]:
        """Like `_events`, with a span for the job and one for each run in it, by the times that the host reports."""
        language = job.program.language
        span = current().child("sandbox job", kind="client", language=language, cases=len(job.cases))
        try:
            async with aclosing(self._events(job, patient=patient)) as events:
                async for event in events:
                    ran(span, event)
                    yield event
        except HostError as error:
            span.fail(type(error).__name__)
            raise
        finally:
            span.end()

    async def _events(self, job: Job, *, patient: bool) -> AsyncGenerator[JobEvent, None]:
        """Yields a job's events, across several hosts if one is lost. Raises HostError.

        patient: wait if the host is overloaded (it may serve others).
        """
        languages = [job.program.language, *([job.partner.language] if job.partner is not None else [])]
        tries = HostRetry(self._hosts, Wants(languages=tuple(languages)), patient=patient)
        told = DeliveredOnce()
        async with self._turns.turn():
            while True:
                lent = await self._lend(tries)
                try:
                    with lent.load(session=False):
                        async with aclosing(lent.client.run(job)) as events:
                            async for event in events:
                                if told.is_new(event):
                                    self._count(job, event)
                                    yield event
                    return
                except HostError as error:
                    failed = error
                await self._again(tries, failed)

    async def _lend(self, tries: HostRetry) -> Lent:
        if self._closed:
            raise HostLost("the server is stopping")
        return await tries.host(self.settings.start_s)

    async def _again(self, tries: HostRetry, failed: HostError) -> None:
        """Waits, after a host failed, until it or another host can be tried. Raises the failure if it is permanent."""
        if self._closed:
            raise failed
        await tries.after(failed)

    def _count(self, job: Job, event: JobEvent) -> None:
        report = event.program if isinstance(event, CaseResult) else event.report
        if isinstance(event, CaseResult) or report.status != "ok":
            self._observer.program_ended(job.program.language, report.status, report.wall_time)


class Session:
    """A program in a locked room, with input and output while it runs.

    It runs for as long as its holder wants, within its limits on memory and processes, and ends with the program, with
    `close`, or with this server. Each method can be awaited by one task at a time.
    """

    def __init__(self, session: RemoteSession, held: ExitStack) -> None:
        self._session = session
        self._held = held

    @property
    def report(self) -> Report | None:
        """Returns the program's end, with the tail of its stderr, once `receive` has returned nothing."""
        return self._session.report

    @property
    def host_lost(self) -> bool:
        """Returns whether it ended because its host was lost or is about to exit: it can be started again, and no
        program is to blame."""
        return self._session.host_lost

    async def send(self, data: bytes) -> None:
        """Writes to its stdin; waits while the program reads nothing and 1 MiB is pending. Raises SandboxError if it
        ended."""
        with _said_as_ours():
            await self._session.send(data)

    async def receive(self) -> bytes:
        """Returns bytes of its stdout as they arrive; none when it has ended. A program with more than 1 MiB of unread
        output is held back. Raises SandboxError if the session was lost or closed."""
        with _said_as_ours():
            return await self._session.receive()

    async def clock(self) -> Clock:
        """Returns the time and memory used so far. Raises SandboxError if the session was lost or closed."""
        with _said_as_ours():
            return await self._session.clock()

    async def close(self) -> None:
        """Kills everything in its room. Closing twice has no effect."""
        self._held.close()
        await self._session.close()


@contextmanager
def _said_as_ours(what: str | None = None) -> Iterator[None]:
    """Raises the errors of hosts as our own. what: the name of the sent object, which may be malformed."""
    try:
        yield
    except HostError as error:
        if what is not None and isinstance(error, BadJob):
            raise InvalidSample(f"{error.path or what}: {error.message}", path=error.path) from None
        raise SandboxError(error.message) from None
