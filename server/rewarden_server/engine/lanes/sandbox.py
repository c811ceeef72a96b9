"""The sandbox lane: programs to a host in another process, so many at a time, in the order in which they came."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import asdict
from typing import Any

from rewarden.errors import InternalError, InvalidRequest, InvalidSample, Overloaded, SandboxError, Unavailable
from rewarden.types import Limits, Run, RunResult
from rewarden.wire.json import content_bytes
from rewarden_sandboxes import client as hosts
from rewarden_sandboxes import job as host
from rewarden_sandboxes.checks import check_job
from rewarden_sandboxes.client import HostClient
from rewarden_sandboxes.errors import BadJob, Busy, HostError, HostLost, NoRoom
from rewarden_sandboxes.settings import default_slots
from rewarden_server.engine.observer import Observer
from rewarden_server.engine.settings import LeanSettings, SandboxSettings
from rewarden_server.host_process import HostProcess, tls_of
from rewarden_verifiers import programs

_TRIES = 2
"""How often a job is begun when hosts are lost under it: one that kills its host must not be tried for ever."""

_BUSY_TRIES = 8
_BUSY_S = 0.1

_STATUS_S = 1.0
"""Seconds for which what the host said of itself is good: probes come often."""

_STATUS_PATIENCE_S = 2.0


class SandboxLane:
    """A `rewarden_verifiers.programs.Sandbox`. Used on one loop."""

    def __init__(self, settings: SandboxSettings, observer: Observer, lean: LeanSettings | None = None) -> None:
        self.settings = settings
        self._observer = observer
        self._process = (
            HostProcess(settings, lean) if settings.address is None and settings.launcher != "none" else None
        )
        self._remote: HostClient | None = None
        self._room = asyncio.Semaphore(settings.in_flight or 4 * (settings.slots or default_slots()))
        self._closed = False
        self._asked = 0.0
        self._status: dict[str, Any] = {}
        self._asking = asyncio.Lock()
        self.waiting = 0
        self.under_way = 0

    def start(self) -> None:
        """Begin to start the host, where it is ours to start; returns at once. Otherwise the first job does."""
        if self._process is not None:
            self._process.start()
            self._status = {}

    async def close(self) -> None:
        """End the host, if it is ours. What runs there is killed, and whoever waits for it gets SandboxError."""
        self._closed = True
        if self._process is not None:
            await self._process.close()
        if self._remote is not None:
            await self._remote.close()

    # --- jobs of verifiers --------------------------------------------------------------------------------------

    async def run(self, job: programs.Job) -> AsyncGenerator[programs.CompileResult | programs.CaseResult, None]:
        """See `rewarden_verifiers.programs.Sandbox`."""
        try:
            async with aclosing(self._events(_job(job), patient=True)) as events:
                async for event in events:
                    yield _event(event)
        except BadJob as error:
            raise InvalidSample(f"{error.path or 'the job'}: {error.message}", path=error.path) from None
        except HostError as error:
            raise SandboxError(error.message) from None

    # --- sessions -----------------------------------------------------------------------------------------------

    async def session(self, program: programs.Program) -> Session:
        """Begin a program that is fed and read while it runs. Whoever has it closes it. It waits where the host's
        sessions are all taken. Raises InvalidSample, SandboxError.
        """
        lost = 0
        try:
            while True:
                client = await self._client(self.settings.start_s)
                try:
                    return Session(await client.session(_program(program)))
                except HostLost:
                    lost += 1
                    if lost >= _TRIES or self._closed:
                        raise
                    await self._until_back(client, patient=True)
        except BadJob as error:
            raise InvalidSample(f"{error.path or 'the program'}: {error.message}", path=error.path) from None
        except HostError as error:
            raise SandboxError(error.message) from None

    # --- single runs --------------------------------------------------------------------------------------------

    async def run_program(self, run: Run) -> RunResult:
        """How a program ended. Raises InvalidRequest, Overloaded, Unavailable, InternalError."""
        job = _job_of_run(run)
        try:
            check_job(job)  # before it waits for anything
        except BadJob as error:
            raise _invalid(error) from None
        if self.waiting >= self.settings.max_waiting:
            raise Overloaded(
                f"{self.waiting} runs wait for the sandbox already (sandbox.max_waiting)", retry_after_s=1.0
            )
        compiled: RunResult | None = None
        ended: RunResult | None = None
        try:
            async with aclosing(self._events(job, patient=False)) as events:
                async for event in events:  # to its end: to leave earlier would be to cancel the job
                    if isinstance(event, host.CaseResult):
                        ended = _result(event.program, compiled)
                    else:
                        compiled = _result(event.report, None)
        except BadJob as error:
            raise _invalid(error) from None
        except Busy as error:
            raise Overloaded(error.message, retry_after_s=1.0) from None
        except (NoRoom, HostLost) as error:
            raise Unavailable(f"nothing can run here now: {error.message}", retry_after_s=1.0) from None
        except HostError as error:
            raise InternalError(f"the sandbox host broke: {error.message}") from None
        if ended is not None:
            return ended
        if compiled is None:
            raise InternalError("the sandbox host told nothing of the program")
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
        """JSON-ready: `state` (`off`, `idle`: not started, `starting`, `ready`, `missing`), `reason` in words where
        nothing can run, what waits here, and what the host says of itself. At most a second old; never raises.
        """
        async with self._asking:
            if not self._status or time.monotonic() - self._asked > _STATUS_S:
                self._status = await self._ask()
                self._asked = time.monotonic()
        return {**self._status, "in_flight": self.under_way, "waiting_here": self.waiting}

    async def _ask(self) -> dict[str, Any]:
        if self._process is None and self.settings.address is None:
            return {"state": "off", "reason": "sandbox.launcher is none"}
        if self._process is not None and not self._process.started:
            return {"state": "idle", "reason": None}
        if self._process is not None and not self._process.answers:
            problem = self._process.problem
            return {"state": "missing" if problem else "starting", "reason": problem or "the sandbox host starts"}
        try:
            client = await self._client(0.0)
            told = await client.status(timeout_s=_STATUS_PATIENCE_S)
        except HostError as error:
            return {"state": "missing", "reason": error.message}
        return {"state": "ready" if told.get("ready") else "missing", "reason": told.get("reason"), "host": told}

    async def _client(self, patience_s: float) -> HostClient:
        if self._closed:
            raise HostLost("the server stops")
        if self._process is not None:
            return await self._process.client(patience_s)
        if self.settings.address is None:
            raise NoRoom("there is no sandbox here: sandbox.launcher is none")
        if self._remote is None:
            self._remote = HostClient(self.settings.address, tls_of(self.settings))
        return self._remote

    async def _events(self, job: host.Job, *, patient: bool) -> AsyncGenerator[host.JobEvent, None]:
        """A job's events, over more than one host where one is lost. Raises HostError.

        patient: wait where the host has too much to do (it may have other servers).
        """
        seen = lost = busy = 0
        async with self._turn():
            while True:
                client = await self._client(self.settings.start_s)
                count = 0
                try:
                    async with aclosing(client.run(job)) as events:
                        async for event in events:
                            count += 1
                            if count > seen:  # of a job that began anew, only what its first host did not tell
                                seen = count
                                self._count(job, event)
                                yield event
                    return
                except HostLost:
                    lost += 1
                    if lost >= _TRIES or self._closed:
                        raise
                    await self._until_back(client, patient=patient)
                except Busy:
                    busy += 1
                    if not patient or busy >= _BUSY_TRIES:
                        raise
                    await asyncio.sleep(_BUSY_S * 2**busy)

    async def _until_back(self, client: HostClient, *, patient: bool) -> None:
        """Wait until a host that was lost may be asked again."""
        if self._process is not None:
            await self._process.until_left(client)
        elif patient:
            await client.until_reachable(self.settings.start_s)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """A place among those that are under way; first come, first served."""
        self.waiting += 1
        try:
            await self._room.acquire()
        finally:
            self.waiting -= 1
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1
            self._room.release()

    def _count(self, job: host.Job, event: host.JobEvent) -> None:
        report = event.program if isinstance(event, host.CaseResult) else event.report
        if isinstance(event, host.CaseResult) or report.status != "ok":
            self._observer.program_ended(job.program.language, report.status, report.wall_time)


class Session:
    """A program in a locked room, fed and read while it runs: for as long as whoever has it wants, with the memory and
    processes of its limits. It ends with the program, with `close`, and with this server. Each method may be awaited by
    one task at a time.
    """

    def __init__(self, session: hosts.Session) -> None:
        self._session = session

    @property
    def report(self) -> host.Report | None:
        """How the program ended, once `receive` has given nothing; of its stderr the tail."""
        return self._session.report

    async def send(self, data: bytes) -> None:
        """Feed its stdin; waits while it reads nothing and 1 MiB is under way. Raises SandboxError when it ended."""
        with _said_as_ours():
            await self._session.send(data)

    async def receive(self) -> bytes:
        """Some bytes of its stdout as they come; none when it has ended. A program that writes more than 1 MiB that
        nobody has received is held back. Raises SandboxError when the session was lost or closed.
        """
        with _said_as_ours():
            return await self._session.receive()

    async def clock(self) -> host.Clock:
        """What it has used so far. Raises SandboxError when the session was lost or closed."""
        with _said_as_ours():
            return await self._session.clock()

    async def close(self) -> None:
        """Kill all that lives in its room. Twice is once."""
        await self._session.close()


@contextmanager
def _said_as_ours() -> Iterator[None]:
    try:
        yield
    except HostError as error:
        raise SandboxError(error.message) from None


# --- the verifiers' types and the host's -------------------------------------------------------------------------


def _job(job: programs.Job) -> host.Job:
    return host.Job(
        program=_program(job.program),
        cases=[_case(case) for case in job.cases],
        partner=_program(job.partner) if job.partner is not None else None,
        join=job.join,
        compile_limits=_limits(job.compile_limits),
        collect=job.collect,
    )


def _program(program: programs.Program) -> host.Program:
    return host.Program(
        language=program.language,
        # Half a surrogate pair is the model's own doing: its compiler or interpreter says so.
        code=program.code.encode("utf-8", "surrogatepass"),
        files=program.files,
        args=program.args,
        mode=program.mode,
        limits=_limits(program.limits),
    )


def _case(case: programs.Case) -> host.Case:
    return host.Case(
        stdin=case.stdin,
        request=case.request,
        files=case.files,
        args=case.args,
        limits=_limits(case.limits),
        partner_stdin=case.partner_stdin,
        partner_request=case.partner_request,
        partner_files=case.partner_files,
        partner_args=case.partner_args,
    )


_NO_LIMITS = Limits()
_NO_HOST_LIMITS = host.Limits()


def _limits(limits: Limits) -> host.Limits:
    return _NO_HOST_LIMITS if limits == _NO_LIMITS else host.Limits(**asdict(limits))


def _event(event: host.JobEvent) -> programs.CompileResult | programs.CaseResult:
    if isinstance(event, host.CompileResult):
        return programs.CompileResult(report=_report(event.report), who=event.who)
    return programs.CaseResult(
        index=event.index,
        program=_report(event.program),
        partner=_report(event.partner) if event.partner is not None else None,
    )


def _report(report: host.Report) -> programs.Report:
    return programs.Report(
        status=report.status,
        limit=report.limit,
        exit_code=report.exit_code,
        signal=report.signal,
        stdout=report.stdout,
        stderr=report.stderr,
        reply=report.reply,
        cpu_time=report.cpu_time,
        wall_time=report.wall_time,
        idle_time=report.idle_time,
        peak_memory=report.peak_memory,
        truncated=report.truncated,
        files=report.files,
        enforced=report.enforced,
        flags=report.flags,
        message=report.message,
    )


# --- the wire's types and the host's -----------------------------------------------------------------------------


def _job_of_run(run: Run) -> host.Job:
    return host.Job(
        program=host.Program(
            language=run.language,
            code=run.code.encode("utf-8", "surrogatepass"),
            files={path: content_bytes(content) for path, content in run.files.items()},
            args=run.args,
            limits=_limits(run.limits),
        ),
        cases=(host.Case(stdin=content_bytes(run.stdin)),),
    )


def _invalid(error: BadJob) -> InvalidRequest:
    """The fault under the name that the field has in a run: `program.files['../x']` is `files['../x']`."""
    path = error.path.removeprefix("program.").removeprefix("cases[0].")
    return InvalidRequest(f"{path or 'the program'}: {error.message}", path=path)


def _result(report: host.Report, compiled: RunResult | None) -> RunResult:
    stdout, stdout_base64 = _text(report.stdout)
    stderr, stderr_base64 = _text(report.stderr)
    return RunResult(
        status=report.status,
        limit=report.limit,
        exit_code=report.exit_code,
        signal=report.signal,
        stdout=stdout,
        stderr=stderr,
        stdout_base64=stdout_base64,
        stderr_base64=stderr_base64,
        cpu_time=report.cpu_time,
        wall_time=report.wall_time,
        peak_memory=report.peak_memory,
        truncated=report.truncated,
        enforced=report.enforced,
        flags=tuple(report.flags),
        message=report.message,
        compile=compiled,
    )


def _text(data: bytes) -> tuple[str, str | None]:
    try:
        return data.decode(), None
    except UnicodeDecodeError:
        return data.decode(errors="replace"), base64.b64encode(data).decode()
