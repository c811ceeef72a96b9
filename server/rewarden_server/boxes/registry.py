"""The open boxes of a server: who owns them, how long they live, and why they ended."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Protocol

from rewarden.boxes.types import (
    RIGHTS,
    BoxInfo,
    BoxLease,
    BoxLimits,
    BoxRequest,
    BoxSnapshot,
    BoxUsage,
    EndReason,
    ExecRequest,
    ForkRequest,
    LeaseRequest,
    Right,
    StepBegun,
)
from rewarden.boxes.wire import content_in
from rewarden.errors import (
    BoxEnded,
    Forbidden,
    ImageMismatch,
    InternalError,
    InvalidRequest,
    NoRoom,
    NotFound,
    Overloaded,
    RequestError,
    TooLarge,
    TooManyBoxes,
    Unavailable,
    UnknownImage,
)
from rewarden_sandboxes import errors as host_errors
from rewarden_sandboxes.box import MOST_EXECS, BoxSpec, Exec
from rewarden_sandboxes.job import Limits, Program, source
from rewarden_server.access.caller import Caller
from rewarden_server.boxes.box import Box, Share
from rewarden_server.boxes.lease import Lease, Leases, load_secret
from rewarden_server.boxes.running import Running
from rewarden_server.boxes.settings import BoxSettings
from rewarden_server.boxes.snapshots import Snapshots
from rewarden_server.boxes.trajectory import Trajectory
from rewarden_server.observe.logs import get_logger
from rewarden_server.tasks.tasks import Begun, Tasks

if TYPE_CHECKING:
    from rewarden_sandboxes.remote_box import RemoteBox
    from rewarden_verifiers.tasks.task import Task

_WHY_S = 2.0
"""The time to wait, after an error of a program, for the news that its box has ended, in seconds."""

_REMEMBERED_S = 600.0
"""The time for which an ended box still reports why it ended, in seconds."""

_REMEMBERED = 10_000

_SWEEP_S = 1.0
_MOST_CONTROLS = 2
"""Boxes for control runs at once; they count against no key. Attack: breaking notebooks to take up other keys' room."""

_INFRA = frozenset({"host_lost", "slot_lost", "draining"})
"""Reasons for a box's end that are our fault."""

_ADMIN: frozenset[Right] = frozenset({"read", "close"})
"""The rights that a key with the scope `admin` has in other keys' boxes."""

_log = get_logger("boxes")


class Lane(Protocol):
    """The place where boxes are opened: the sandbox lane."""

    async def box(self, spec: BoxSpec) -> RemoteBox:
        """Opens a box. Raises HostError."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """A box that has ended. at: on the registry's clock."""

    info: BoxInfo
    owner: str
    at: float


