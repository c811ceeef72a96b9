"""Equal work is done once: finished results are remembered, work in progress is shared, and work without waiting
callers is cancelled.

A key contains everything that determines the result. Work that one caller began belongs to all callers with the same
key, and is cancelled only when all of them have left. Failures are raised to the waiting callers, and are not
remembered.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

R = TypeVar("R")

How = Literal["answered", "cached", "coalesced", "left"]
"""The origin of a caller's result: computed for it first; from memory; from work that another caller also waited for;
or none, because the caller left."""

OVERHEAD = 600
"""The approximate size of an entry in bytes, in addition to a reply or a model's result."""


@dataclass(slots=True)
class _Flight(Generic[R]):
    """Work in progress. claimed: a caller already received the result as the one that paid for it."""

    task: asyncio.Task[R]
    waiting: int = 0
    claimed: bool = False


class InFlightCache(Generic[R]):
    """Used on one loop.

    limit: bytes of results to remember, of which the least recently used are dropped first; 0: none. weight: the
    approximate bytes of a result with its entry.
    """

    def __init__(self, limit: int, weight: Callable[[R], int]) -> None:
        self._limit = limit
        self._weight = weight
        self._size = 0
        self._kept: OrderedDict[bytes, tuple[R, int]] = OrderedDict()
        self._under_way: dict[bytes, _Flight[R]] = {}
        self._closed = False

    def __len__(self) -> int:
        """The number of remembered results."""
        return len(self._kept)

    def known(self, key: bytes) -> R | None:
        """Returns the remembered result of a key, or None."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    async def shared(
        self,
        key: bytes,
        begin: Callable[[], Coroutine[Any, Any, R]],
        *,
        note: Callable[[How], None],
        stopped: Callable[[], Exception],
        kept_as: Callable[[R], bytes | None] | None = None,
    ) -> tuple[R, bool]:
        """Returns the result of work that is not remembered, and whether another caller received it as the one that
        paid for it.

        begin: starts the work, unless it is in progress. note: receives how the work ended for this caller, unless it
        failed. stopped: makes the exception for work that `close` ends. kept_as: returns the key under which a result
        is remembered, if that is not `key`; None: it is not remembered.
        """
        if self._closed:
            raise stopped()
        flight = self._under_way.get(key)
        if flight is None:
            flight = self._under_way[key] = _Flight(asyncio.create_task(begin()))
            flight.task.add_done_callback(lambda done: self._ended(key, done, kept_as))
        flight.waiting += 1
        try:
            result = await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if flight.task.cancelled() and current is not None and not current.cancelling():
                raise stopped() from None  # the lane was closed; the caller was not cancelled
            note("left")
            raise
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                if self._under_way.get(key) is flight:
                    del self._under_way[key]
                flight.task.cancel()
        cached, flight.claimed = flight.claimed, True
        note("coalesced" if cached else "answered")
        return result, cached

    def forget(self, prefix: bytes) -> None:
        """Drops the results whose keys begin with this prefix."""
        for key in [key for key in self._kept if key.startswith(prefix)]:
            self._size -= self._kept.pop(key)[1]

    async def close(self) -> None:
        """Cancels work in progress; its callers get an error."""
        self._closed = True
        tasks = [flight.task for flight in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, key: bytes, task: asyncio.Task[R], kept_as: Callable[[R], bytes | None] | None) -> None:
        flight = self._under_way.get(key)
        if flight is not None and flight.task is task:
            del self._under_way[key]
        if task.cancelled() or task.exception() is not None:
            return
        result = task.result()
        place = key if kept_as is None else kept_as(result)
        if place is not None:
            self._keep(place, result)

    def _keep(self, key: bytes, result: R) -> None:
        if key in self._kept:
            self._size -= self._kept.pop(key)[1]
        weight = self._weight(result)
        self._kept[key] = (result, weight)
        self._size += weight
        while self._size > self._limit and self._kept:
            self._size -= self._kept.popitem(last=False)[1][1]
