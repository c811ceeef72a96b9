"""CPU permits, which bound the number of runs that use a CPU at the same time."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque


class CpuPermits:
    """A first-come, first-served counter of permits. Runs that wake up can overdraw it: nothing stops them, but no new
    run starts until the counter is above zero again. `free`: permits that no run holds; negative after idle runs have
    woken up.
    """

    def __init__(self, count: int) -> None:
        self.free = count
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """Returns the number of runs that wait for a CPU."""
        return len(self._waiting)

    async def take(self) -> None:
        """Wait for a permit, and take it."""
        if self.free > 0 and not self._waiting:
            self.free -= 1
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.give()
            else:
                # A concurrent `give` may have removed it already.
                with contextlib.suppress(ValueError):
                    self._waiting.remove(future)
            raise

    def give(self) -> None:
        """Give a permit back."""
        self.free += 1
        while self.free > 0 and self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                self.free -= 1
                future.set_result(None)

    def overdraw(self) -> None:
        """Take a permit without waiting: an idle run has woken up."""
        self.free -= 1


class CpuPermit:
    """One run's permit, which it gives back while it is idle."""

    def __init__(self, tokens: CpuPermits) -> None:
        self._tokens = tokens
        self._held = False

    async def __aenter__(self) -> CpuPermit:
        await self._tokens.take()
        self._held = True
        return self

    def rest(self, resting: bool) -> None:
        """Note that the run has become idle, or that it has resumed."""
        if resting and self._held:
            self._held = False
            self._tokens.give()
        elif not resting and not self._held:
            self._held = True
            self._tokens.overdraw()

    async def __aexit__(self, *_: object) -> None:
        self.rest(True)
