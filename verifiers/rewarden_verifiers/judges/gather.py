"""Runs an orchestrator's awaitables concurrently."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import TypeVar

Result = TypeVar("Result")

_AT_ONCE = 32
"""The number to start before yielding to the event loop: rendering the thousands of prompts of a large group takes
seconds.
"""


async def gather(*awaited: Awaitable[Result]) -> list[Result]:
    """Returns the results in order. If one raises, the others are cancelled: nobody would read their results, and they
    cost money.
    """
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