class Boxes:
    """See the module. Used on one loop. clock: monotonic seconds; wall: seconds since the epoch."""

    def __init__(
        self,
        settings: BoxSettings,
        lane: Lane,
        tasks: Tasks,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self._lane = lane
        self._tasks = tasks
        self._clock = clock
        self._wall = wall
        self._open: dict[str, Box] = {}
        self._ended: OrderedDict[str, _Ended] = OrderedDict()
        self._held: dict[str, list[Share]] = {}
        self._watching: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.Task[None] | None = None
        self._draining = False
        self._controls = asyncio.Semaphore(_MOST_CONTROLS)
        self._leases: Leases | None = None
        self.snapshots = Snapshots(settings, wall)
        self.opened = 0
        self.ends: Counter[str] = Counter()
        self.execs: Counter[str] = Counter()
        self.cells: Counter[str] = Counter()
        self.kernels: set[str] = set()
        """Digests of the kinds of notebooks that have started at least once (see `Notebooks`)."""

    # --- opening ------------------------------------------------------------------------------------------------

    async def open(self, asked: BoxRequest, owner: str) -> Box:
        """Opens a box. Raises RequestError."""
        _check_times(asked.ttl_s, asked.idle_s, self.settings)
        files = _contents(asked.files)
        limits = self._limits(asked.limits)
        snapshot = None if asked.snapshot is None else await self.snapshots.find(asked.snapshot, owner)
        spec = BoxSpec(image=asked.image, limits=limits, env=dict(asked.env), network=tuple(asked.network))
        async with AsyncExitStack() as stack:
            begun = None
            if asked.task is not None:
                begun = await stack.enter_async_context(self._tasks.ready(asked.task))
                spec = _of_task(begun, asked, limits)
            box = await stack.enter_async_context(
                self._opening(spec, owner, asked.ttl_s, asked.idle_s, asked.rollout, asked.task)
            )
            if begun is not None:
                await begun.fill(box.remote)
            if snapshot is not None:
                _check_image(snapshot.image_id, box.remote.image)
                await box.remote.restore(self.snapshots.content(snapshot))
            for path, data in files.items():
                await box.remote.put(path, data)
            box.untouched = snapshot is None and not files
        return box

    async def fork(self, box: Box, asked: ForkRequest, lease: Lease | None = None) -> Box:
        """Opens a copy of a box: its file system, without its processes. lease: the caller's, if it has no key. Raises
        RequestError."""
        _check_times(asked.ttl_s, asked.idle_s, self.settings)
        if lease is not None:
            _check_leased(asked, box.rollout, box.ends - self._clock())
        spec = BoxSpec(image=box.image, limits=box.remote.limits, env=box.env, network=box.network)
        ttl_s = asked.ttl_s or max(1.0, box.ends - self._clock())
        rollout = box.rollout if asked.rollout is None else asked.rollout
        async with (
            self.using(box) as remote,
            self._opening(spec, box.owner, ttl_s, asked.idle_s or box.idle_s, rollout, box.task) as made,
        ):
            _check_image(remote.image or None, made.remote.image)
            async with contextlib.aclosing(remote.snapshot()) as changes:
                await made.remote.restore(changes)
            made.untouched = False
            if box.trajectory is not None:
                made.trajectory = box.trajectory.copied()
        return made

    @asynccontextmanager
    async def _opening(
        self,
        spec: BoxSpec,
        owner: str,
        ttl_s: float | None,
        idle_s: float | None,
        rollout: str | None,
        task: str | None,
    ) -> AsyncIterator[Box]:
        """Yields a new box, which is listed at the end of the block, or closed if the block fails."""
        if self._draining:
            raise Unavailable("the server is draining", retry_after_s=1.0)
        share = Share(memory_mb=spec.limits.memory_mb or 0, disk_mb=spec.limits.disk_mb or 0)
        self._take(owner, share)
        remote = None
        id = f"box-{secrets.token_hex(12)}"
        try:
            with _refusals():
                remote = await self._lane.box(replace(spec, label=id))
                now, wall = self._clock(), self._wall()
                ttl_s = self.settings.ttl_s if ttl_s is None else ttl_s
                box = Box(
                    id=id,
                    owner=owner,
                    image=spec.image,
                    rollout=rollout,
                    task=task,
                    env=dict(spec.env),
                    network=tuple(spec.network),
                    trajectory=None if task is None else Trajectory(self._wall),
                    share=share,
                    remote=remote,
                    created_at=wall,
                    expires_at=wall + ttl_s,
                    ends=now + ttl_s,
                    idle_s=self.settings.idle_s if idle_s is None else idle_s,
                    used=now,
                )
                yield box
            if self._draining:
                raise Unavailable("the server is draining", retry_after_s=1.0)
        except BaseException:
            self._give(owner, share)
            if remote is not None:
                remote.leave()
            raise
        self._open[box.id] = box
        self.opened += 1
        self._run(self._watch(box))
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().create_task(self._sweep_on())
        _log.info("box opened", box=box.id, key=owner, image=box.image, rollout=_logged(rollout))

    def _limits(self, asked: BoxLimits) -> Limits:
        for each in fields(asked):
            value = getattr(asked, each.name)
            if value is not None and value < 1:
                raise InvalidRequest(f"limits.{each.name}: must be above 0", path=f"limits.{each.name}")
        return Limits(
            memory_mb=asked.memory_mb or self.settings.memory_mb,
            disk_mb=asked.disk_mb or self.settings.disk_mb,
            processes=asked.processes,
            open_files=asked.open_files,
        )

    def _take(self, owner: str, share: Share) -> None:
        """Counts a box against its key's quota. Raises TooManyBoxes; or InvalidRequest for a box that could never
        fit."""
        for field, wanted, most in (
            ("memory_mb", share.memory_mb, self.settings.memory_mb_per_key),
            ("disk_mb", share.disk_mb, self.settings.disk_mb_per_key),
        ):
            if wanted > most:
                raise InvalidRequest(
                    f"limits.{field}: must be at most {most} (boxes.{field}_per_key)", path=f"limits.{field}"
                )
        held = self._held.setdefault(owner, [])
        for limit, used, most in (
            ("per_key", len(held) + 1, self.settings.per_key),
            ("memory_mb_per_key", sum(each.memory_mb for each in (*held, share)), self.settings.memory_mb_per_key),
            ("disk_mb_per_key", sum(each.disk_mb for each in (*held, share)), self.settings.disk_mb_per_key),
        ):
            if used > most:
                raise TooManyBoxes(
                    f"the key {owner!r} has {len(held)} boxes; one more exceeds boxes.{limit} ({most}): close a box",
                    limit=f"boxes.{limit}",
                    most=most,
                )
        held.append(share)

    def _give(self, owner: str, share: Share) -> None:
        held = self._held[owner]
        held.remove(share)
        if not held:
            del self._held[owner]

    # --- finding ------------------------------------------------------------------------------------------------

    def find(self, id: str, caller: Caller, right: Right) -> Box:
        """Returns an open box if the caller has this right in it. Raises NotFound, Forbidden, BoxEnded."""
        box = self._open.get(id)
        if box is not None and (why := box.over(self._clock())) is not None:
            self._end(box, why)
            box = None
        if box is None:
            raise _ended(self._gone(id, caller).info)
        _check_right(caller, id, box.owner, box.rollout, right)
        return box

    def _gone(self, id: str, caller: Caller) -> _Ended:
        ended = self._ended.get(id)
        if ended is None or self._clock() - ended.at > _REMEMBERED_S:
            raise _unknown(id, caller)
        _check_right(caller, id, ended.owner, ended.info.rollout, None)
        return ended

    def left_s(self, box: Box) -> float:
        """Returns the seconds until a box expires; below 0 afterwards."""
        return box.ends - self._clock()

    def task(self, id: str) -> Task:
        """Returns a task for which boxes can be opened. Raises NotFound."""
        return self._tasks.find(id)

    async def step(self, box: Box, name: str) -> StepBegun:
        """Begins a step of a box's task. Raises RequestError."""
        if box.task is None:
            raise InvalidRequest("the box was not opened for a task, so it has no steps", path="step")
        async with self.using(box) as remote:
            return await self._tasks.step(self.task(box.task), name, remote)

    def listed(self, caller: Caller) -> list[BoxInfo]:
        """Returns the caller's open boxes, the oldest first; with the scope `admin`, all."""
        no_lease(caller)
        every = "admin" in caller.scopes
        return [box.info() for box in self._open.values() if every or box.owner == caller.name]

    @asynccontextmanager
    async def using(self, box: Box) -> AsyncIterator[RemoteBox]:
        """Yields the host's box for the duration of a request. Errors of the host become request errors."""
        with self.busy(box):
            box.untouched = False
            try:
                with _refusals():
                    yield box.remote
            except RequestError as error:
                if isinstance(error, InternalError) and box.remote.fault is None:
                    # Flake: a program's stream breaks a moment before its box's stream, which gives the reason.
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(box.remote.wait(), _WHY_S)
                fault = box.remote.fault
                if fault is None and box.reason is None:
                    raise
                if box.reason is None:
                    self._end(box, "host_lost" if box.remote.host_lost else "slot_lost")
                raise _ended(box.info()) from None

    @contextmanager
    def busy(self, box: Box) -> Iterator[None]:
        """Counts a request: the box is not idle while it lasts, and the idle time starts at its end."""
        box.active += 1
        try:
            yield
        finally:
            box.active -= 1
            box.used = self._clock()

    async def info(self, box: Box) -> BoxInfo:
        """Returns the state of a box, with its usage. Raises BoxEnded."""
        async with self.using(box) as remote:
            used = await remote.clock()
        return box.info(BoxUsage(cpu_s=used.cpu_s, memory_bytes=used.memory))

    @asynccontextmanager
    async def control(self, box: Box, *, plain: bool = False) -> AsyncIterator[RemoteBox]:
        """Yields a box of the same kind for this caller alone, in which the policy has run nothing: with the same
        image, limits and network and, unless plain, environment and task. Errors of the host become request errors."""
        task = None if plain else box.task
        env = {} if plain else box.env
        spec = BoxSpec(
            image=box.image, limits=box.remote.limits, env=env, network=box.network, label=f"{box.id}-control"
        )
        async with self._controls, AsyncExitStack() as stack:
            begun = None if task is None else await stack.enter_async_context(self._tasks.ready(task))
            with _refusals():
                remote = await stack.enter_async_context(await self._lane.box(spec))
                if begun is not None:
                    await begun.fill(remote)
                yield remote

    # --- programs -----------------------------------------------------------------------------------------------

    async def begin(self, box: Box, asked: ExecRequest, *, streams: bool = False) -> Running:
        """Starts a program; call within `using`. The caller must close a foreground program. streams: the output is
        passed on as it arrives, without a limit. Raises InvalidRequest, Overloaded, HostError."""
        if asked.background:
            self._make_room(box)
        if sum(not each.over for each in box.execs.values()) + len(box.notebooks) + box.starting >= MOST_EXECS:
            raise Overloaded(f"the box runs {MOST_EXECS} programs, the most that run at once; end one of them")
        limits = Limits(**asdict(asked.limits))
        if limits.output_bytes is None and not asked.background and not streams:
            limits = replace(limits, output_bytes=self.settings.output_bytes)
        stdin = None if asked.stdin is None else _content(asked.stdin, "stdin")
        words, program = _command(asked)
        what = Exec(
            argv=words,
            program=program,
            stdin=stdin is not None or asked.feed,
            cwd=asked.cwd or "",
            env=dict(asked.env),
            limits=limits,
        )
        remote = await box.remote.exec(what)
        number = next(box.numbers)
        running = Running(
            number,
            remote,
            background=asked.background,
            stdin=stdin,
            kept=self.settings.background_bytes,
            ended=self._count,
            call=None if box.trajectory is None else box.trajectory.begin(number, asked),
        )
        box.execs[running.number] = running
        return running

    async def finish(self, box: Box, running: Running) -> None:
        """Ends a foreground program, or forgets a background one."""
        box.execs.pop(running.number, None)
        await running.close()

    async def feed(self, box: Box, running: Running, pieces: AsyncIterable[bytes], *, eof: bool) -> None:
        """Writes to a program's input, and closes it if `eof`; call within `using`. Raises InvalidRequest if it has
        ended."""
        try:
            async for piece in pieces:
                await running.feed(piece)
        except host_errors.HostError as error:
            if box.remote.fault is not None:
                raise
            raise InvalidRequest(f"the program's input cannot be written: {error.message}") from None
        if eof:
            running.end_input()

    def running(self, box: Box, number: int) -> Running:
        """Returns a program of a box. Raises NotFound."""
        found = box.execs.get(number)
        if found is None:
            raise NotFound(f"the box has no program {number}: it has ended, or was never started")
        return found

    def _count(self, status: str) -> None:
        self.execs[status] += 1

    def _make_room(self, box: Box) -> None:
        """Makes room for one more background program; if there are too many, an ended one is forgotten. Raises
        Overloaded."""
        behind = [each for each in box.execs.values() if each.background]
        boxes = [other for other in self._open.values() if other.owner == box.owner]
        of_key = sum(each.background for other in boxes for each in other.execs.values())
        for count, most, whose in (
            (len(behind), self.settings.execs, "the box has {} programs in the background (boxes.execs)"),
            (of_key, self.settings.execs_per_key, "the key has {} programs in the background (boxes.execs_per_key)"),
        ):
            if count < most:
                continue
            ended = next((each for each in behind if each.over), None)
            if ended is None:
                raise Overloaded(f"{whose.format(count)}; end one of them")
            del box.execs[ended.number]
            return

    # --- snapshots and leases -----------------------------------------------------------------------------------

    async def snapshot(self, box: Box, *, live: bool = False) -> BoxSnapshot:
        """Keeps a copy of the box's file system. Raises RequestError."""
        async with self.using(box) as remote, contextlib.aclosing(remote.snapshot(live=live)) as changes:
            return await self.snapshots.keep(changes, box.owner, remote.image or None)

    def lease(self, box: Box, asked: LeaseRequest, caller: Caller) -> BoxLease:
        """Signs a lease. Only the owner's key may issue one, and only with rights that it has. Raises RequestError."""
        no_lease(caller)
        if caller.name != box.owner:
            raise Forbidden("only the key that opened a box may lease it")
        rights = frozenset(asked.rights)
        if not rights or not rights <= set(RIGHTS):
            raise InvalidRequest(f"rights: must be some of {', '.join(RIGHTS)}", path="rights")
        if "score" in rights:
            caller.demand("verify")
        if not 0 < asked.expires_s <= self.settings.lease_s_max:
            raise InvalidRequest(
                f"expires_s: must be above 0 and at most {self.settings.lease_s_max:g} (boxes.lease_s_max)",
                path="expires_s",
            )
        if asked.rollout is not None and asked.rollout != box.rollout:
            raise InvalidRequest("rollout: is not the box's", path="rollout")
        until = min(self._wall() + asked.expires_s, box.expires_at)
        terms = Lease(box=box.id, owner=box.owner, rights=rights, rollout=box.rollout, until=until)
        text = self._signer().sign(terms)
        ordered = tuple(right for right in RIGHTS if right in rights)
        return BoxLease(lease=text, box=box.id, rights=ordered, rollout=box.rollout, expires_at=until)

    def renewed(self, lease: Lease, fork: Box) -> str:
        """Returns a lease for a box that was forked with this lease: no longer, with the same rights, and the right to
        close the fork."""
        rights, until = lease.rights | {"close"}, min(lease.until, fork.expires_at)
        return self._signer().sign(replace(lease, box=fork.id, rights=rights, until=until))

    def read_lease(self, text: str) -> Lease:
        """Returns the terms of a lease. Raises Unauthorized."""
        return self._signer().read(text)

    def _signer(self) -> Leases:
        if self._leases is None:
            self._leases = Leases(load_secret(self.settings.folder), self._wall)
        return self._leases

    # --- ending -------------------------------------------------------------------------------------------------

    async def close(self, id: str, caller: Caller) -> None:
        """Closes a box; one that has ended stays ended. Raises NotFound, Forbidden."""
        try:
            box = self.find(id, caller, "close")
        except BoxEnded:
            return
        self._end(box, "closed")
        await box.remote.close()

    def sweep(self) -> None:
        """Ends the boxes whose time is up, and forgets those that ended long ago."""
        now = self._clock()
        for box in list(self._open.values()):
            why = box.over(now)
            if why is not None:
                self._end(box, why)
        while self._ended and now - next(iter(self._ended.values())).at > _REMEMBERED_S:
            self._ended.popitem(last=False)

    async def drain(self) -> None:
        """Stops opening boxes and ends all of them: no box outlives its server."""
        self._draining = True
        boxes = list(self._open.values())
        for box in boxes:
            self._end(box, "draining")
        await asyncio.gather(*(box.remote.close() for box in boxes), return_exceptions=True)
        if self._sweeping is not None:
            self._sweeping.cancel()
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)

    def _end(self, box: Box, reason: EndReason | str) -> None:
        """Ends a box if it is open. Its processes are killed soon after."""
        if box.reason is not None:
            return
        box.reason = reason
        del self._open[box.id]
        self._give(box.owner, box.share)
        self._ended[box.id] = _Ended(box.info(), box.owner, self._clock())
        while len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)
        self.ends[reason] += 1
        box.remote.leave()
        say = _log.warning if reason in _INFRA else _log.info
        say("box ended", box=box.id, key=box.owner, reason=reason, rollout=_logged(box.rollout))

    async def _watch(self, box: Box) -> None:
        """Notices when the box is lost while nobody uses it."""
        await box.remote.wait()
        self._end(box, "host_lost" if box.remote.host_lost else "slot_lost")

    async def _sweep_on(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_S)
            self.sweep()
            await self.snapshots.sweep()

    def _run(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)

    # --- figures ------------------------------------------------------------------------------------------------

    def figures(self) -> dict[str, object]:
        """Returns the counts for metrics and `/v1/info`, ready for JSON."""
        return {
            "open": len(self._open),
            "opened": self.opened,
            "ended": dict(self.ends),
            "execs": dict(self.execs),
            "notebooks": sum(each.ended is None for box in self._open.values() for each in box.notebooks.values()),
            "cells": dict(self.cells),
        }


