"""Flow control, in both directions, between the caller of a program and its slot.

At most `WINDOW` bytes are in flight each way; sending more is a protocol error. So the host's buffers are bounded,
whatever the caller or the program does.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from rewarden_sandboxes.agent import frames
from rewarden_sandboxes.agent.frames import WINDOW
from rewarden_sandboxes.errors import BadJob
from rewarden_sandboxes.job import Clock, Report


@dataclass(frozen=True, slots=True)
class Begun:
    """The program runs."""


@dataclass(frozen=True, slots=True)
class Taken:
    """The program has taken this many bytes of its input, or they were dropped because it has stopped reading."""

    size: int


_MOST_WISHES = 64

SessionEvent = Begun | bytes | Taken | Clock | Report
"""The events of a session. bytes: output on stdout. A report is the last."""


class Feed:
    """The input and requests of a caller, until they are sent to the slot. Never blocks, buffers at most `WINDOW`
    bytes.
    """

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self._data = bytearray()
        self._credit = 0
        self._asked = False
        self._ended = False
        self._others: list[dict[str, Any]] = []
        self._sent = 0  # bytes that the program has not taken
        self._wanted = WINDOW  # bytes that the program may still send

    # --- the caller's side -------------------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Append data for stdin. Raises BadJob if it exceeds the window."""
        if self._sent + len(data) > WINDOW:
            raise BadJob("data", f"more than {WINDOW} bytes were sent that the program has not taken")
        self._sent += len(data)
        self._data += data
        self.changed.set()

    def grant(self, size: int) -> None:
        """Acknowledge bytes of stdout. Raises BadJob for more than were sent."""
        if self._wanted + self._credit + size > WINDOW:
            raise BadJob("credit", "more bytes were read than were sent")
        self._credit += size
        self.changed.set()

    def ask(self) -> None:
        """Request the clock."""
        self._asked = True
        self.changed.set()

    def finish(self) -> None:
        """Close stdin."""
        self._ended = True
        self.changed.set()

    def wish(self, order: dict[str, Any]) -> None:
        """Add another order for a box or an exec. Raises BadJob if too many are pending."""
        if len(self._others) >= _MOST_WISHES:
            raise BadJob("", f"more than {_MOST_WISHES} requests at once")
        self._others.append(order)
        self.changed.set()

    # --- the slot's side ---------------------------------------------------------------------------------------------

    def orders(self) -> list[tuple[dict[str, Any], frames.Body]]:
        """Returns the pending orders for the supervisor, and clears them."""
        self.changed.clear()
        found: list[tuple[dict[str, Any], frames.Body]] = []
        if self._data:
            body = frames.Body()
            body.add(bytes(self._data))
            self._data.clear()
            found.append(({"op": "data"}, body))
        if self._ended:
            self._ended = False
            found.append(({"op": "eof"}, frames.Body()))
        if self._credit:
            found.append(({"op": "credit", "bytes": self._credit}, frames.Body()))
            self._wanted += self._credit
            self._credit = 0
        if self._asked:
            self._asked = False
            found.append(({"op": "clock"}, frames.Body()))
        found += [(order, frames.Body()) for order in self._others]
        self._others.clear()
        return found

    def took(self, size: int) -> Taken:
        """Note the supervisor's acknowledgement of input. Raises FrameError for an impossible size."""
        if not 0 < size <= self._sent:
            raise frames.FrameError("more was taken than was sent")
        self._sent -= size
        return Taken(size)

    def came(self, data: bytes) -> bytes:
        """Note output of the program, and return it. Raises FrameError for an impossible size."""
        if not 0 < len(data) <= self._wanted:
            raise frames.FrameError("more input than the window allows")
        self._wanted -= len(data)
        return data
