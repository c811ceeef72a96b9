"""One `lean --worker`: a process that has loaded a header of imports and elaborates one text after another under it.

We use it as an editor does: the document is opened with only the header, and each text is then an edit. An edit with
the same header does not import again, and does not elaborate leading commands again that are the same as in the
previous text. Messages on a version arrive in pieces, all before the answer to `waitForDiagnostics`. The next edit
cancels most elaborations that hang, but releases no memory; only ending the process certainly ends them.

The process has run a model's text, so none of its output is trusted, and every wait has a limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from rewarden.errors import SandboxError
from rewarden_sandboxes.job import Clock, Report
from rewarden_server.lean.framing import FrameReader, Nonsense, frame
from rewarden_server.lean.protocol import (
    FATAL,
    NULL,
    Diagnostic,
    Incoming,
    PlainGoal,
    PlainTermGoal,
    Progress,
    Published,
)
from rewarden_server.lean.protocol import read as read_as
from rewarden_verifiers.provers import CheckStatus

URI = "untitled:Main"
"""A document that is not a file, so that no build tool is asked how to set it up."""

_MOST_HEARD = 128 * 1024**2
"""The maximum number of bytes that a process can send about a text, most of which is not kept (progress, names)."""

_SHORTEST_S = 0.02
_LONGEST_S = 0.25
"""Seconds between two readings of the clock: short at first, so that a small limit is kept precisely."""

_LAST_WORDS_S = 10.0
"""Seconds for a session that has ended to report how it ended."""

_STARVED = 20.0
_STARVED_S = 120.0
"""The multiple of both limits, and the seconds added to it, after which a text that has neither ended nor reached a
limit was starved of CPU time."""


class Session(Protocol):
    """The operations of a room that a process needs; see `rewarden_server.engine.lanes.sandbox.Session`."""

    @property
    def report(self) -> Report | None:
        """Returns how it ended, or None while it runs."""

    @property
    def host_lost(self) -> bool:
        """Returns whether it ended because its host was lost or is about to exit."""

    async def send(self, data: bytes) -> None:
        """Writes bytes to stdin."""

    async def receive(self) -> bytes:
        """Returns bytes of stdout; none when it has ended."""

    async def clock(self) -> Clock:
        """Returns the time and memory used so far."""

    async def close(self) -> None:
        """Kills everything."""


class Ended(Exception):
    """The process has ended, or must be ended: it died, sent invalid data, or reached a limit."""

    def __init__(self, status: CheckStatus, why: str, limit: str | None = None) -> None:
        super().__init__(why)
        self.status: CheckStatus = status
        self.limit = limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The limits of one text. output_bytes: of messages, as the process writes them."""

    cpu_s: float
    wall_s: float
    output_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The time that a text has used. wall_s: including idle time."""

    cpu_s: float
    wall_s: float


Ask = tuple[Literal["tactic", "term"], int, int]
"""A request for a goal: its kind, and its place (line from 0, UTF-16 units) in the sent text."""

Goals = PlainGoal | PlainTermGoal | None


Result = TypeVar("Result")


class Process:
    """A worker over a session. It processes one text at a time. A caller that gets `Ended` or leaves midway must close
    it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._reader = FrameReader(_MOST_HEARD)
        self._bodies: list[bytes] = []
        self._heard = 0
        self._kept = 0
        self._most_kept = 0
        self._version = 0
        self._asked = 0
        self._clock = Clock(cpu_s=0.0, idle_s=0.0)
        self.diagnostics: list[Diagnostic] = []
        self.texts = 0
        self.fatal = False
        self.spent = self.loading = Spent(cpu_s=0.0, wall_s=0.0)

    @property
    def memory(self) -> int | None:
        """Its memory in bytes after its last text, if known."""
        return self._clock.memory

    @property
    def host_lost(self) -> bool:
        """Returns whether it ended because its host was lost or is about to exit."""
        return self._session.host_lost

    async def open(self, header: str, bounds: Bounds) -> None:
        """Loads a header. Afterwards `fatal` tells whether loading failed, and `diagnostics` why.

        Raises Ended, SandboxError.
        """
        initialize = {
            "id": 0,
            "method": "initialize",
            "params": {
                "processId": None,
                "rootUri": None,
                # Otherwise each new message is sent with all earlier ones, which is quadratic in the number of
                # messages.
                "capabilities": {"lean": {"incrementalDiagnosticSupport": True}},
            },
        }
        document = {"uri": URI, "languageId": "lean4", "version": 0, "text": f"{header}\n"}
        opening = {"method": "textDocument/didOpen", "params": {"textDocument": document}}
        await self._bounded(self._turn([initialize, opening]), bounds)
        self.loading = self.spent

    async def elaborate(self, text: str, bounds: Bounds, asks: Sequence[Ask] = ()) -> list[Goals]:
        """Makes this text the document, and returns the answers to `asks`. `diagnostics` contains its messages and
        `spent` its usage, even if Ended is raised.

        Raises Ended, SandboxError.
        """
        self.texts += 1
        self._version += 1
        document = {"uri": URI, "version": self._version}
        edit = {
            "method": "textDocument/didChange",
            "params": {"textDocument": document, "contentChanges": [{"text": text}]},
        }
        return await self._bounded(self._turn([edit], asks), bounds)

    async def close(self) -> None:
        """Kills the process. Closing twice has no effect."""
        await self._session.close()

    # --- limits -------------------------------------------------------------------------------------------------

    async def _bounded(self, work: Coroutine[Any, Any, Result], bounds: Bounds) -> Result:
        """Runs the work within the limits. Raises Ended if it exceeds them."""
        self._heard = self._kept = 0
        self._most_kept = bounds.output_bytes
        self.diagnostics = []
        self.spent = Spent(cpu_s=0.0, wall_s=0.0)
        before = self._clock  # it has used nothing since, but time has passed
        started = time.monotonic()
        patience = _STARVED_S + _STARVED * (bounds.cpu_s + bounds.wall_s)
        idle_before: float | None = None
        pause = _SHORTEST_S
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait((task,), timeout=pause))[0]:
                pause = min(1.5 * pause, _LONGEST_S)
                now = await self._look(task)
                if now is None:
                    break
                idle_before = now.idle_s if idle_before is None else idle_before
                self._charge(now, before, started)
                _hold(self.spent.cpu_s, now.idle_s - idle_before, bounds)
                if time.monotonic() - started > patience:
                    raise SandboxError("the host did not let a Lean process run")
            result = await task
        finally:
            self._charge(self._clock, before, started)
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        try:
            self._clock = await self._now()
        except SandboxError:
            raise await self._death() from None
        self._charge(self._clock, before, started)
        _hold(self.spent.cpu_s, 0.0, bounds)  # the result must not depend on the time of a reading
        return result

    def _charge(self, now: Clock, before: Clock, started: float) -> None:
        self.spent = Spent(
            cpu_s=max(0.0, now.cpu_s - before.cpu_s, self.spent.cpu_s), wall_s=time.monotonic() - started
        )

    async def _look(self, task: asyncio.Future[Any]) -> Clock | None:
        """Returns the clock; None if the session has ended meanwhile, which the task reports."""
        try:
            return await self._now()
        except SandboxError:
            if not (await asyncio.wait((task,), timeout=_LAST_WORDS_S))[0]:
                raise
            return None

    async def _now(self) -> Clock:
        try:
            async with asyncio.timeout(_LAST_WORDS_S):
                return await self._session.clock()
        except TimeoutError:
            raise SandboxError("the clock of a Lean process's room does not answer") from None

    # --- talk ---------------------------------------------------------------------------------------------------

    async def _turn(self, notes: list[dict[str, Any]], asks: Sequence[Ask] = ()) -> list[Goals]:
        """Sends notes, waits for all messages on the version, then requests goals one by one."""
        wait = {"uri": URI, "version": self._version}
        try:
            await self._answer("textDocument/waitForDiagnostics", wait, *notes)
            return [await self._goals(*ask) for ask in asks]
        except Nonsense as error:
            raise Ended("crashed", f"the Lean process sent an invalid message: {error}") from None

    async def _goals(self, kind: Literal["tactic", "term"], line: int, units: int) -> Goals:
        place = {"textDocument": {"uri": URI}, "position": {"line": line, "character": units}}
        if kind == "tactic":
            tactic = await self._answer("$/lean/plainGoal", place)
            return read_as(tactic, PlainGoal) if bytes(tactic) != bytes(NULL) else None
        term = await self._answer("$/lean/plainTermGoal", place)
        return read_as(term, PlainTermGoal) if bytes(term) != bytes(NULL) else None

    async def _answer(self, method: str, params: dict[str, Any], *notes: dict[str, Any]) -> msgspec.Raw:
        """Returns the answer to a request, sent after notes; null if it is an error."""
        self._asked += 1
        asked = self._asked
        request = {"id": asked, "method": method, "params": params}
        await self._send(b"".join(frame(message) for message in (*notes, request)))
        while True:
            incoming = await self._next()
            if incoming.method is not None:
                self._note(incoming)  # its requests (`workspace/…/refresh`) need no answer
            elif incoming.id != asked or isinstance(incoming.id, bool):
                raise Nonsense("an answer without a request")
            elif bytes(incoming.error) != bytes(NULL):
                if method == "textDocument/waitForDiagnostics":
                    raise Nonsense("it does not report when it is done")
                return NULL
            else:
                return incoming.result

    def _note(self, incoming: Incoming) -> None:
        if incoming.method == "textDocument/publishDiagnostics":
            published = read_as(incoming.params, Published)
            if published.version != self._version:
                return  # about the previous text
            if not published.isIncremental:
                self.diagnostics.clear()
                self._kept = 0
            self._kept += len(bytes(incoming.params))
            if self._kept > self._most_kept:
                left = self._most_kept - self._kept + len(bytes(incoming.params))
                self.diagnostics += _first(published.diagnostics, left)
            self._limit_output(self._kept, self._most_kept)
            self.diagnostics += published.diagnostics
        elif incoming.method == "$/lean/fileProgress" and self.texts == 0:
            progress = read_as(incoming.params, Progress)
            self.fatal = self.fatal or any(stretch.kind == FATAL for stretch in progress.processing)

    def _limit_output(self, size: int, most: int) -> None:
        if size > most:
            raise Ended("output_limit", f"the Lean process wrote over {most} bytes", "output_bytes")

    async def _next(self) -> Incoming:
        while not self._bodies:
            data = await self._session.receive()
            if not data:
                raise await self._death()
            self._heard += len(data)
            self._limit_output(self._heard, _MOST_HEARD)
            self._bodies = list(self._reader.feed(data))
            self._bodies.reverse()
        return read_as(self._bodies.pop(), Incoming)

    async def _send(self, data: bytes) -> None:
        try:
            await self._session.send(data)
        except SandboxError:
            raise await self._death() from None

    async def _death(self) -> Ended | SandboxError:
        """Returns the error for the end of the session, however it was noticed."""
        if self._session.report is None:
            with contextlib.suppress(SandboxError, TimeoutError):
                async with asyncio.timeout(_LAST_WORDS_S):
                    while await self._session.receive():
                        pass
        report = self._session.report
        if report is None or report.status == "internal_error":
            why = "no details" if report is None else report.message or "no reason given"
            return SandboxError(f"a Lean process's room was lost: {why}")
        if report.status == "memory_limit":
            return Ended("memory_limit", "the Lean process reached its memory limit", "memory_mb")
        words = report.stderr[-400:].decode(errors="replace").strip()
        how = f"{report.status}, exit code {report.exit_code}, signal {report.signal}"
        return Ended("crashed", f"the Lean process exited: {how}: {words}")


def _first(diagnostics: list[Diagnostic], size: int) -> list[Diagnostic]:
    """Returns as many diagnostics as fit into `size` bytes."""
    ends = accumulate(len(each.message) for each in diagnostics)
    return [each for each, end in zip(diagnostics, ends, strict=True) if end <= size]


def _hold(cpu_s: float, idle_s: float, bounds: Bounds) -> None:
    if cpu_s > bounds.cpu_s:
        raise Ended("time_limit", f"over {bounds.cpu_s:g} s of CPU", "cpu_s")
    if idle_s > bounds.wall_s:
        raise Ended("time_limit", f"idle for over {bounds.wall_s:g} s", "wall_s")
