"""An open box on its host: one slot, and the channels of its execs. If nobody uses a box and nothing runs in it for a
while, it *rests*: its files are kept on the host's disk, its slot ends, and it takes up no process and no memory. The
next use restores the files in a fresh slot.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
import json
import posixpath
import tempfile
import zlib
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewarden_sandboxes.agent import frames
from rewarden_sandboxes.box import (
    MOST_EXECS,
    READING_ALL,
    WITH_LAYERS,
    BoxEvent,
    Exec,
    ExecEvent,
    Files,
    Opened,
    Output,
    Still,
    Work,
    is_own,
)
from rewarden_sandboxes.errors import BadJob, HostError
from rewarden_sandboxes.job import Clock, Limits, Report
from rewarden_sandboxes.network.proxy import Door
from rewarden_sandboxes.reading import report_of
from rewarden_sandboxes.resolve import Resolver
from rewarden_sandboxes.session import Begun, Feed, Taken
from rewarden_sandboxes.slot import Slot, SlotBroken, SlotLost


class _Line:
    """The supervisor's unread messages about one exec, or about the box itself; `Feed` bounds them."""

    def __init__(self, feed: Feed, *, helper: bool) -> None:
        self.feed = feed
        self.helper = helper
        self.events: asyncio.Queue[ExecEvent | BoxEvent | HostError] = asyncio.Queue()


MOST_KEPT = 64 << 20
"""The maximum size of a resting box's files, in bytes. More would delay its next exec, and fill the host's disk."""
_PART = 1 << 18
_LEVEL = 1
"""The gzip level: an untouched box shrinks to a tenth. Higher levels take longer and gain little."""

Lodge = Callable[[], AbstractAsyncContextManager[Slot]]
"""Opens a fresh box in a slot, which ends with the block."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A resting box. path: that of its snapshot. clock: the box's clock when it was taken."""

    path: Path
    clock: Clock


