"""The queue before a judge: a limited number of questions are served at once, and the others wait in the order of their
arrival."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class Line:
    """Used on one loop only. `places`: the number served at once."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._places = places
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.waiting = 0

    @property
    def served(self) -> int:
        """Returns the number of questions that are being served."""
        return self._places - self._free

    async def take(self, *, first: bool = False) -> None:
        """Wait for a place, at the line's end or (who had one before) at its head. Raises what `dissolve` was told."""
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if first else self._waiting.append)(turn)
        self.waiting += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.give()  # the place came in the same moment
            raise
        finally:
            self.waiting -= 1

    def give(self) -> None:
        """Give a place back: to the next in line."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def dissolve(self, error: Callable[[], Exception]) -> None:
        """Send all who wait away, each with an error of its own."""
        waiting, self._waiting = self._waiting, deque()
        for turn in waiting:
            if not turn.done():
                turn.set_exception(error())
