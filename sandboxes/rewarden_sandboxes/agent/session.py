"""A session: one program in one room, fed and read by the host while it runs, for as long as the host wants.

What goes either way is counted: at most `WINDOW` bytes are under way, and the reader says what it has taken. So a
program that floods its output is not read any more, and one that reads nothing is not written to; nothing piles up.
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable
from typing import Any, Protocol

from rewarden_sandboxes.agent.accounting import held
from rewarden_sandboxes.agent.frames import WINDOW, Body, FrameError
from rewarden_sandboxes.agent.run import Run, read

STDERR_TAIL = 1 << 16
"""Bytes of stderr that are kept: the last."""

_LOOK_S, _REST_S = 0.1, 1.0


class Tell(Protocol):
    """Sends a frame to the host."""

    def __call__(self, header: dict[str, Any], body: Body | None = None) -> None: ...


class Session:
    """See the module. `feed`: the writing end of the program's stdin. `tell`, `heard`: to the host, and from it."""

    def __init__(self, run: Run, feed: int, tell: Tell, heard: Callable[[], tuple[dict[str, Any], bytes]]) -> None:
        self._run = run
        self._room = run.rooms[0]
        self._feed = feed
        self._tell = tell
        self._heard = heard
        self._pending = bytearray()
        self._deaf = False
        self._credit = WINDOW
        self._open = {"stdout": self._room.pipes["stdout"], "stderr": self._room.pipes["stderr"]}
        self._next_look = 0.0

    def serve(self, host: socket.socket) -> None:
        """Until the program has ended and all that it wrote is with the host. Afterwards the room is dead.

        `heard` raises what ends it earlier.
        """
        room = self._room
        self._look()
        while self._open or not room.ended:
            ready = self._poll(host)
            if not room.ended and self._run.killed_for_memory():
                self._end()
                continue
            if host.fileno() in ready:
                self._heed(*self._heard())
            if not room.ended and room.watch in ready:
                room.reap()
                self._drop()
            if self._feed in ready and self._pending:  # what else came in this moment may have emptied it
                self._write()
            for name, number in list(self._open.items()):
                if number in ready:
                    self._read(name, number)
            if not room.ended and time.monotonic() >= self._next_look:
                self._look()

    def _poll(self, host: socket.socket) -> set[int]:
        poll = select.poll()
        poll.register(host, select.POLLIN)
        for name, number in self._open.items():
            if name != "stdout" or self._credit:
                poll.register(number, select.POLLIN)
        wait: float | None = None
        if not self._room.ended:
            poll.register(self._room.watch, select.POLLIN)
            if self._pending:
                poll.register(self._feed, select.POLLOUT)
            wait = max(0.0, (self._next_look - time.monotonic()) * 1000 + 0.5)
        return {number for number, _ in poll.poll(wait)}

    def _heed(self, header: dict[str, Any], body: bytes) -> None:
        if header["op"] == "data":
            if len(self._pending) + len(body) > WINDOW:
                raise FrameError("the host sent more than was wanted")
            self._pending += body
            if self._deaf:
                self._drop()
            else:
                self._write()
            self._soon()
        elif header["op"] == "credit":
            self._credit += int(header["bytes"])
        elif header["op"] == "clock":
            clock, room = self._run.clock, self._room
            if not room.ended:
                self._look()
            memory = 0 if room.ended else held((room.pid, room.init))
            self._tell({"ev": "clock", "cpu_s": clock.cpu(), "idle_s": clock.idle, "memory": memory})

    # --- stdin -----------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        try:
            done = os.write(self._feed, self._pending)
        except BlockingIOError:
            return
        except BrokenPipeError:  # the program has closed its stdin
            self._drop()
            return
        del self._pending[:done]
        self._tell({"ev": "taken", "bytes": done})

    def _drop(self) -> None:
        """Nobody reads stdin any more: what comes for it is taken, and lost."""
        self._deaf = True
        if self._pending:
            self._tell({"ev": "taken", "bytes": len(self._pending)})
            self._pending.clear()

    # --- stdout and stderr -----------------------------------------------------------------------------------------

    def _read(self, name: str, number: int) -> None:
        if name == "stderr":
            data = read(number)
            if data:
                self._room.keep_tail(name, data, STDERR_TAIL)
        else:
            data = read(number, min(self._credit, 1 << 16)) if self._credit else None
            if data:
                self._credit -= len(data)
                out = Body()
                out.add(data)
                self._tell({"ev": "data"}, out)
                self._soon()
        if data == b"":
            del self._open[name]

    # --- looking ---------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Measure what the room has used, and check whether that was too much memory."""
        clock, room = self._run.clock, self._room
        clock.tick([(room.pid, room.init)])
        if self._run.out_of_memory:
            self._end()
        self._next_look = time.monotonic() + (_REST_S if clock.resting else _LOOK_S)

    def _end(self) -> None:
        self._room.end()
        self._drop()

    def _soon(self) -> None:
        """There is traffic: look again before long."""
        self._next_look = min(self._next_look, time.monotonic() + _LOOK_S)
