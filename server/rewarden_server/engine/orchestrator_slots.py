"""The places of orchestrators that are in progress at once. An orchestrator that asks a judge leaves its place.

The number of places bounds the work and the memory of orchestrators. One that waits for a judge needs neither, for
seconds or minutes; if it kept its place, a slow or dead judge would hold up every program and proof beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from contextvars import ContextVar

_PLACE: ContextVar[ExitStack | None] = ContextVar("place", default=None)
"""Gives back the place of this task's orchestrator. What an orchestrator starts (`gather`) shares it."""


@asynccontextmanager
async def orchestrating(places: asyncio.Semaphore) -> AsyncIterator[None]:
    """Waits for a place, and holds it until the block ends or `leave_slot` is called within."""
    await places.acquire()
    with ExitStack() as place:
        place.callback(places.release)
        token = _PLACE.set(place)
        try:
            yield
        finally:
            _PLACE.reset(token)


def leave_slot() -> None:
    """The orchestrator of this task waits for something outside from now on, for long: its place is given back for
    good. Leaving twice has no effect.
    """
    place = _PLACE.get()
    if place is not None:
        place.close()
