"""The sandbox host: accepts jobs, assigns them slots and CPU permits, and repeats runs whose slot was lost.

job → resolve (language, limits, image) → compile cache → pool (a slot) → permits (a CPU) → slot (frames) → events
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import math
import os
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from rewarden_sandboxes import cgroups, socket_folder
from rewarden_sandboxes.agent import frames
from rewarden_sandboxes.agent.accounting import SLACK_MB
from rewarden_sandboxes.box import BoxSpec, is_own
from rewarden_sandboxes.compile_cache import CompileCache, Compiled
from rewarden_sandboxes.cpu_permits import CpuPermit, CpuPermits
from rewarden_sandboxes.errors import BadJob, Busy, HostError, Leaving, NoRoom
from rewarden_sandboxes.job import CaseResult, Clock, CompileResult, Job, JobEvent, Program, Report
from rewarden_sandboxes.languages import Language, Registry, UnknownLanguage, version_line, version_of
from rewarden_sandboxes.launchers.bwrap import BwrapLauncher
from rewarden_sandboxes.launchers.docker import DockerLauncher
from rewarden_sandboxes.launchers.launcher import Launcher, build_command
from rewarden_sandboxes.lean import languages_of
from rewarden_sandboxes.network.proxy import ENVIRONMENT, PORT, Door, NetworkProxy
from rewarden_sandboxes.open_box import OpenBox
from rewarden_sandboxes.pool import Pool
from rewarden_sandboxes.reading import report_of
from rewarden_sandboxes.resolve import Compilation, Ready, Resolver
from rewarden_sandboxes.session import Begun, Feed, SessionEvent
from rewarden_sandboxes.settings import HostSettings
from rewarden_sandboxes.slot import Slot, SlotBroken, SlotLost, words_of

VERSION = next((item.version for item in metadata.distributions(name="rewarden-server")), "unknown")
"""The version of this host's package, which it reports to servers: the hosts of one server should have the same."""

FIRST_IMAGE = "python"
"""The image whose slots are warm from the start."""

_CLASSES_MB = (512, 1024, 2048, 4096)
_TEND_S = 2.0
_IMAGES_S = 10.0
_OTHERS_S = 0.3
_SETTLING_S = 0.2
_SPLIT_CASES = 4
"""The fewest cases for which a job is split between two slots, if a CPU is free and nothing must be compiled twice."""

_TRIAL = Job(program=Program(language="python", code=b"print('room')"))
"""A program that every room can run."""

_AHEAD_BYTES = 64 * 1024**2
"""The most bytes of output of a job's second half that are buffered until the first half is delivered."""


class Kind(NamedTuple):
    """The properties that interchangeable slots share. memory_mb: the largest memory limit of a run. fed: for sessions.
    kept: for boxes. processes: of all programs of a slot together, where the kernel counts them only so.
    """

    image: str
    mounts: tuple[tuple[str, str], ...] = ()
    memory_mb: int = 0
    fed: bool = False
    kept: bool = False
    processes: int = 0

    def __str__(self) -> str:
        """Returns a unique name, which reveals no folder of the machine."""
        words = [self.image, *([str(self.memory_mb)] if self.memory_mb else []), *(["sessions"] if self.fed else [])]
        words += ["boxes"] if self.kept else []
        words += [f"{self.processes}-processes"] if self.processes else []
        if self.mounts:
            words.append("mounts-" + hashlib.blake2b(json.dumps(self.mounts).encode(), digest_size=4).hexdigest())
        return "/".join(words)


