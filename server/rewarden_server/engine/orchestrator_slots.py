"""The places of orchestrators that are in progress at once. An orchestrator that asks a judge leaves its place.

The number of places bounds the work and the memory of orchestrators. One that waits for a judge needs neither, for
seconds or minutes; if it kept its place, a slow or dead judge would hold up every program and proof beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar


class OrchestratorSlot:
    """One orchestrator's place. What it starts (`gather`) shares it."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._held = True

    def leave(self) -> None:
        """Gives the place back for good. Leaving twice has no effect."""
        if self._held:
            self._held = False
            self._places.release()


_PLACE: ContextVar[OrchestratorSlot | None] = ContextVar("place", default=None)


@asynccontextmanager
async def orchestrating(places: asyncio.Semaphore) -> AsyncIterator[None]:
    """Waits for a place, and holds it until the block ends or `leave_slot` is called within."""
    await places.acquire()
    place = OrchestratorSlot(places)
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)
        place.leave()


def leave_slot() -> None:
    """The orchestrator of this task waits for something outside from now on, for long."""
    place = _PLACE.get()
    if place is not None:
        place.leave()
