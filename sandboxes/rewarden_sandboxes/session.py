"""The two directions of a program that is fed and read, as the host has them between its caller and the slot.

At most `WINDOW` bytes are under way each way: who sends more breaks it. So nothing here grows without bound,
whatever caller or program do.
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
    """So many bytes of its input lie with the program, or were dropped because it reads no more."""

    size: int


_MOST_WISHES = 64

SessionEvent = Begun | bytes | Taken | Clock | Report
"""bytes: what the program wrote to stdout. A report is the last."""


class Feed:
    """The wishes of a caller, until the slot is told. Never waits, holds at most `WINDOW` bytes."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self._data = bytearray()
        self._credit = 0
        self._asked = False
        self._ended = False
        self._others: list[dict[str, Any]] = []
        self._sent = 0  # bytes that the program has not taken
        self._wanted = WINDOW  # bytes that may still come

    # --- the caller's side -------------------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """More for stdin. Raises BadJob for more than is wanted."""
        if self._sent + len(data) > WINDOW:
            raise BadJob("data", f"more than {WINDOW} bytes were sent that the program has not taken")
        self._sent += len(data)
        self._data += data
        self.changed.set()

    def grant(self, size: int) -> None:
        """So many bytes of stdout were read. Raises BadJob for more than there were."""
        if self._wanted + self._credit + size > WINDOW:
            raise BadJob("credit", "more bytes were read than were sent")
        self._credit += size
        self.changed.set()

    def ask(self) -> None:
        """The clock is wanted."""
        self._asked = True
        self.changed.set()

    def finish(self) -> None:
        """Nothing more comes for stdin."""
        self._ended = True
        self.changed.set()

    def wish(self, order: dict[str, Any]) -> None:
        """A box or an exec is to do something else. Raises BadJob for too many wishes at once."""
        if len(self._others) >= _MOST_WISHES:
            raise BadJob("", f"more than {_MOST_WISHES} wishes at once")
        self._others.append(order)
        self.changed.set()

    # --- the slot's side ---------------------------------------------------------------------------------------------

    def orders(self) -> list[tuple[dict[str, Any], frames.Body]]:
        """Returns what the supervisor is to be told now."""
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
        """The supervisor says that the program took so much. Raises FrameError for what cannot be."""
        if not 0 < size <= self._sent:
            raise frames.FrameError("more was taken than was sent")
        self._sent -= size
        return Taken(size)

    def came(self, data: bytes) -> bytes:
        """The supervisor says that the program wrote this. Raises FrameError for what cannot be."""
        if not 0 < len(data) <= self._wanted:
            raise frames.FrameError("more came than was wanted")
        self._wanted -= len(data)
        return data
