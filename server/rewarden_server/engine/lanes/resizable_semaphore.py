"""A limit on concurrent work that can change while it is used."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class ResizableSemaphore:
    """A semaphore, first come, first served. Used on one loop."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """Returns the number of waiters."""
        return len(self._waiting)

    def allow(self, most: int) -> None:
        """Sets the new limit; work in progress beyond it continues."""
        self.most = most
        self._wake()

    def dissolve(self, error: Callable[[], Exception]) -> None:
        """Ends all waits, each with an error of its own."""
        waiting, self._waiting = self._waiting, deque()
        for future in waiting:
            if not future.done():
                future.set_exception(error())

    @asynccontextmanager
    async def turn(self, *, first: bool = False) -> AsyncIterator[None]:
        """Waits for a place, at the end of the queue or (for a former holder) at its head, and takes it. Raises the
        error given to `dissolve`."""
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
                # The place was given after the last waiter had left.
                self.taken -= 1
                self._wake()
            else:
                # A cancellation was lost: the code that gave a place at the same moment has already removed it.
                with contextlib.suppress(ValueError):
                    self._waiting.remove(future)
            raise

    def _wake(self) -> None:
        while self._waiting and self.taken < self.most:
            future = self._waiting.popleft()
            if not future.done():
                self.taken += 1
                future.set_result(None)
