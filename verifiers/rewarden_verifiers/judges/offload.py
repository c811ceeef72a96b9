"""Runs slow work on long texts in a thread, so that it does not block the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

_QUICK = 20_000
"""Size in characters or numbers below which switching to a thread takes longer than the work itself."""


async def offload(size: int, made: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> Result:
    """Returns the function's result. size: the size of its input."""
    if size <= _QUICK:
        return made(*given, **named)
    return await asyncio.to_thread(made, *given, **named)
