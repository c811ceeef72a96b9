"""The streams of a program whose input and output are passed on while it runs.

Both directions have flow control: at most `WINDOW` bytes are in flight, and the reader acknowledges what it has read. A
program that floods its output is simply not read, and one that ignores its input is not written to; nothing piles up.
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
    """A program's stdin. `number`: the writing end of its pipe, which does not block and which `close` closes; `taken`:
    called with the number of bytes that have been written or dropped.
    """

    def __init__(self, number: int, taken: Callable[[int], None]) -> None:
        self.number = number
        self._taken = taken
        self._pending = bytearray()
        self._deaf = self._ending = False

    @property
    def waits(self) -> bool:
        """Returns whether bytes wait for room in the pipe."""
        return bool(self._pending) and self.number >= 0

    def feed(self, data: bytes) -> None:
        """Writes more, now or when there is room. Raises FrameError for more than the window allows."""
        if len(self._pending) + len(data) > WINDOW:
            raise FrameError("the host sent more than the window allows")
        self._pending += data
        if self._deaf:
            self.drop()
        else:
            self.write()

    def finish(self) -> None:
        """Closes the pipe once everything has been written."""
        self._ending = True
        if not self._pending:
            self.close()

    def write(self) -> None:
        """Writes as much as there is room for."""
        if not self._pending or self.number < 0:  # another event of the same poll may have emptied it
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
        """Discards the queued bytes and everything that follows, because nobody reads it any more."""
        self._deaf = True
        if self._pending:
            self._taken(len(self._pending))
            self._pending.clear()

    def close(self) -> None:
        """Closes the pipe, unless it is closed."""
        self.drop()
        if self.number >= 0:
            os.close(self.number)
            self.number = -1


class Outlet:
    """A program's output on its way to the host. `credit`: bytes that the host still has room for."""

    def __init__(self, tell: Tell, about: dict[str, Any]) -> None:
        """`about`: further entries for the header of each frame."""
        self.credit = WINDOW
        self._tell = tell
        self._about = about

    def pass_on(self, number: int, most: int = _PART, **about: Any) -> bytes | None:
        """Passes on the content of a pipe, and returns it: empty at its end, None if there is nothing yet or no
        room.
        """
        most = min(self.credit, most, _PART)
        data = read(number, most) if most > 0 else None
        if data:
            self.credit -= len(data)
            out = Body()
            out.add(data)
            self._tell({"ev": "data", **self._about, **about}, out)
        return data
