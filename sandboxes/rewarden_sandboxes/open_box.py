"""An open box, as the host has it: one slot, and the lines of its execs."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import posixpath
from collections.abc import AsyncGenerator
from typing import Any

from rewarden_sandboxes.agent import frames
from rewarden_sandboxes.box import (
    MOST_EXECS,
    READING_ALL,
    WITH_LAYERS,
    BoxEvent,
    Exec,
    ExecEvent,
    Opened,
    Output,
    Still,
    is_own,
)
from rewarden_sandboxes.errors import BadJob, HostError
from rewarden_sandboxes.job import Clock, Limits, Report
from rewarden_sandboxes.reading import report_of
from rewarden_sandboxes.resolve import Resolver
from rewarden_sandboxes.session import Begun, Feed
from rewarden_sandboxes.slot import Slot, SlotBroken, SlotLost


class _Line:
    """The words of the supervisor about one exec, or the box itself, until somebody reads them: `Feed` bounds them."""

    def __init__(self, feed: Feed, *, helper: bool) -> None:
        self.feed = feed
        self.helper = helper
        self.events: asyncio.Queue[ExecEvent | BoxEvent | HostError] = asyncio.Queue()


class OpenBox:
    """See the module. Used in an `async with`, at whose end nobody listens any more. `limits`: the box's, settled.
    `opened`: what its caller is told.
    """

    def __init__(self, slot: Slot, resolver: Resolver, limits: dict[str, Any]) -> None:
        self.opened = Opened(image=slot.image, limits=Limits(**limits), enforced=slot.enforced, folder=slot.folder)
        self._slot = slot
        self._resolver = resolver
        self._lines: dict[int | None, _Line] = {}
        self._numbers = itertools.count(1)
        self._fault: HostError | None = None

    async def __aenter__(self) -> OpenBox:
        self._listening = asyncio.get_running_loop().create_task(self._listen())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        self._over_with(HostError("the box is over"))

    async def told(self, feed: Feed) -> AsyncGenerator[BoxEvent, None]:
        """Yields what the box says of itself. Raises HostError when it is over."""
        async with self._line(None, feed, helper=False) as line:
            while True:
                event = await line.events.get()
                if isinstance(event, HostError):
                    raise event
                assert isinstance(event, (Clock, Still))
                yield event

    async def exec(self, what: Exec, feed: Feed) -> AsyncGenerator[ExecEvent, None]:
        """Yields what an exec does, until its report. Closing the iterator early kills it. Raises BadJob, and HostError
        when the box is over.
        """
        program, body = self._program(what)
        helper = what.files is not None
        alike = sum(line.helper == helper for number, line in self._lines.items() if number is not None)
        if alike >= MOST_EXECS:
            raise BadJob("", f"{MOST_EXECS} {'operations on files' if helper else 'programs'} run in this box already")
        number = next(self._numbers)
        order = {
            "op": "exec",
            "n": number,
            "program": program,
            "helper": helper,
            "reads_all": what.files is not None and what.files.work in READING_ALL,
            "layers": what.files is not None and what.files.work == WITH_LAYERS,
            "cwd": posixpath.join(self._slot.folder, what.cwd) if what.cwd else self._slot.folder,
            "env": dict(what.env),
            "limits": what.limits.given(),
            "stdin": what.stdin,
        }
        ended = False
        async with self._line(number, feed, helper=helper) as line:
            try:
                await self._slot.tell(order, body)
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
                        await asyncio.shield(self._slot.tell({"op": "kill", "n": number}))

    def _program(self, what: Exec) -> tuple[dict[str, Any], frames.Body]:
        if what.files is None:
            return self._resolver.exec(what, own_image=is_own(self._slot.lease.image))
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
        """Tell the supervisor what the caller wants, as it comes."""
        with contextlib.suppress(SlotLost):  # whoever listens finds out as well
            while True:
                await feed.changed.wait()
                for header, body in feed.orders():
                    await self._slot.tell({**header, "n": number}, body)

    async def _listen(self) -> None:
        try:
            while True:
                self._note(*await self._slot.hear())
        except HostError as error:
            self._over_with(error)
        except (KeyError, TypeError, ValueError, frames.FrameError):
            self._slot.lost = True
            self._over_with(SlotLost("the supervisor sent an unknown message about a box"))

    def _over_with(self, fault: HostError) -> None:
        if self._fault is None:
            self._fault = fault
            for line in self._lines.values():
                line.events.put_nowait(fault)

    def _note(self, header: dict[str, Any], body: bytes) -> None:
        event = header["ev"]
        if event == "broken":
            self._slot.lost = True
            raise SlotBroken(f"the box broke: {header.get('message')}")
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
            counts = {name: int(header[name]) for name in ("memory", "disk", "processes") if name in header}
            line.events.put_nowait(Clock(cpu_s=float(header["cpu_s"]), idle_s=float(header["idle_s"]), **counts))
        elif event == "still":
            line.events.put_nowait(Still(bool(header["still"])))
        elif event == "ended":
            line.events.put_nowait(report_of(header["report"], body, self._slot.enforced))
        else:
            raise ValueError(event)