def _of_task(begun: Begun, asked: BoxRequest, limits: Limits) -> BoxSpec:
    """Returns the settings of a task's box, with what the request adds. Raises InvalidRequest for fields that the task
    itself sets."""
    if asked.image not in (BoxRequest().image, begun.image):
        raise InvalidRequest(f"image: the task's is {begun.image!r}; leave it out", path="image")
    if asked.snapshot is not None:
        raise InvalidRequest("snapshot: send either task or snapshot", path="snapshot")
    own = begun.limits.given()
    given = {name: value for name, value in limits.given().items() if getattr(asked.limits, name) is not None}
    for name in own.keys() & given.keys():
        # A check made with the task's limits says nothing about other limits.
        if given[name] > own[name]:
            raise InvalidRequest(
                f"limits.{name}: the task's boxes have at most {own[name]}; leave it out", path=f"limits.{name}"
            )
    return BoxSpec(
        image=begun.image,
        limits=Limits(**{**own, **given}),
        env={**begun.env, **asked.env},
        network=tuple(asked.network),
    )


def no_lease(caller: Caller) -> None:
    """Raises Forbidden for a caller who has only a lease."""
    if caller.lease is not None:
        raise Forbidden("a lease is for its box alone; send a key")


def _check_right(caller: Caller, id: str, owner: str, rollout: str | None, right: Right | None) -> None:
    """right: None if any will do. Raises NotFound for a box of another key, Forbidden."""
    lease = caller.lease
    if lease is not None:
        if lease.box != id or lease.owner != owner or lease.rollout != rollout:
            raise _unknown(id, caller)
        if right is not None and right not in lease.rights:
            raise Forbidden(f"the lease does not have the right {right!r}", right=right)
    elif caller.name != owner and not ("admin" in caller.scopes and (right is None or right in _ADMIN)):
        raise _unknown(id, caller)
    elif right == "score":
        caller.demand("verify")


