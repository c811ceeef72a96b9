"""The caller's side of a program or a box on a host: sends orders and receives events, with flow control both ways."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from rewarden_sandboxes.agent.frames import WINDOW
from rewarden_sandboxes.box import Opened, Output, Still
from rewarden_sandboxes.codec import refusal_from_message
from rewarden_sandboxes.errors import HostError, HostLost, Leaving
from rewarden_sandboxes.job import Clock, Report
from rewarden_sandboxes.session import Begun, Taken
from rewarden_sandboxes.talk import Talk
from rewarden_sandboxes.v1 import sandbox_pb2 as pb

_PART = 1 << 16
"""The most bytes of a program's stdin in one message."""

Piece = TypeVar("Piece", bytes, Output)
Event = Begun | Opened | bytes | Output | Taken | Clock | Still | Report


class Exchange(Generic[Piece]):
    """See the module. Only one task at a time may await each method.

    The host kills it when the connection closes: the owner must close this or the client.
    """

    def __init__(self, talk: Talk, order: pb.Order, read: Callable[[pb.Answer], Event], name: str) -> None:
        """Send the order that begins it. `read`: parses an answer, or raises ValueError. `name`: for error messages."""
        self.report: Report | None = None
        """The report of its end, once all its output has been read."""
        self.fault: HostError | None = None
        """The reason why it is over, if it did not end by itself."""
        self._talk = talk
        self._number = order.id
        self._of = read
        self._name = name
        self._answers = talk.expect(order.id)
        talk.order(order)
        self._begun = asyncio.Event()
        self._changed = asyncio.Event()
        self._ended: Report | None = None
        self._output: deque[Piece] = deque()
        self._read = 0
        self._room = WINDOW
        self._clocks: deque[asyncio.Future[Clock]] = deque()
        self._listening = asyncio.get_running_loop().create_task(self._listen())

    @property
    def host_lost(self) -> bool:
        """Returns whether it ended because its host is lost or about to end, which its program cannot have caused by
        killing its slot.
        """
        return isinstance(self.fault, (HostLost, Leaving))

    async def begin(self) -> None:
        """Wait until it runs. Raises HostError if it cannot."""
        while not self._begun.is_set() and not self._over:
            await self._change()
        if self.fault is not None:
            raise self.fault

    async def send(self, data: bytes) -> None:
        """Write to its stdin; waits while `WINDOW` bytes are unacknowledged. Raises HostError if it has ended."""
        view = memoryview(data)
        while view:
            while not self._room and not self._over:
                await self._change()
            if self._over:
                raise self.fault or HostError("the program has ended")
            part = view[: min(self._room, _PART)]
            self._room -= len(part)
            self._talk.order(pb.Order(id=self._number, data=bytes(part)))
            view = view[len(part) :]

    async def clock(self) -> Clock:
        """Returns its usage so far. Raises HostError if it is lost."""
        if self.fault is not None:
            raise self.fault
        if self._ended is not None:
            return _last_clock(self._ended)
        future: asyncio.Future[Clock] = asyncio.get_running_loop().create_future()
        self._clocks.append(future)
        if len(self._clocks) == 1:
            self._talk.order(pb.Order(id=self._number, clock=True))
        return await future

    async def close(self) -> None:
        """Kill it. Returns when none of its processes runs. Idempotent."""
        self.leave()
        await asyncio.shield(self._listening)

    def leave(self) -> None:
        """Kill it like `close`, without waiting."""
        if not self._over:
            self._over_with(HostError(f"the {self._name} was closed"))
            self._talk.order(pb.Order(id=self._number, cancel=True))

    async def _next(self) -> Piece | None:
        """Returns the next piece of output; None when it has ended. At most `WINDOW` unread bytes are buffered. Raises
        HostError if it is lost.
        """
        while not self._output and not self._over:
            await self._change()
        if self._output:
            piece = self._output.popleft()
            self._read += len(_data(piece))
            if self._read >= WINDOW // 4 and not self._over:
                self._talk.order(pb.Order(id=self._number, taken=self._read))
                self._read = 0
            return piece
        if self.fault is not None:
            raise self.fault
        self.report = self._ended
        return None

    @property
    def _over(self) -> bool:
        return self._ended is not None or self.fault is not None

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _listen(self) -> None:
        """Receive answers until the last one."""
        whole = False
        try:
            while (answer := await self._answers.get()) is not None:
                if answer.WhichOneof("item") == "refusal":
                    self._over_with(refusal_from_message(answer.refusal))
                elif not self._over and answer.WhichOneof("item") is not None:
                    self._note(self._of(answer))
                whole = answer.last
                if whole:
                    break
            self._over_with(HostLost(self._talk.why))
        except ValueError as error:
            self._over_with(HostError(f"the host's answer cannot be read: {error}"))
        finally:
            self._talk.forget(self._number, cancel=not whole)

    def _note(self, event: Event) -> None:
        match event:
            case Begun() | Opened():
                self._begun.set()
            case bytes() | Output():
                self._output.append(event)  # type: ignore[arg-type]  # of the kind that `read` returns
            case Taken():
                self._room += event.size
            case Clock():
                self._settle(event)
            case Report():
                self._ended = event
                self._settle(_last_clock(event))
            case Still():
                pass  # belongs to a box
        self._changed.set()

    def _over_with(self, fault: HostError) -> None:
        if not self._over:
            self.fault = fault
            self._settle(fault)
        self._changed.set()

    def _settle(self, told: Clock | HostError) -> None:
        """Answer all callers that wait for the clock."""
        while self._clocks:
            future = self._clocks.popleft()
            if future.done():
                continue
            if isinstance(told, Clock):
                future.set_result(told)
            else:
                future.set_exception(told)


def _data(piece: bytes | Output) -> bytes:
    return piece.data if isinstance(piece, Output) else piece


def _last_clock(report: Report) -> Clock:
    return Clock(cpu_s=report.cpu_time, idle_s=report.idle_time, memory=0)
