"""Runs awaitables at the same time for an orchestrator."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import TypeVar

Result = TypeVar("Result")

_AT_ONCE = 32
"""The number begun before others have a turn: a large group's thousands of prompts take seconds to be rendered."""


async def gather(*awaited: Awaitable[Result]) -> list[Result]:
    """The results in order. Where one raises, the others are cancelled: nobody would read them, and they cost money."""
    tasks: list[asyncio.Future[Result]] = []
    try:
        for place, one in enumerate(awaited):
            if place and place % _AT_ONCE == 0:
                await asyncio.sleep(0)
            tasks.append(asyncio.ensure_future(one))
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        for one in awaited[len(tasks) :]:
            if isinstance(one, Coroutine):
                one.close()