def _logged(rollout: str | None) -> str | None:
    """A rollout's id for the log. Attack: ids of megabytes that fill the log."""
    return None if rollout is None else rollout[:100]


def _unknown(id: str, caller: Caller) -> NotFound:
    """The same message for another caller's box and for one that does not exist."""
    return NotFound(f"unknown box {id[:100]!r}" + (", or the lease is for another one" if caller.lease else ""))


def _ended(info: BoxInfo) -> BoxEnded:
    fault = "infra" if info.reason in _INFRA else "caller"
    why = {"expired": " (its ttl_s is over)", "idle": f" (nobody used it for its idle_s, {info.idle_s:g} s)"}
    words = f"the box has ended: {info.reason}{why.get(info.reason or '', '')}"
    return BoxEnded(words, reason=info.reason, fault=fault, box=info.id)


def _check_times(ttl_s: float | None, idle_s: float | None, settings: BoxSettings) -> None:
    most = settings.ttl_s_max
    for name, value in (("ttl_s", ttl_s), ("idle_s", idle_s)):
        if value is not None and not 0 < value <= most:
            raise InvalidRequest(f"{name}: must be above 0 and at most {most:g} (boxes.ttl_s_max)", path=name)


def _check_leased(asked: ForkRequest, rollout: str | None, left_s: float) -> None:
    """Raises InvalidRequest for a fork that a lease does not allow. left_s: seconds until its box ends.

    Attack: the holder of a lease fills the owner's quota long after the box has ended; or labels a fork with another
    rollout's id, so that the owner scores it as that rollout.
    """
    if asked.ttl_s is not None and asked.ttl_s > left_s:
        raise InvalidRequest(
            f"ttl_s: a box that is forked by a lease ends with the box of the lease at the latest, in {left_s:.0f} s",
            path="ttl_s",
        )
    if asked.rollout is not None and asked.rollout != rollout:
        raise InvalidRequest("rollout: a lease is for the rollout of its box; leave it out", path="rollout")


