"""The end of a host that loses nothing: it takes no more, answers what runs, and refuses the rest so that its callers
know to ask elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

from rewarden_sandboxes.errors import Leaving


class Drain:
    """Of one host. `leaving`: nothing new is taken; `over`: nor is anything answered. Used on one loop."""

    def __init__(self) -> None:
        self.leaving = False
        self.over = False
        self._jobs: set[asyncio.Task[Any]] = set()
        self._sessions: set[asyncio.Task[Any]] = set()
        self._changed = asyncio.Event()

    def refusal(self) -> Leaving:
        """Returns what is told to those who come too late."""
        return Leaving("the sandbox host is about to end, and takes nothing new; another may")

    @contextlib.contextmanager
    def under_way(self, *, session: bool) -> Iterator[None]:
        """Around a job or a session, in its own task, which `cut` cancels."""
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
        """Take nothing new, and wait until no job is under way, but not longer. Sessions are not waited for: they last
        as long as their callers want, who begin another elsewhere.
        """
        self.leaving = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._jobs:
                    self._changed.clear()
                    await self._changed.wait()

    async def cut(self, seconds: float) -> None:
        """End what is still under way, and give it so many seconds to be told so."""
        self.leaving = self.over = True
        left = [*self._jobs, *self._sessions]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=seconds)
