"""The places of orchestrators that are under way at once, and how one that asks a judge leaves its own.

So many orchestrators at once are there for what they compute and hold. One that waits for a judge does neither, for
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
        """Give the place back, for good; leaving twice is leaving once."""
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