class Host:
    """See the module. Created and used on one event loop."""

    def __init__(self, settings: HostSettings) -> None:
        """Raises LanguageError for an invalid file of languages."""
        self.settings = settings
        extra = Path(settings.languages) if settings.languages is not None else None
        self.registry = Registry.load(extra, languages_of(settings.lean, settings.lean_memory_mb))
        self._resolver = Resolver(self.registry, settings)
        self._tokens = CpuPermits(settings.cpu_permits)
        self._compiled = CompileCache(settings.compile_cache_mb << 20)
        self._launcher: Launcher | None = None
        self._problem: str | None = "the host has not started"
        self._pools: dict[Kind, Pool] = {}
        self._sessions = asyncio.Semaphore(settings.sessions)
        self._open_sessions = 0
        self._boxes = asyncio.Semaphore(settings.boxes)
        self._open_boxes: set[OpenBox] = set()
        self._proxy = NetworkProxy(settings) if settings.network else None
        # A row may allow more than a job may ask for, and its slots need room for that.
        rows = (limits.processes or 0 for row in self.registry for limits in (row.limits, row.compile_limits))
        self._processes = max(settings.max_limits.processes or 512, *rows)
        self._starts = asyncio.Semaphore(max(2, settings.warm))
        self._place: socket_folder.SocketFolder | None = None
        self._rooms = settings.rooms != "no"
        self._known = asyncio.Event()
        self._any_size = os.geteuid() == 0 and cgroups.version() > 0
        self._waiting = 0
        self._runs: Counter[str] = Counter()
        self._versions: dict[tuple[str, str], str] = {}
        self._tending: asyncio.Task[None] | None = None
        self._finding: asyncio.Task[None] | None = None
        self._images: dict[str, str] = {}
        self._images_at = -math.inf
        self._asking: asyncio.Task[None] | None = None
        self._leaving = False
        self._closed = False

    # --- life ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Choose the launcher and start to warm slots. If no launcher works, the host runs and refuses jobs with the
        reason.
        """
        await self._choose()
        self._tending = asyncio.get_running_loop().create_task(self._tend())

    async def _choose(self) -> None:
        problems = []
        wanted = self.settings.launcher
        try:
            if self._place is None:
                base = Path(self.settings.folder or tempfile.gettempdir())
                self._place = socket_folder.SocketFolder(base)
                # A host that is killed and restarted repeatedly leaves a folder each time.
                socket_folder.clean(base)
        except OSError as error:
            self._problem = f"no folder for the slots' sockets: {words_of(error)}"
            return
        if wanted == "none":
            self._problem = 'the sandbox is switched off (sandbox.launcher = "none")'
            return
        for kind in (DockerLauncher, BwrapLauncher):
            if wanted not in ("auto", kind.name):
                continue
            launcher: Launcher = kind(self.settings)
            problem = await launcher.problem(FIRST_IMAGE)
            if problem is None or wanted != "auto":
                # Wait for a launcher that was chosen by name: an engine may come back.
                self._launcher, self._problem = launcher, problem
                break
            launcher.close()
            problems.append(f"{launcher.name}: {problem}")
        else:
            self._problem = "; ".join(problems)
        if self._launcher is not None and self._problem is None:
            self._begin_rooms()

    def _begin_rooms(self) -> None:
        self._first_pool().grow()
        if self._finding is None:
            self._finding = asyncio.get_running_loop().create_task(self._find_rooms())

    async def _find_rooms(self) -> None:
        """Find out whether slots can make rooms on this machine, by making one. Jobs wait for the answer."""
        pool = self._first_pool()
        while not self._known.is_set():
            try:
                slot = await pool.acquire(frozenset(), self.settings.queue_timeout_s)
                try:
                    report = await self._try(slot, _TRIAL)
                finally:
                    pool.release(slot)
            except HostError:
                await asyncio.sleep(0.5)  # the pool has the reason, and keeps trying
                continue
            if report is None or report.status != "internal_error":
                self._problem = None
                self._known.set()
                return
            self._problem = (
                f"a slot cannot run programs ({report.message}); user namespaces may be restricted here: "
                "sysctl kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0"
            )
            if self.settings.rooms == "auto" and self._rooms:
                self._rooms = False
                await pool.close()
                self._pools.clear()
                pool = self._first_pool()
                pool.grow()
            else:
                await asyncio.sleep(_TEND_S)

    async def _try(self, slot: Slot, job: Job) -> Report | None:
        ready = self._resolver.ready(job)
        report = None
        async with aclosing(slot.run(ready.header, ready.body, ready.pace_s, lambda _: None)) as answers:
            async for header, body in answers:
                if header["ev"] == "broken":
                    return Report(status="internal_error", message=str(header.get("message")))
                if header["ev"] == "case":
                    report = report_of(header["program"], body, slot.enforced)
        return report

    def _first_pool(self) -> Pool:
        return self._pool(Kind(FIRST_IMAGE, memory_mb=self._class(self.settings.limits.memory_mb or 512)))

    def leave(self) -> None:
        """Note that the host is about to end. From now on no program is blamed for a slot that dies, because the slots
        may be killed together with the host.
        """
        self._leaving = True

    async def close(self) -> None:
        """End every slot, and remove the host's files. Idempotent."""
        if self._closed:
            return
        self._closed = True
        for task in (self._tending, self._finding, self._asking):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await asyncio.gather(*(pool.close() for pool in self._pools.values()))
        if self._proxy is not None:
            self._proxy.close()
        if self._launcher is not None:
            self._launcher.close()
        if self._place is not None:
            self._place.remove()

    async def _tend(self) -> None:
        while True:
            await asyncio.sleep(_TEND_S)
            if self._problem is not None and self.settings.launcher != "none" and self._finding is None:
                if self._launcher is None:
                    await self._choose()
                else:
                    self._problem = await self._launcher.problem(FIRST_IMAGE)
                    if self._problem is None:
                        self._begin_rooms()
            for kind, pool in list(self._pools.items()):
                pool.tend()
                if is_own(kind.image) and pool.empty:
                    del self._pools[kind]

    # --- jobs ------------------------------------------------------------------------------------------------------

    async def run(self, job: Job) -> AsyncGenerator[JobEvent, None]:
        """Run a job. Yields its results. Closing the iterator early kills its programs. Raises BadJob, NoRoom, Busy."""
        await self._settled(job.patience_s or self.settings.queue_timeout_s)
        if not self._rooms:
            way = self._alone(job)
        elif len(job.cases) >= _SPLIT_CASES and self._tokens.free > 1 and not self._must_compile(job):
            way = self._shared(job)
        else:
            way = self._whole(job)
        async with aclosing(way):
            async for event in way:
                yield event

    def _must_compile(self, job: Job) -> bool:
        """Returns whether a program of the job is not compiled yet: two slots then compile it twice. Raises BadJob."""
        programs = [job.program, *([job.partner] if job.partner is not None else [])]
        try:
            if not any(self.registry.get(program.language).compile for program in programs):
                return False
        except UnknownLanguage:
            return False  # reported when the job is resolved
        ready = self._resolver.ready(job)
        keys = _keys(ready, self._pool(self._kind(ready)).image_id)
        return len(keys) < len(ready.compilations) or not all(key in self._compiled for key in keys.values())

    async def _shared(self, job: Job) -> AsyncGenerator[JobEvent, None]:
        """Run the first half of the cases in one slot and the second in another, concurrently. Yields results in order.
        The second half runs ahead only while its output fits into `_AHEAD_BYTES`; the rest runs after the first half.
        """
        middle = (len(job.cases) + 1) // 2
        later: asyncio.Queue[CaseResult | None] = asyncio.Queue()
        held = 0

        async def second() -> None:
            nonlocal held
            try:
                async with aclosing(self._whole(replace(job, cases=job.cases[middle:]))) as events:
                    async for event in events:
                        if isinstance(event, CompileResult):
                            continue  # the first half yields the same one
                        later.put_nowait(event)
                        held += _size(event)
                        if held > _AHEAD_BYTES:
                            # Attack: a program that prints as much as it may in each case, to fill the host's memory.
                            # Give up the slot instead of waiting in it: the first half may need it, or its CPU.
                            return
            finally:
                later.put_nowait(None)

        task = asyncio.get_running_loop().create_task(second())
        try:
            async with aclosing(self._whole(replace(job, cases=job.cases[:middle]))) as events:
                async for event in events:
                    yield event
                    if isinstance(event, CompileResult) and event.report.status != "ok":
                        return  # the compiled program is gone and cannot be made again
            done = middle
            while (told := await later.get()) is not None:
                held -= _size(told)
                done += 1
                yield _at(told, middle)
            await task
            if done < len(job.cases):
                async with aclosing(self._whole(replace(job, cases=job.cases[done:]))) as events:
                    async for event in events:
                        if isinstance(event, CaseResult):
                            yield _at(event, done)
                        elif event.report.status != "ok":
                            yield event
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _whole(self, job: Job) -> AsyncGenerator[JobEvent, None]:
        """Run the cases in order, in one slot as long as it lives."""
        done = 0
        lost: list[SlotLost] = []
        losses = self._losses()
        compiled = False
        while True:
            first = done
            ready = self._resolver.ready(job, first)
            try:
                async with aclosing(self._attempt(ready, job)) as events:
                    async for event in events:
                        if isinstance(event, CaseResult):
                            event = _at(event, first)
                            done = event.index + 1
                            lost, losses = [], self._losses()
                        elif compiled and event.report.status == "ok":
                            continue
                        else:
                            compiled = event.report.status == "ok"
                        yield event
                return
            except SlotLost as error:
                if self._leaving:
                    raise Leaving("a slot was lost while the sandbox host ended") from None
                lost.append(error)
                if len(lost) < 2:
                    continue
                # Another cause than this run also kills other slots at about the same time.
                await asyncio.sleep(_OTHERS_S)
                for pool in self._pools.values():
                    pool.tend()
                if self._leaving:  # the slots may have been killed just before the host is told to end
                    raise Leaving("two slots were lost while the sandbox host ended") from None
                others = self._losses() - losses - (len(lost) if self._rooms else 0)
                begun = not any(isinstance(each, SlotBroken) for each in lost)
                if not begun or others > 0 or done >= len(job.cases):
                    raise NoRoom(f"two slots were lost: {error.message}") from None
                # Only the slots of this run died, both times: killing the slot must not pay off.
                yield CaseResult(index=done, program=_killed(error), partner=None)
                done += 1
                lost, losses = [], self._losses()
                if done >= len(job.cases):
                    return

    async def _settled(self, patience_s: float) -> None:
        """Wait until it is known whether slots can make rooms. The wait is always bounded: there is no queue."""
        if self._known.is_set():
            return
        if self._finding is None:
            raise NoRoom(self._problem or "this machine has no sandbox")
        try:
            async with asyncio.timeout(patience_s if patience_s < math.inf else self.settings.queue_timeout_s):
                while not self._known.is_set():
                    if any(pool.hopeless for pool in self._pools.values()):
                        raise NoRoom(self._reason() or "no slot can be started")
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._known.wait(), _SETTLING_S)
        except TimeoutError:
            raise NoRoom(self._reason() or "the first slot is still starting") from None

    def _reason(self) -> str | None:
        return self._problem or next((pool.problem for pool in self._pools.values() if pool.problem), None)

    async def _attempt(self, ready: Ready, job: Job) -> AsyncGenerator[JobEvent, None]:
        if self._waiting >= self.settings.queue:
            raise Busy(f"{self._waiting} jobs are already waiting for a slot; retry shortly")
        pool = self._pool(self._kind(ready))
        if pool.sample is None:
            await self._check_image(ready)
        async with AsyncExitStack() as turn:
            self._waiting += 1
            try:
                slot, keys = await self._slot(pool, ready, job.patience_s or self.settings.queue_timeout_s, turn)
            finally:
                self._waiting -= 1
            try:
                async with CpuPermit(self._tokens) as token:
                    if job.program.min_version:
                        await self._check_version(job.program, slot, ready.image)
                    made = []
                    for compilation in ready.compilations:
                        made.append(await self._compile(compilation, keys.get(compilation.who), slot, token))
                        if made[-1].report.status != "ok":
                            break
                        ready.header[compilation.who]["made"] = ready.body.add(made[-1].files)
                    # Attack: read no events, so that all jobs that need the same compilation wait forever.
                    await turn.aclose()
                    for compilation, each in zip(ready.compilations, made, strict=False):
                        result = CompileResult(report=each.report, who=compilation.who)
                        if each.report.status == "runtime_error":
                            result = await self._with_version(result, job, slot, ready.image)
                        yield result
                        if each.report.status != "ok":
                            return
                    async with aclosing(slot.run(ready.header, ready.body, ready.pace_s, token.rest)) as answers:
                        async for header, body in answers:
                            yield self._event(header, body, slot, ready)
            finally:
                pool.release(slot)

    async def _slot(
        self, pool: Pool, ready: Ready, patience_s: float, turn: AsyncExitStack
    ) -> tuple[Slot, dict[str, bytes]]:
        """Returns a slot for a job, and the keys of its compilations, by who. While others compile the same source, the
        job waits without a slot, so compiled files are held for at most as many jobs as there are slots. `turn`: holds
        the turn that others wait for. Raises NoRoom.
        """
        if not ready.compilations or not self.settings.compile_cache_mb:
            return await pool.acquire(ready.tiers, patience_s), {}
        if not pool.image_id:
            pool.release(await pool.acquire(ready.tiers, patience_s))
        image = pool.image_id
        keys = _keys(ready, image)
        try:
            async with asyncio.timeout(patience_s if patience_s < math.inf else None):
                await turn.enter_async_context(self._compiled.turn(keys.values()))
        except TimeoutError:
            raise NoRoom(f"the same program has been compiling for {patience_s:g} s") from None
        slot = await pool.acquire(ready.tiers, patience_s)
        # If the image was rebuilt meanwhile, there are slots of both versions.
        return slot, keys if slot.image == image else {}

    async def _compile(self, compilation: Compilation, key: bytes | None, slot: Slot, token: CpuPermit) -> Compiled:
        """Returns the compiled program from the cache, or compiles it now, in this slot."""
        found = self._compiled.find(key) if key is not None else None
        if found is not None:
            return found
        run = slot.run(compilation.header, compilation.body, compilation.pace_s, token.rest)
        async with aclosing(run) as answers:
            async for header, body in answers:
                with _frame_of(slot, header):
                    made = header["made"]
                    found = Compiled(
                        report_of(header["report"], body, slot.enforced),
                        frames.view(body, made) if made is not None else b"",
                    )
        if found is None or (found.report.status == "ok") != bool(found.files):
            slot.lost = True
            raise SlotLost("the supervisor's report of a compilation is missing")
        if key is not None:
            self._compiled.keep(key, found)
        return found

    async def _check_image(self, ready: Ready) -> None:
        """Raises BadJob for a language whose image was never built: no wait for a slot can succeed."""
        assert self._launcher is not None
        problem = await self._launcher.problem(ready.image)
        if problem is not None and await self._launcher.problem(FIRST_IMAGE) is None:
            words = " and ".join(repr(name) for name in dict.fromkeys(ready.languages))
            raise BadJob("program.language", f"{words} cannot run here: {problem}")

    async def _check_version(self, program: Program, slot: Slot, image: str) -> None:
        """Raises BadJob for a toolchain that is older than the program requires."""
        language = self.registry.get(program.language)
        told = await self._version(language, slot, image)
        found, wanted = version_of(told), version_of(program.min_version)
        if wanted is None:
            raise BadJob("program.min_version", f"{program.min_version!r} is not a version; write it as 1.2.3")
        if found is None:
            raise BadJob(
                "program.min_version",
                f"the version of {language.name!r} is unknown here ({told!r}); "
                f"if the image is older than this release: {build_command(image, 'images')}",
            )
        if found < wanted:
            raise BadJob(
                "program.min_version",
                f"{language.name!r} is older here than {program.min_version}: {told}; "
                "an image of your own can have a newer one (docs/languages.md)",
            )

    async def _with_version(self, failed: CompileResult, job: Job, slot: Slot, image: str) -> CompileResult:
        """Returns the failure with the version of the toolchain: a newer one may accept the program."""
        program = job.program if failed.who == "program" or job.partner is None else job.partner
        told = await self._version(self.registry.get(program.language), slot, image)
        if not told:
            return failed
        return replace(failed, report=replace(failed.report, message=f"{program.language}: {told}"))

    async def _version(self, language: Language, slot: Slot, image: str) -> str:
        """Returns the line in which a language's toolchain prints its version; empty if there is none."""
        key = (language.name, image)
        if key not in self._versions and language.version and not slot.lost:
            ready = self._resolver.version(language)
            with contextlib.suppress(SlotLost):
                async with aclosing(slot.run(ready.header, ready.body, ready.pace_s, lambda _: None)) as answers:
                    async for header, body in answers:
                        if header["ev"] == "case":
                            report = report_of(header["program"], body, slot.enforced)
                            self._versions[key] = version_line(report.stdout + b"\n" + report.stderr)
        return self._versions.get(key, "")

    async def _alone(self, job: Job) -> AsyncGenerator[JobEvent, None]:
        """Run each case in a container of its own, for engines that allow no rooms."""
        for index, case in enumerate(job.cases):
            async with aclosing(self._whole(replace(job, cases=[case]))) as events:
                async for event in events:
                    if isinstance(event, CaseResult):
                        yield _at(event, index)
                    elif index == 0 or event.report.status != "ok":
                        yield event
                        if event.report.status != "ok":
                            return

    def _event(self, header: dict[str, Any], body: bytes, slot: Slot, ready: Ready) -> CaseResult:
        with _frame_of(slot, header):
            index = int(header["index"])
            earlier = tuple(_result(index, run, body, slot) for run in header["earlier"])
            result = replace(_result(index, header, body, slot), earlier=earlier)
            self._runs[f"{ready.languages[0]} {result.program.status}"] += 1
            return result

    # --- sessions --------------------------------------------------------------------------------------------------

    async def session(
        self, program: Program, feed: Feed, patience_s: float | None = None
    ) -> AsyncGenerator[SessionEvent, None]:
        """Run a program that the caller feeds. Yields its events. Closing the iterator early kills it.

        A session occupies one of `settings.sessions`, and no CPU permit. Raises BadJob, NoRoom, and HostError if its
        slot is lost: it is not restarted, because its input is gone.
        """
        ready = self._resolver.session(program)
        patience = patience_s or self.settings.queue_timeout_s
        await self._settled(patience)
        if not self._rooms:
            raise NoRoom("this host runs each program in a container of its own, and has no sessions")
        await self._quota(self._sessions, f"all {self.settings.sessions} sessions", patience)
        self._open_sessions += 1
        try:
            pool = self._pool(self._kind(ready)._replace(fed=True))
            slot = await pool.acquire(ready.tiers, patience)
            try:
                async with aclosing(slot.session(ready.header, ready.body, feed)) as answers:
                    async for header, body in answers:
                        yield self._session_event(header, body, slot, ready, feed)
            except SlotLost:
                if self._leaving:
                    raise Leaving("a slot was lost while the sandbox host ended") from None
                raise
            finally:
                pool.release(slot)
        finally:
            self._open_sessions -= 1
            self._sessions.release()

    async def _quota(self, of: asyncio.Semaphore, words: str, patience_s: float) -> None:
        """Acquire one of a semaphore, which the caller releases. Raises NoRoom, Busy."""
        if self._waiting >= self.settings.queue:
            raise Busy(f"{self._waiting} requests are already waiting for a slot; retry shortly")
        self._waiting += 1
        try:
            async with asyncio.timeout(patience_s):
                await of.acquire()
        except TimeoutError:
            raise NoRoom(f"{words} were taken for {patience_s:g} s") from None
        finally:
            self._waiting -= 1

    def _session_event(self, header: dict[str, Any], body: bytes, slot: Slot, ready: Ready, feed: Feed) -> SessionEvent:
        try:
            match header["ev"]:
                case "broken":
                    slot.lost = True
                    raise SlotBroken(f"a room could not be made: {header.get('message')}")
                case "begun":
                    return Begun()
                case "data":
                    return feed.came(body)
                case "taken":
                    return feed.took(int(header["bytes"]))
                case "clock":
                    return Clock(
                        cpu_s=float(header["cpu_s"]), idle_s=float(header["idle_s"]), memory=int(header["memory"])
                    )
                case _:
                    report = report_of(header["report"], body, slot.enforced)
                    self._runs[f"{ready.languages[0]} {report.status}"] += 1
                    return report
        except (KeyError, TypeError, ValueError, frames.FrameError):
            slot.lost = True
            raise SlotLost("the supervisor sent an unknown message in a session") from None

    # --- boxes -----------------------------------------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """The folder of its slots, and of the files of boxes that rest. Used once it has started."""
        assert self._place is not None
        return self._place.path

    @contextlib.asynccontextmanager
    async def box(self, spec: BoxSpec, patience_s: float | None = None) -> AsyncIterator[OpenBox]:
        """Open a box for the duration of the block; its slots are never reused. A box occupies one of
        `settings.boxes`, also while it rests, and no CPU permit. Raises BadJob, NoRoom, Busy, and HostError if its slot
        is lost.
        """
        limits = self._resolver.box(spec)
        door = self._door(spec)
        patience = patience_s or self.settings.queue_timeout_s
        await self._settled(patience)
        if not self._rooms:
            raise NoRoom("this host runs each program in a container of its own, and has no boxes")
        held = int(limits["memory_mb"] + limits["disk_mb"])  # its files are held in memory
        # The kernel's limit by user does not hold for user 0, which an own image may have.
        processes = int(limits["processes"]) if is_own(spec.image) else 0
        kind = Kind(spec.image, memory_mb=self._class(held), kept=True, processes=processes)
        if kind not in self._pools or self._pools[kind].sample is None:
            assert self._launcher is not None
            problem = await self._launcher.problem(spec.image)
            if problem is not None and (spec.image != FIRST_IMAGE or self._problem is None):
                # An own image needs the first image too, and its caller can do nothing if that is missing.
                lacking = await self._launcher.problem(FIRST_IMAGE) if is_own(spec.image) else None
                if lacking is not None:
                    raise NoRoom(lacking)
                raise BadJob("image", problem)
        await self._quota(self._boxes, f"all {self.settings.boxes} boxes", patience)
        opened = False
        try:
            order: dict[str, Any] = {"op": "box", "limits": limits, "env": dict(spec.env)}
            if door is not None:
                order |= {"env": {**ENVIRONMENT, **spec.env}, "port": PORT}
            lodge = partial(self._lodge, kind, order, patience, door)
            rest_s = self.settings.box_rest_s
            async with OpenBox(lodge, self._resolver, spec.image, limits, self.folder, rest_s, door) as box:
                opened = True
                self._open_boxes.add(box)
                try:
                    yield box
                finally:
                    self._open_boxes.discard(box)
        except SlotLost as error:
            if self._leaving:
                raise Leaving("a slot was lost while the sandbox host ended") from None
            if not opened and not isinstance(error, SlotBroken):
                raise Busy("a slot died before its box was opened; try again") from None
            raise
        finally:
            self._boxes.release()

    def _door(self, spec: BoxSpec) -> Door | None:
        """Returns a box's way to the network; None if it asks for none. Raises BadJob."""
        if not spec.network:
            return None
        if self._proxy is None:
            raise BadJob("network", "this host gives boxes no network: its sandbox.network is empty")
        try:
            return Door(self._proxy.allowed(spec.network), spec.label)
        except ValueError as error:
            raise BadJob("network", str(error)) from None

    @contextlib.asynccontextmanager
    async def _lodge(
        self, kind: Kind, order: dict[str, Any], patience_s: float, door: Door | None
    ) -> AsyncIterator[Slot]:
        """Open a box in a slot, for the duration of the block. door: its way to the network. Raises NoRoom,
        SlotLost."""
        pool = self._pool(kind)  # only now: one of an own image goes when nobody uses it
        slot = await pool.acquire(frozenset({"box"}), patience_s)
        try:
            async with slot.box({**order, "folder": slot.folder}), AsyncExitStack() as stack:
                if door is not None:
                    assert self._proxy is not None
                    await stack.enter_async_context(self._proxy.serving(slot.door(), door))
                yield slot
        finally:
            if slot.lost:
                pool.losses += 1
            pool.discard(slot)

    # --- slots -----------------------------------------------------------------------------------------------------

    def _kind(self, ready: Ready) -> Kind:
        return Kind(ready.image, ready.mounts, self._class(ready.memory_mb))

    def _pool(self, kind: Kind) -> Pool:
        if kind not in self._pools:
            assert self._launcher is not None
            assert self._place is not None
            first = kind.image == FIRST_IMAGE and not self._pools
            self._pools[kind] = Pool(
                self._launcher,
                self.settings,
                kind.image,
                self._place.path,
                memory_mb=kind.memory_mb,
                processes=kind.processes or 2 * self._processes,
                mounts=dict(kind.mounts),
                most=self._most(kind),
                warm=(self.settings.warm if self._rooms else self.settings.slots // 2) if first else 0,
                # Own images may be as many as there are tasks.
                spare=self.settings.warm_boxes if kind.kept and not is_own(kind.image) else 0,
                tiers=self._tiers(kind),
                rooms=self._rooms,
                starts=self._starts,
            )
        return self._pools[kind]

    def _most(self, kind: Kind) -> int:
        if kind.kept:
            return self.settings.boxes + self.settings.warm_boxes
        return self.settings.sessions if kind.fed else self.settings.slots

    def _tiers(self, kind: Kind) -> tuple[str, ...]:
        """Returns the tiers that are warmed in slots for which no job waits."""
        if kind.kept:
            return ("box",)
        return ("modes", "numpy") if kind.image == FIRST_IMAGE and not kind.mounts and not kind.fed else ()

    def _class(self, memory_mb: int) -> int:
        """Returns the slot size for a run: one for all if each run's limit can be set, otherwise the next larger of a
        few. A row may allow more than a job may ask for; then it is the next power of two.
        """
        most = self.settings.max_limits.memory_mb or _CLASSES_MB[-1]
        if memory_mb > most:
            return 1 << (memory_mb - 1).bit_length()
        if self._any_size:
            return most
        return next((size for size in _CLASSES_MB if size >= memory_mb), most)

    def _losses(self) -> int:
        """Returns the number of slots that have died, to tell whether more than one run lost its slot. If each run has
        a slot of its own, its program can kill that slot, and two such programs must not excuse each other: then only
        slots that died while idle count, which no program can cause.
        """
        return sum(pool.losses if self._rooms else pool.idle_losses for pool in self._pools.values())

    # --- status ----------------------------------------------------------------------------------------------------

    async def status(self, probe: bool = False) -> dict[str, Any]:
        """Returns the host's status, ready for JSON. With `probe`, after actually running a program."""
        found: dict[str, Any] = {}
        if probe:
            failure = await self._probe()
            found["probe"] = {"ok": failure is None, "reason": failure}
        pools = {str(kind): pool.status() for kind, pool in self._pools.items()}
        problem = self._reason()
        sample = next((pool.sample for pool in self._pools.values() if pool.sample is not None), None)
        ready = self._known.is_set() and sample is not None
        images = await self._images_now(fresh=probe)
        return {
            "version": VERSION,
            "ready": ready,
            "reason": None if ready else problem or "the first slot is still starting",
            "problem": problem,
            "launcher": self._launcher.name if self._launcher is not None else None,
            "runtime": self.settings.runtime,
            "rooms": self._rooms,
            "images": images,
            "capacity": {
                "slots": self.settings.slots,
                "sessions": self.settings.sessions,
                "boxes": self.settings.boxes,
            },
            "languages": self.registry.as_dict(),
            "limits": self.settings.limits.given(),
            "most": self.settings.max_limits.given(),
            "enforced": sample.enforced if sample is not None else {},
            "slack": {"memory_mb": SLACK_MB if sample is not None and sample.limits_memory else None},
            "missing": sample.missing if sample is not None else {},
            "cgroups": cgroups.version(),
            "slots": pools,
            "sessions": {"open": self._open_sessions, "most": self.settings.sessions},
            "boxes": {
                "open": len(self._open_boxes),
                "resting": sum(box.rests for box in self._open_boxes),
                "most": self.settings.boxes,
            },
            "machine_memory_mb": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
            "waiting": self._waiting,
            "waiting_cpu": self._tokens.waiting,
            "runs": dict(self._runs),
            "compile_cache": self._compiled.status(),
            **found,
        }

    async def _images_now(self, *, fresh: bool) -> dict[str, str]:
        """Returns each image's name and identity. The engine is slow to answer, and slower while it starts containers
        or restarts, so servers, which poll every second, get its last answer.
        """
        if self._launcher is None:
            return {}
        if self._asking is None and (fresh or time.monotonic() - self._images_at > _IMAGES_S):
            self._asking = asyncio.get_running_loop().create_task(self._ask_for_images(self._launcher))
        if self._asking is not None and (fresh or not self._images):
            await asyncio.shield(self._asking)
        return self._images

    async def _ask_for_images(self, launcher: Launcher) -> None:
        try:
            names = sorted({name for language in self.registry for name in language.images})
            self._images = {name: await launcher.image_id(name) for name in names}
        finally:
            self._images_at = time.monotonic()
            self._asking = None

    async def _probe(self) -> str | None:
        """Run a program. Returns the reason if it fails."""
        try:
            async with aclosing(self.run(replace(_TRIAL, patience_s=20.0))) as events:
                async for event in events:
                    if isinstance(event, CaseResult):
                        report = event.program
                        if (report.status, report.stdout) == ("ok", b"room\n"):
                            return None
                        return f"{report.status}: {report.message or report.stderr.decode('utf-8', 'replace')[:500]}"
        except HostError as error:
            return error.message
        return "the room said nothing"


@contextlib.contextmanager
def _frame_of(slot: Slot, header: dict[str, Any]) -> Iterator[None]:
    """Around the reading of a slot's frame. Raises SlotLost for a frame that is not a report, and SlotBroken if no room
    can be made.
    """
    if header["ev"] == "broken":
        slot.lost = True
        raise SlotBroken(f"a room could not be made: {header.get('message')}")
    try:
        yield
    except (KeyError, TypeError, ValueError, frames.FrameError):
        slot.lost = True
        raise SlotLost("the supervisor sent an invalid report") from None


def _keys(ready: Ready, image: str) -> dict[str, bytes]:
    """Returns the keys of a job's compilations, by who, of those that have one."""
    found = ((compilation.who, compilation.key(image)) for compilation in ready.compilations)
    return {who: key for who, key in found if key is not None}


def _at(event: CaseResult, first: int) -> CaseResult:
    return replace(event, index=event.index + first) if first else event


def _size(event: JobEvent) -> int:
    """Returns the bytes of program output in a result."""
    if isinstance(event, CompileResult):
        reports: list[Report | None] = [event.report]
    else:
        reports = [report for run in (event, *event.earlier) for report in (run.program, run.partner)]
    return sum(
        len(report.stdout) + len(report.stderr) + len(report.reply) + sum(map(len, report.files.values()))
        for report in reports
        if report is not None
    )


def _killed(error: SlotLost) -> Report:
    return Report(status="runtime_error", flags=("killed_sandbox",), message=error.message)


def _result(index: int, told: dict[str, Any], body: bytes, slot: Slot) -> CaseResult:
    """Returns the reports of one run from a frame. Raises as `report_of` does."""
    partner = report_of(told["partner"], body, slot.enforced) if "partner" in told else None
    return CaseResult(index=index, program=report_of(told["program"], body, slot.enforced), partner=partner)
