"""A session: one program in one room. The host writes its stdin and reads its stdout while it runs."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from typing import Any

from rewarden_sandboxes.agent.accounting import held
from rewarden_sandboxes.agent.run import Run, read
from rewarden_sandboxes.agent.streams import Inlet, Outlet, Tell

STDERR_TAIL = 1 << 16
"""The number of bytes of stderr that are kept, from its end."""

_LOOK_S, _REST_S = 0.1, 1.0


class Session:
    """See the module. `feed`: the write end of the program's stdin, which `close` closes. `tell`, `heard`: send a frame
    to the host, receive one from it.
    """

    def __init__(self, run: Run, feed: int, tell: Tell, heard: Callable[[], tuple[dict[str, Any], bytes]]) -> None:
        self._run = run
        self._room = run.rooms[0]
        self._inlet = Inlet(feed, lambda size: tell({"ev": "taken", "bytes": size}))
        self._outlet = Outlet(tell, {})
        self._tell = tell
        self._heard = heard
        self._open = {"stdout": self._room.pipes["stdout"], "stderr": self._room.pipes["stderr"]}
        self._next_look = 0.0

    def serve(self, host: socket.socket) -> None:
        """Serves until the program has exited and the host has all its output. Afterwards the room is dead.

        An exception of `heard` ends it earlier.
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
                self._inlet.drop()
            if self._inlet.number in ready:
                self._inlet.write()
            for name, number in list(self._open.items()):
                if number in ready:
                    self._read(name, number)
            if not room.ended and time.monotonic() >= self._next_look:
                self._look()

    def close(self) -> None:
        """Closes the program's stdin."""
        self._inlet.close()

    def _poll(self, host: socket.socket) -> set[int]:
        poll = select.poll()
        poll.register(host, select.POLLIN)
        for name, number in self._open.items():
            if name != "stdout" or self._outlet.credit:
                poll.register(number, select.POLLIN)
        wait: float | None = None
        if not self._room.ended:
            poll.register(self._room.watch, select.POLLIN)
            if self._inlet.waits:
                poll.register(self._inlet.number, select.POLLOUT)
            wait = max(0.0, (self._next_look - time.monotonic()) * 1000 + 0.5)
        return {number for number, _ in poll.poll(wait)}

    def _heed(self, header: dict[str, Any], body: bytes) -> None:
        if header["op"] == "data":
            self._inlet.feed(body)
            self._soon()
        elif header["op"] == "credit":
            self._outlet.credit += int(header["bytes"])
        elif header["op"] == "clock":
            clock, room = self._run.clock, self._room
            if not room.ended:
                self._look()
            memory = 0 if room.ended else held((room.pid, room.init))
            self._tell({"ev": "clock", "cpu_s": clock.cpu(), "idle_s": clock.idle, "memory": memory})

    def _read(self, name: str, number: int) -> None:
        if name == "stderr":
            data = read(number)
            if data:
                self._room.keep_tail(name, data, STDERR_TAIL)
        else:
            data = self._outlet.pass_on(number)
            if data:
                self._soon()
        if data == b"":
            del self._open[name]

    # --- checks ----------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Measures the room's usage, and checks its memory limit."""
        clock, room = self._run.clock, self._room
        clock.tick([(room.pid, room.init)])
        if self._run.out_of_memory:
            self._end()
        self._next_look = time.monotonic() + (_REST_S if clock.resting else _LOOK_S)

    def _end(self) -> None:
        self._room.end()
        self._inlet.drop()

    def _soon(self) -> None:
        """Schedules the next check soon, because there is traffic."""
        self._next_look = min(self._next_look, time.monotonic() + _LOOK_S)
