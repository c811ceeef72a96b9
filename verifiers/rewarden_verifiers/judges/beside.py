"""Side by side: what an orchestrator waits for at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Result = TypeVar("Result")


async def beside(*awaited: Awaitable[Result]) -> list[Result]:
    """The results in order. Where one raises, the others are cancelled: nobody would read them, and they cost money."""
    tasks = [asyncio.ensure_future(one) for one in awaited]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
