"""Places for what may be under way at once, whose number can change."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class ResizableSemaphore:
    """First come, first served. Used on one loop."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """Returns the number of those that wait."""
        return len(self._waiting)

    def allow(self, most: int) -> None:
        """Allows so many at once from now on; those in progress beyond that continue."""
        self.most = most
        self._wake()

    def dissolve(self, error: Callable[[], Exception]) -> None:
        """Send all who wait away, each with an error of its own."""
        waiting, self._waiting = self._waiting, deque()
        for future in waiting:
            if not future.done():
                future.set_exception(error())

    @asynccontextmanager
    async def turn(self, *, first: bool = False) -> AsyncIterator[None]:
        """Wait for a place, at the line's end or (who had one before) at its head, and have it. Raises what `dissolve`
        was told.
        """
        if self.taken < self.most and not self._waiting:
            self.taken += 1
        else:
            await self._wait(first)
        try:
            yield
        finally:
            self.taken -= 1
            self._wake()

    async def _wait(self, first: bool) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if first else self._waiting.append)(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                # Given in the moment in which nobody wanted it any more.
                self.taken -= 1
                self._wake()
            else:
                # A cancellation was lost: whoever gave a place in the same moment has taken it out already.
                with contextlib.suppress(ValueError):
                    self._waiting.remove(future)
            raise

    def _wake(self) -> None:
        while self._waiting and self.taken < self.most:
            future = self._waiting.popleft()
            if not future.done():
                self.taken += 1
                future.set_result(None)
