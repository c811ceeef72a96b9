"""Slots for orchestrators that run at the same time. An orchestrator that asks a judge gives up its slot.

The number of slots limits the work and the memory of orchestrators. One that waits for a judge uses little of either,
for seconds or minutes; if it kept its slot, a slow or dead judge would hold up every program and proof.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar


class orchestrating:
    """Waits for a slot, and holds it until the block ends or `leave_slot` is called within the block."""

    __slots__ = ("_before", "_held", "_places")

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._held = False

    async def __aenter__(self) -> None:
        await self._places.acquire()
        self._held = True
        self._before = _SLOT.set(self)

    async def __aexit__(self, *raised: object) -> None:
        _SLOT.reset(self._before)
        self.leave()

    def leave(self) -> None:
        """Gives up the slot. Leaving twice has no effect."""
        if self._held:
            self._held = False
            self._places.release()


_SLOT: ContextVar[orchestrating | None] = ContextVar("slot", default=None)
"""The slot of this task's orchestrator. Tasks that the orchestrator starts (`gather`) share it."""


def leave_slot() -> None:
    """Gives up the slot of this task's orchestrator, because it waits for something outside, possibly for long. It does
    not get the slot back. Leaving twice has no effect."""
    slot = _SLOT.get()
    if slot is not None:
        slot.leave()
