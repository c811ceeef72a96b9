"""One slot, as the host sees it: a place with a supervisor in it, and the socket between host and supervisor."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import shutil
import socket
import stat
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from rewarden_sandboxes.agent import boot, frames
from rewarden_sandboxes.agent.room import BOX
from rewarden_sandboxes.errors import BadJob, HostError, NoRoom
from rewarden_sandboxes.launchers.launcher import Launcher, Lease, Place
from rewarden_sandboxes.session import Feed

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "USER": "runner",
    "LOGNAME": "runner",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""The environment of every program. Nothing in it comes from the host's."""

START_S = 30.0
"""Seconds within which a slot must be ready."""

_STOP_S = 5.0
_WARM_S = 60.0
_ANSWER_S = 30.0
"""Seconds within which a supervisor must report the usage of its session."""
_SESSION_BYTES = 1 << 20
"""The most bytes of one frame of a session: some output, or a report with the tail of stderr."""
_INODES = 8192


class SlotLost(HostError):
    """The slot died, missed its deadline, or violated the protocol."""


class SlotBroken(SlotLost):
    """The slot can no longer make rooms; the run has not begun."""


class Slot:
    """A warm slot, which runs one job or session at a time; made by `start`. `limits_memory`: the supervisor sets the
    memory limit of each run; otherwise the slot's size, or a limit on each process, bounds it. `image`: the identity of
    the image that it was started from. `folder`: where the programs of a box begin.
    """

    def __init__(self, lease: Lease, place: Place, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.lease = lease
        self.place = place
        self.tiers: frozenset[str] = frozenset()
        self.missing: dict[str, list[str]] = {}
        self.enforced: dict[str, str] = {}
        self.limits_memory = False
        self.image = ""
        self.folder = BOX if place.defaults is None else place.defaults.folder
        self.runs = 0
        self.lost = False
        self.used = time.monotonic()
        self._reader = reader
        self._writer = writer
        self._prefix: bytes | None = None
        self._late: asyncio.TimerHandle | None = None
        self._over = True
        self._out: socket.socket | None = None

    @classmethod
    async def start(cls, launcher: Launcher, lease: Lease, rooms: bool = True, *, network: bool = False) -> Slot:
        """Start a slot. Returns it ready for its first job. network: it can hand the host the listening socket of a
        box. Raises NoRoom."""
        folder = lease.folder
        listener: socket.socket | None = None
        place: Place | None = None
        slot: Slot | None = None
        try:
            os.mkdir(folder, 0o711)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            path = folder / os.path.basename(boot.SOCKET)
            listener.bind(str(path))
            # The slot's user may connect, but nobody may list the folder; the socket is removed before the first job.
            os.chmod(path, 0o666)
            listener.listen(1)
            listener.setblocking(False)
            lease.check_mounts()
            place = await launcher.start(lease)
            channel = await _accept(listener, place)
            path.unlink()
            with contextlib.suppress(OSError):
                os.chmod(folder, stat.S_IRUSR | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
            # Hang: a supervisor that reads nothing must count as a failed start, because jobs may wait without a
            # timeout.
            near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) if network else (None, None)
            try:
                counters = await asyncio.wait_for(_greet(channel, place, rooms, far), START_S)
            finally:
                if far is not None:
                    far.close()
            reader, writer = await asyncio.open_connection(sock=channel, limit=4 * 1024**2)
            slot = cls(lease, place, reader, writer)
            slot._out = near
            slot.limits_memory = {"limit", "usage"} <= counters
            slot.image = place.image
            header, _ = await asyncio.wait_for(slot._receive(), START_S)
            slot._greeted(header)
            return slot
        except BaseException as error:
            failed = isinstance(error, (OSError, HostError, frames.FrameError, asyncio.IncompleteReadError))
            words = await place.last_words() if failed and place is not None else ""
            if slot is not None:
                await slot.close()
            elif place is not None:
                await place.end()
            shutil.rmtree(folder, ignore_errors=True)
            if not failed:
                raise
            text = error.message if isinstance(error, HostError) else words_of(error)
            raise NoRoom(f"a slot of {lease.image!r} does not start: {text}{'; ' + words if words else ''}") from None
        finally:
            if listener is not None:
                listener.close()

    def _greeted(self, header: dict[str, Any]) -> None:
        if header.get("ev") == "broken":
            raise NoRoom(str(header.get("message")))
        if header.get("ev") != "ready":
            raise SlotLost("the supervisor does not report that it is ready")
        self.tiers = frozenset(map(str, header["tiers"]))
        self.missing = header["missing"]
        self.enforced = header["enforced"]

    @contextlib.asynccontextmanager
    async def _turn(self, order: dict[str, Any], body: frames.Body) -> AsyncIterator[None]:
        """Send a job or a session to the supervisor, and stop it on exit unless the supervisor has reported its end.
        Raises SlotLost; the slot is then unusable.
        """
        self._over = False
        self.used = time.monotonic()
        try:
            self._writer.writelines(frames.pack(order, body))
            await self._writer.drain()
            yield
        except (OSError, asyncio.IncompleteReadError, frames.FrameError) as error:
            self.lost = True
            raise SlotLost(f"the slot is gone ({type(error).__name__})") from None
        except SlotLost:
            self.lost = True
            raise
        finally:
            self.runs += 1
            self.used = time.monotonic()
            if not self._over and not self.lost:
                await self._stop()

    async def run(
        self, job: dict[str, Any], body: frames.Body, pace_s: float, resting: Callable[[bool], None]
    ) -> AsyncGenerator[tuple[dict[str, Any], bytes], None]:
        """Run a job or a compilation. Yields the supervisor's frames as they arrive, except the last.

        `pace_s`: seconds within which each frame must arrive. `resting`: called with True when the run becomes idle,
        and with False when it resumes. Closing the iterator early stops the job. Raises SlotLost; the slot is then
        unusable.
        """
        async with self._turn(job, body):
            while True:
                try:
                    async with asyncio.timeout(pace_s):
                        header, data = await self._receive()
                except TimeoutError:
                    raise SlotLost("the slot missed its deadline") from None
                match header.get("ev"):
                    case "end":
                        self._over = True
                        return
                    case "idle" | "busy" as event:
                        resting(event == "idle")
                    case "warm":
                        self.tiers = frozenset(map(str, header["tiers"]))
                    case "case" | "compile" | "broken":
                        yield header, data
                    case _:
                        raise SlotLost("the supervisor sent an unknown message")

    async def session(
        self, session: dict[str, Any], body: frames.Body, feed: Feed
    ) -> AsyncGenerator[tuple[dict[str, Any], bytes], None]:
        """Run a program that the caller feeds. Yields the supervisor's frames as they arrive, except the last.

        Closing the iterator early kills the program. Raises SlotLost; the slot is then unusable.
        """
        async with self._turn(session, body):
            async with asyncio.timeout(START_S):
                header, data = await self._receive(_SESSION_BYTES)
            following = asyncio.get_running_loop().create_task(self._follow(feed))
            try:
                known: tuple[str, ...] = ("begun", "broken")
                while (event := header.get("ev")) != "end":
                    if event not in known or (event == "clock" and not self._answered()):
                        raise SlotLost("the supervisor sent an unknown message")
                    known = () if event in ("ended", "broken") else ("data", "taken", "clock", "ended")
                    yield header, data
                    header, data = await self._receive(_SESSION_BYTES)
                self._over = True
            finally:
                following.cancel()  # not awaited: a second cancellation here leaves the program to the next job
                self._answered()

    @contextlib.asynccontextmanager
    async def box(self, box: dict[str, Any]) -> AsyncIterator[None]:
        """Open a box in this slot, for `tell` and `hear`; no process of it outlives the block. Raises SlotLost, and
        BadJob if the image does not fit."""
        async with self._turn(box, frames.Body()):
            try:
                async with asyncio.timeout(START_S):
                    header, _ = await self._receive(_SESSION_BYTES)
            except TimeoutError:
                raise SlotLost("the slot missed its deadline") from None
            if header.get("ev") == "broken":
                if header.get("full"):
                    raise BadJob("limits.disk_mb", f"is too small for this image: {header.get('message')}")
                raise SlotBroken(f"a box could not be made: {header.get('message')}")
            if header.get("ev") != "opened":
                raise SlotLost("the supervisor sent an unknown message")
            yield

    def door(self) -> socket.socket:
        """Returns the listening socket of the box that was just opened with a port. Raises SlotLost."""
        if self._out is None:
            raise SlotLost("the slot was started without a network")
        numbers: list[int] = []
        try:
            self._out.setblocking(False)
            _, numbers, _, _ = socket.recv_fds(self._out, 1, 1)
            (number,) = numbers
            found = socket.socket(fileno=number)
        except (OSError, ValueError):
            raise SlotLost("the supervisor did not hand over the socket of its box") from None
        # Attack: a supervisor that was taken over hands over a descriptor of some other kind.
        if found.family != socket.AF_INET or not found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            found.close()
            raise SlotLost("the supervisor sent something other than its box's socket")
        return found

    async def tell(self, header: dict[str, Any], body: frames.Body | None = None) -> None:
        """Send a frame to the box in this slot. Raises SlotLost."""
        try:
            self._writer.writelines(frames.pack(header, body))
            await self._writer.drain()
        except OSError as error:
            self.lost = True
            raise SlotLost(f"the slot is gone ({type(error).__name__})") from None

    async def hear(self) -> tuple[dict[str, Any], bytes]:
        """Returns the next frame of the box in this slot. Raises SlotLost."""
        try:
            return await self._receive(_SESSION_BYTES)
        except (OSError, asyncio.IncompleteReadError, frames.FrameError) as error:
            self.lost = True
            raise SlotLost(f"the slot is gone ({type(error).__name__})") from None

    async def _follow(self, feed: Feed) -> None:
        """Forward the caller's input and requests to the supervisor as they arrive."""
        with contextlib.suppress(OSError):  # the reader notices it, too
            while True:
                await feed.changed.wait()
                for header, body in feed.orders():
                    self._writer.writelines(frames.pack(header, body))
                    if header["op"] == "clock" and self._late is None:
                        self._late = asyncio.get_running_loop().call_later(_ANSWER_S, self._writer.transport.abort)
                await self._writer.drain()

    def _answered(self) -> bool:
        """Note that the supervisor has reported the usage of its session. Returns whether it was asked to."""
        late, self._late = self._late, None
        if late is not None:
            late.cancel()
        return late is not None

    async def warm(self, tier: str) -> None:
        """Start the zygote of a tier. Raises SlotLost."""
        warming = self.run({"op": "warm", "tier": tier}, frames.Body(), _WARM_S, lambda _: None)
        async with contextlib.aclosing(warming) as answers:
            async for _ in answers:
                pass

    async def _stop(self) -> None:
        """End a job that has been abandoned."""
        try:
            self._writer.writelines(frames.pack({"op": "stop"}))
            while True:
                header, _ = await asyncio.wait_for(self._receive(), _STOP_S)
                if header.get("ev") == "end":
                    return
        except (OSError, TimeoutError, asyncio.IncompleteReadError, HostError, frames.FrameError):
            self.lost = True
        except asyncio.CancelledError:
            self.lost = True
            raise

    async def close(self) -> None:
        """Kill every process in the slot."""
        self.lost = True
        self._writer.close()
        if self._out is not None:
            self._out.close()
        await self.place.end()
        shutil.rmtree(self.lease.folder, ignore_errors=True)

    @property
    def gone(self) -> bool:
        """Returns whether the slot is lost, or the supervisor has disconnected."""
        return self.lost or self._reader.at_eof()

    async def _receive(self, max_body: int = frames.MAX_BODY) -> tuple[dict[str, Any], bytes]:
        """Receive the next frame. A cancelled call leaves the frame whole for the next one."""
        if self._prefix is None:
            self._prefix = await self._reader.readexactly(frames.PREFIX.size)
        head, size = frames.PREFIX.unpack(self._prefix)
        frames.check(head, size, max_body)
        data = await self._reader.readexactly(head + size)
        self._prefix = None
        try:
            header = json.loads(data[:head])
        except ValueError:
            raise SlotLost("the supervisor does not speak JSON") from None
        if not isinstance(header, dict):
            raise SlotLost("a frame's header must be an object")
        return header, data[head:]


def words_of(error: BaseException) -> str:
    """Returns the text of a system error, with the fix."""
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full: {error}; free some space, or set sandbox.folder to another place"
    if number in (errno.EMFILE, errno.ENFILE):
        return f"there are no descriptors left: {error}; raise the limit (ulimit -n)"
    if number == errno.EAGAIN:
        return f"there are no processes left: {error}; raise the limit (ulimit -u, pids.max)"
    return f"{type(error).__name__}: {error}"


async def _accept(listener: socket.socket, place: Place) -> socket.socket:
    loop = asyncio.get_running_loop()
    accepting = asyncio.ensure_future(loop.sock_accept(listener))
    dying = asyncio.ensure_future(place.over())
    try:
        await asyncio.wait({accepting, dying}, timeout=START_S, return_when=asyncio.FIRST_COMPLETED)
        if not accepting.done():
            raise NoRoom("its process died at once" if dying.done() else "its supervisor does not connect")
        channel, _ = accepting.result()
        return channel
    finally:
        for each in (accepting, dying):
            each.cancel()
        await asyncio.gather(accepting, dying, return_exceptions=True)


async def _greet(channel: socket.socket, place: Place, rooms: bool, out: socket.socket | None) -> set[str]:
    """Send the agent's sources, then hello with the counters' descriptors, and the socket `out`. Returns the counters'
    names."""
    loop = asyncio.get_running_loop()
    text = agent_sources()
    await loop.sock_sendall(channel, len(text).to_bytes(4, "big") + text)
    # The supervisor forks nothing before hello, so its processes can be put into their cgroup first.
    counters = await place.counters()
    try:
        hello = {
            "counters": [*counters, *([] if out is None else ["network"])],
            "env": ENVIRONMENT if place.defaults is None else dict(place.defaults.env),
            "inodes": _INODES,
            "rooms": rooms,
        }
        channel.setblocking(True)
        channel.settimeout(START_S)
        socket.send_fds(
            channel, [json.dumps(hello).encode()], [*counters.values(), *([] if out is None else [out.fileno()])]
        )
    finally:
        for number in counters.values():
            os.close(number)
        channel.setblocking(False)
    return set(counters)


@lru_cache(maxsize=1)
def agent_sources() -> bytes:
    """Returns the agent's modules in the form that its boot code reads: full name to source, empty for a package."""
    folder = Path(boot.__file__).parent
    package = f"{__package__}.agent"
    sources = {str(__package__): "", package: ""}
    sources |= {f"{package}.{path.stem}": path.read_text(encoding="utf-8") for path in sorted(folder.glob("[a-z]*.py"))}
    return json.dumps(sources).encode()