class OpenBox:
    """See the module. Use it in an `async with` block; at its end, nobody listens any more. `limits`: the box's, with
    the defaults filled in. `folder`: where its files are kept while it rests, which starts after `rest_s` seconds; 0:
    never. `door`: its way to the network. `opened`: the event for its caller.
    """

    def __init__(
        self,
        lodge: Lodge,
        resolver: Resolver,
        image: str,
        limits: dict[str, Any],
        folder: Path,
        rest_s: float,
        door: Door | None = None,
    ) -> None:
        self.opened: Opened
        self._lodge = lodge
        self._resolver = resolver
        self._image = image
        self._limits = limits
        self._folder = folder
        self._rest_s = rest_s
        self._door = door
        self._lines: dict[int | None, _Line] = {}
        self._numbers = itertools.count(1)
        self._fault: HostError | None = None
        self._slot: Slot | None = None
        self._kept: _Kept | None = None
        self._earlier_s = 0.0
        """The box's CPU time in earlier slots, in seconds, without what the present slot used to start."""
        self._usage: asyncio.Future[Clock] | None = None
        self._still = False
        self._users = 0
        self._moving = asyncio.Lock()
        """Held while the box moves into or out of a slot."""
        self._timer: asyncio.TimerHandle | None = None
        self._retiring: asyncio.Task[None] | None = None

    async def __aenter__(self) -> OpenBox:
        slot = await self._move_in()
        limits = Limits(**self._limits)
        self.opened = Opened(image=slot.image, limits=limits, enforced=slot.enforced, folder=slot.folder)
        self._wait_to_rest()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stay()
        if self._retiring is not None:
            self._retiring.cancel()
            await asyncio.gather(self._retiring, return_exceptions=True)
        if self._slot is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        self._over_with(HostError("the box is over"))
        if self._slot is not None:
            await self._place.aclose()
        if self._kept is not None:
            self._kept.path.unlink(missing_ok=True)

    @property
    def rests(self) -> bool:
        """True if it has no slot."""
        return self._kept is not None

    # --- its slot ----------------------------------------------------------------------------------------------------

    async def _move_in(self) -> Slot:
        place = contextlib.AsyncExitStack()
        slot = self._slot = await place.enter_async_context(self._lodge())
        self._place = place
        self._listening = asyncio.get_running_loop().create_task(self._listen(slot))
        return slot

    async def _move_out(self) -> None:
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        self._slot = None
        await self._place.aclose()

    async def _tell(self, header: dict[str, Any], body: frames.Body | None = None) -> None:
        if self._slot is None:
            raise self._fault or HostError("the box is over")
        await self._slot.tell(header, body)

    @contextlib.asynccontextmanager
    async def _awake(self) -> AsyncGenerator[None, None]:
        """Keeps the box in a slot during the block. Raises HostError if it gets none."""
        await self._occupy()
        try:
            yield
        finally:
            self._vacate()

    async def _occupy(self) -> None:
        self._users += 1
        self._stay()
        try:
            async with self._moving:
                if self._kept is not None:
                    await self._wake(self._kept)
        except BaseException:
            self._vacate()
            raise

    def _vacate(self) -> None:
        self._users -= 1
        self._wait_to_rest()

    def _wait_to_rest(self) -> None:
        if self._rest_s and not self._users and self._kept is None and self._fault is None:
            self._stay()
            self._timer = asyncio.get_running_loop().call_later(self._rest_s, self._retire)

    def _stay(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _retire(self) -> None:
        self._retiring = asyncio.get_running_loop().create_task(self._rest())

    async def _rest(self) -> None:
        """Gives up the slot if nothing runs in the box and everything in it can be kept."""
        path: Path | None = None
        async with self._moving:
            try:
                clock = await self._ask_usage()
                if clock.processes:  # a process that a program left behind may end later
                    self._wait_to_rest()
                    return
                if self._users or (clock.disk or 0) > MOST_KEPT or await self._work("left") != {"dropped": 0}:
                    return
                number, name = tempfile.mkstemp(prefix="rest-", dir=self._folder)
                path = Path(name)
                with open(number, "wb") as packed, gzip.open(packed, "wb", _LEVEL) as file:
                    told = await self._work("snapshot", into=file)
                # Whoever waits for the lock wants to use the box.
                if not self._users and told == {"dropped": 0}:
                    await asyncio.shield(self._move_out())
                    self._kept, path = _Kept(path, clock), None
            except (HostError, OSError):
                return  # it stays in its slot; if the slot is lost, the caller is told
            finally:
                if path is not None:
                    path.unlink(missing_ok=True)

    async def _wake(self, kept: _Kept) -> None:
        """Moves into a slot. Raises HostError if there is none or the box has ended."""
        slot = await self._move_in()
        try:
            if slot.image != self.opened.image:
                raise SlotLost("the image of the box was replaced while the box was resting")
            with gzip.open(kept.path, "rb") as file:
                await self._work("restore", source=file)
            clock = await self._ask_usage()
        except (HostError, OSError, EOFError, zlib.error) as error:
            fault = error if isinstance(error, HostError) else SlotLost(f"the files of the box are lost: {error}")
            self._over_with(fault)
            await self._move_out()  # nobody else deletes it if the box was closed in the meantime
            raise fault from None
        except BaseException:  # its caller has left: the next one wakes it
            await asyncio.shield(self._move_out())
            raise
        self._earlier_s += kept.clock.cpu_s - clock.cpu_s
        self._kept = None
        kept.path.unlink(missing_ok=True)

    async def _ask_usage(self) -> Clock:
        self._usage = asyncio.get_running_loop().create_future()
        await self._tell({"op": "usage"})
        return await self._usage

    async def _work(self, work: Work, into: Any = None, source: Any = None) -> dict[str, Any]:
        """Works on files for the host itself. Returns the report. `into`: a file for the output; `source`: a file with
        the input. Raises HostError, OSError.
        """
        feed, said, waiting = Feed(), b"", 0
        what = Exec(files=Files(work=work), stdin=source is not None, cwd="/")
        async with contextlib.aclosing(self._run(what, feed)) as events:
            async for event in events:
                if isinstance(event, Output):
                    feed.grant(len(event.data))
                    if event.stream == "stderr":
                        said = (said + event.data)[-_PART:]
                    else:
                        await asyncio.to_thread(into.write, event.data)
                elif isinstance(event, Report) and event.status != "ok":
                    raise SlotLost(f"{work} of a resting box ended with {event.status}: {said.decode()}")
                elif source is not None and isinstance(event, (Begun, Taken)):
                    waiting -= event.size if isinstance(event, Taken) else 0
                    while source is not None and waiting + _PART <= frames.WINDOW:
                        data = await asyncio.to_thread(source.read, _PART)
                        waiting += len(data)
                        if data:
                            feed.send(data)
                        else:
                            feed.finish()
                            source = None
        told: dict[str, Any] = json.loads(said)
        return told

    # --- its lines ---------------------------------------------------------------------------------------------------

    async def told(self, feed: Feed) -> AsyncGenerator[BoxEvent, None]:
        """Yields the events of the box itself. Raises HostError when it has ended."""
        async with self._line(None, feed, helper=False) as line:
            while True:
                event = await line.events.get()
                if isinstance(event, HostError):
                    raise event
                assert isinstance(event, (Clock, Still))
                yield event

    async def exec(self, what: Exec, feed: Feed) -> AsyncGenerator[ExecEvent, None]:
        """Yields the events of an exec, up to its report. Closing the iterator early kills it. Raises BadJob; HostError
        when the box has ended; NoRoom if it rested and gets no slot.
        """
        async with self._awake(), contextlib.aclosing(self._run(what, feed)) as events:
            async for event in events:
                yield event

    async def _run(self, what: Exec, feed: Feed) -> AsyncGenerator[ExecEvent, None]:
        program, body = self._program(what)
        helper = what.files is not None
        alike = sum(line.helper == helper for number, line in self._lines.items() if number is not None)
        if alike >= MOST_EXECS:
            raise BadJob(
                "", f"{MOST_EXECS} {'operations on files' if helper else 'programs'} are already running in this box"
            )
        number = next(self._numbers)
        order = {
            "op": "exec",
            "n": number,
            "program": program,
            "helper": helper,
            "reads_all": what.files is not None and what.files.work in READING_ALL,
            "layers": what.files is not None and what.files.work == WITH_LAYERS,
            "cwd": posixpath.join(self.opened.folder, what.cwd) if what.cwd else self.opened.folder,
            "env": dict(what.env),
            "limits": what.limits.given(),
            "stdin": what.stdin,
        }
        ended = False
        async with self._line(number, feed, helper=helper) as line:
            try:
                await self._tell(order, body)
                while not ended:
                    event = await line.events.get()
                    if isinstance(event, HostError):
                        ended = True
                        raise event
                    assert not isinstance(event, Still)
                    ended = isinstance(event, Report)
                    yield event
            finally:
                if not ended and self._fault is None:
                    with contextlib.suppress(HostError):
                        await asyncio.shield(self._tell({"op": "kill", "n": number}))

    def _program(self, what: Exec) -> tuple[dict[str, Any], frames.Body]:
        if what.files is None:
            return self._resolver.exec(what, own_image=is_own(self._image))
        body = frames.Body()
        return {"mode": "files", "request": body.add(what.files.request())}, body

    @contextlib.asynccontextmanager
    async def _line(self, number: int | None, feed: Feed, *, helper: bool) -> AsyncGenerator[_Line, None]:
        if self._fault is not None:
            raise self._fault
        line = self._lines[number] = _Line(feed, helper=helper)
        following = asyncio.get_running_loop().create_task(self._follow(number, feed))
        try:
            yield line
        finally:
            following.cancel()
            del self._lines[number]

    async def _follow(self, number: int | None, feed: Feed) -> None:
        """Passes the caller's orders on to the supervisor as they arrive."""
        with contextlib.suppress(HostError):  # the listener finds out too
            while True:
                await feed.changed.wait()
                for header, body in feed.orders():
                    if number is None:
                        await self._obey(header, body)
                    else:
                        await self._tell({**header, "n": number}, body)

    async def _obey(self, header: dict[str, Any], body: frames.Body) -> None:
        """Carries out the caller's orders for the box as a whole. Raises HostError, which ends the box."""
        still = header.get("still")
        if still and not self._still:
            self._still = True
            try:
                await self._occupy()
            except HostError as error:
                self._over_with(error)
                raise
        async with self._moving:
            if self._kept is not None and header["op"] == "clock":
                clock = replace(self._kept.clock, processes=0)
                self._lines[None].events.put_nowait(self._whole(clock))
            else:
                await self._tell({**header, "n": None}, body)
        if still is False and self._still:
            self._still = False
            self._vacate()

    def _whole(self, clock: Clock) -> Clock:
        """Returns the clock of the box, including what only the host knows."""
        clock = replace(clock, cpu_s=clock.cpu_s + self._earlier_s)
        door = self._door
        return clock if door is None else replace(clock, unserved=door.unserved(), refused=tuple(door.refused))

    async def _listen(self, slot: Slot) -> None:
        try:
            while True:
                self._note(slot, *await slot.hear())
        except HostError as error:
            self._over_with(error)
        except (KeyError, TypeError, ValueError, frames.FrameError):
            slot.lost = True
            self._over_with(SlotLost("the supervisor sent an unknown message about a box"))

    def _over_with(self, fault: HostError) -> None:
        if self._fault is None:
            self._fault = fault
            for line in self._lines.values():
                line.events.put_nowait(fault)
            if self._usage is not None and not self._usage.done():
                self._usage.set_exception(fault)
                self._usage.exception()  # nobody needs to look at it

    def _note(self, slot: Slot, header: dict[str, Any], body: bytes) -> None:
        event = header["ev"]
        if event == "broken":
            slot.lost = True
            raise SlotBroken(f"the box failed: {header.get('message')}")
        if event == "usage":
            if self._usage is not None and not self._usage.done():
                self._usage.set_result(_clock(header))
            return
        line = self._lines.get(None if event == "still" else header["n"])
        if line is None:
            return  # nobody wants it any more
        feed = line.feed
        if event == "begun":
            line.events.put_nowait(Begun())
        elif event == "data":
            line.events.put_nowait(Output(header["stream"], feed.came(body)))
        elif event == "taken":
            line.events.put_nowait(feed.took(int(header["bytes"])))
        elif event == "clock":
            clock = _clock(header)
            line.events.put_nowait(self._whole(clock) if header["n"] is None else clock)
        elif event == "still":
            line.events.put_nowait(Still(bool(header["still"])))
        elif event == "ended":
            line.events.put_nowait(report_of(header["report"], body, slot.enforced))
        else:
            raise ValueError(event)


def _clock(header: dict[str, Any]) -> Clock:
    counts: dict[str, Any] = {name: int(header[name]) for name in ("memory", "disk", "processes") if name in header}
    return Clock(cpu_s=float(header["cpu_s"]), idle_s=float(header["idle_s"]), **counts)
