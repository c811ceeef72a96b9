"""Graceful shutdown of a host, without losing work: it accepts nothing new, finishes running jobs, and refuses the rest
so that callers retry on another host.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

from rewarden_sandboxes.errors import Leaving


class Drain:
    """The shutdown state of one host. `leaving`: new work is refused; `over`: running work is cancelled, too. Used on
    one event loop.
    """

    def __init__(self) -> None:
        self.leaving = False
        self.over = False
        self._jobs: set[asyncio.Task[Any]] = set()
        self._sessions: set[asyncio.Task[Any]] = set()
        self._changed = asyncio.Event()

    def refusal(self) -> Leaving:
        """Returns the error for work that arrives too late."""
        return Leaving("the sandbox host is shutting down and accepts nothing new; another host may")

    @contextlib.contextmanager
    def under_way(self, *, session: bool) -> Iterator[None]:
        """Track a job or a session, in a task of its own, which `cut` cancels."""
        task = asyncio.current_task()
        assert task is not None
        of = self._sessions if session else self._jobs
        of.add(task)
        try:
            yield
        finally:
            of.discard(task)
            self._changed.set()

    async def wait(self, seconds: float) -> None:
        """Refuse new work, and wait up to `seconds` for running jobs. Sessions are not waited for: they last as long as
        their callers want, and callers can begin another on another host.
        """
        self.leaving = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._jobs:
                    self._changed.clear()
                    await self._changed.wait()

    async def cut(self, seconds: float) -> None:
        """Cancel the work that is left, and wait up to `seconds` for its callers to be told."""
        self.leaving = self.over = True
        left = [*self._jobs, *self._sessions]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=seconds)
