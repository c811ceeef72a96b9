"""Runs slow work on long texts in a thread, so that it does not block the server's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

_QUICK = 20_000
"""Characters, or numbers, for which the way to a thread and back takes longer than the work."""


async def offload(size: int, made: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> Result:
    """Returns what the function makes; size: of what it has to look at."""
    if size <= _QUICK:
        return made(*given, **named)
    return await asyncio.to_thread(made, *given, **named)
