"""Slots for orchestrators that run at the same time. An orchestrator that asks a judge gives up its slot.

The number of slots limits the work and the memory of orchestrators. One that waits for a judge uses little of either,
for seconds or minutes; if it kept its slot, a slow or dead judge would hold up every program and proof.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from contextvars import ContextVar

_PLACE: ContextVar[ExitStack | None] = ContextVar("place", default=None)
"""Gives back the slot of this task's orchestrator. Tasks that the orchestrator starts (`gather`) share it."""


@asynccontextmanager
async def orchestrating(places: asyncio.Semaphore) -> AsyncIterator[None]:
    """Waits for a slot, and holds it until the block ends or `leave_slot` is called within the block."""
    await places.acquire()
    with ExitStack() as place:
        place.callback(places.release)
        token = _PLACE.set(place)
        try:
            yield
        finally:
            _PLACE.reset(token)


def leave_slot() -> None:
    """Gives up the slot of this task's orchestrator, because it waits for something outside, possibly for long. It does
    not get the slot back. Leaving twice has no effect."""
    place = _PLACE.get()
    if place is not None:
        place.close()