def _check_image(wanted: str | None, found: str) -> None:
    if wanted and wanted != found:
        raise ImageMismatch(
            "the file system was taken of a box with another image, and cannot be restored on this one",
            image_id=wanted,
            found=found,
        )


def _contents(files: Mapping[str, object]) -> dict[str, bytes]:
    return {path: _content(item, f"files[{path[:60]!r}]") for path, item in files.items()}


def _content(item: object, path: str) -> bytes:
    try:
        return content_in(item)
    except ValueError as error:
        raise InvalidRequest(f"{path}: {error}", path=path) from None


def _command(asked: ExecRequest) -> tuple[tuple[str, ...], Program | None]:
    """Returns the words, or the program, of a request. Raises InvalidRequest."""
    given = [name for name in ("argv", "shell", "code") if getattr(asked, name) is not None]
    if len(given) != 1:
        raise InvalidRequest("send exactly one of argv, shell and code (with its language)", path=given[-1:])
    if asked.argv is not None:
        if not asked.argv:
            raise InvalidRequest("argv: must not be empty", path="argv")
        return tuple(asked.argv), None
    if asked.shell is not None:
        return ("/bin/sh", "-c", asked.shell), None
    assert asked.code is not None
    return (), Program(language=asked.language or "python", code=source(asked.code))


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Turns errors of hosts into request errors."""
    try:
        yield
    except host_errors.FileFault as error:
        raise _file_fault(error) from None
    except host_errors.BadJob as error:
        kind = UnknownImage if error.path == "image" else InvalidRequest
        path = error.path.removeprefix("exec.").removeprefix("box.").removeprefix("files.")
        raise kind(f"{path or 'the request'}: {error.message}", path=path) from None
    except (host_errors.Busy, host_errors.NoRoom) as error:
        raise NoRoom(f"no sandbox host has room for a box: {error.message}", retry_after_s=1.0) from None
    except (host_errors.HostLost, host_errors.Leaving) as error:
        raise Unavailable(f"the sandbox host was lost: {error.message}", retry_after_s=1.0) from None
    except host_errors.HostError as error:
        raise InternalError(f"the sandbox host failed: {error.message}") from None


def _file_fault(error: host_errors.FileFault) -> RequestError:
    words = error.message
    match error.number:
        case errno.ENOENT:
            return NotFound(words, path=error.path)
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return Forbidden(words, path=error.path)
        case errno.EFBIG:
            return TooLarge(words, path=error.path)
        case errno.ENOSPC | errno.EDQUOT:
            return TooLarge(f"{words}; the box's disk_mb is used up", limit="disk_mb")
    return InvalidRequest(words, path=error.path)
