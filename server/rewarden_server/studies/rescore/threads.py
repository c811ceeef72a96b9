"""Work on files that blocks, on a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Runs `work` in a thread and returns its result. A caller that is cancelled meanwhile continues only once the work
    has ended: a thread cannot be cancelled, and its files would be closed or removed while it uses them.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work, *given, **named))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise
