"""The streams of a program that is fed and read while it runs.

What goes either way is counted: at most `WINDOW` bytes are under way, and the reader says what it has taken. So a
program that floods its output is not read any more, and one that reads nothing is not written to; nothing piles up.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol

from rewarden_sandboxes.agent.frames import WINDOW, Body, FrameError
from rewarden_sandboxes.agent.run import read

_PART = 1 << 16


class Tell(Protocol):
    """Sends a frame to the host."""

    def __call__(self, header: dict[str, Any], body: Body | None = None) -> None: ...


class Inlet:
    """A program's stdin. `number`: the writing end of its pipe, not blocking, which `close` closes; `taken`: told how
    many bytes have left.
    """

    def __init__(self, number: int, taken: Callable[[int], None]) -> None:
        self.number = number
        self._taken = taken
        self._pending = bytearray()
        self._deaf = self._ending = False

    @property
    def waits(self) -> bool:
        """Returns whether something is to be written as soon as there is room."""
        return bool(self._pending) and self.number >= 0

    def feed(self, data: bytes) -> None:
        """More for the program. Raises FrameError for more than is wanted."""
        if len(self._pending) + len(data) > WINDOW:
            raise FrameError("the host sent more than was wanted")
        self._pending += data
        if self._deaf:
            self.drop()
        else:
            self.write()

    def finish(self) -> None:
        """No more comes: its end follows what is still to be written."""
        self._ending = True
        if not self._pending:
            self.close()

    def write(self) -> None:
        """Write what there is room for."""
        if not self._pending or self.number < 0:  # what else came in this moment may have emptied it
            return
        try:
            done = os.write(self.number, self._pending)
        except BlockingIOError:
            return
        except BrokenPipeError:  # the program has closed its stdin
            self.drop()
            return
        del self._pending[:done]
        self._taken(done)
        if self._ending and not self._pending:
            self.close()

    def drop(self) -> None:
        """Nobody reads any more: what comes is taken, and lost."""
        self._deaf = True
        if self._pending:
            self._taken(len(self._pending))
            self._pending.clear()

    def close(self) -> None:
        """Close the pipe. Twice is once."""
        self.drop()
        if self.number >= 0:
            os.close(self.number)
            self.number = -1


class Outlet:
    """The way of a program's output to the host, as far as the host has room for it: `credit` bytes."""

    def __init__(self, tell: Tell, about: dict[str, Any]) -> None:
        """`about`: what the header of each frame says besides."""
        self.credit = WINDOW
        self._tell = tell
        self._about = about

    def pass_on(self, number: int, most: int = _PART, **about: Any) -> bytes | None:
        """Tell the host what lies in a pipe. Returns it: empty at its end, None where there is nothing, or no room."""
        most = min(self.credit, most, _PART)
        data = read(number, most) if most > 0 else None
        if data:
            self.credit -= len(data)
            out = Body()
            out.add(data)
            self._tell({"ev": "data", **self._about, **about}, out)
        return data
