"""An event loop in a thread of its own, for callers that have none or whose own is busy."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_AHEAD = 1024
"""Items of a stream that are kept for a consumer that is slower than the stream."""


class LoopThread:
    """Runs coroutines in a daemon thread, which starts with the first one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine, which is cancelled when the waiting thread is interrupted."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("a blocking client was called from its own event loop; use AsyncClient there")
        future = asyncio.run_coroutine_threadsafe(work, self._running())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, make: Callable[[], AsyncGenerator[T, None]]) -> Iterator[T]:
        """The items of an asynchronous iterator; it is closed when the consumer stops early."""
        ahead = _Ahead(make)
        loop = self._running()
        try:
            while items := self.run(ahead.take()):
                yield from items
        finally:
            # A generator may be finalised after `stop`, or when the interpreter ends and no thread runs any more.
            if self._loop is loop and not sys.is_finalizing():
                self.run(ahead.close())

    def stop(self, last: Coroutine[Any, Any, None]) -> None:
        """Run a last coroutine, then end the thread. The next `run` starts another."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            last.close()
            return
        try:
            asyncio.run_coroutine_threadsafe(last, loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name=self._name, daemon=True)
                self._thread.start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


class _Ahead(Generic[T]):
    """Takes from an asynchronous iterator ahead of its consumer, so that a crossing of threads brings many items."""

    def __init__(self, make: Callable[[], AsyncGenerator[T, None]]) -> None:
        self._make = make
        self._items: deque[T] = deque()
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._error: Exception | None = None
        self._ended = False

    async def take(self) -> list[T]:
        """All items that are there, at least one; none at the end. Raises what the iterator raised, after its items."""
        if self._task is None:
            self._task = asyncio.create_task(self._pump())
        await self._filled.wait()
        items = list(self._items)
        self._items.clear()
        self._room.set()
        if not self._ended:
            self._filled.clear()
        if not items and self._error is not None:
            raise self._error
        return items

    async def close(self) -> None:
        """Close the iterator."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _pump(self) -> None:
        try:
            async with aclosing(self._make()) as items:
                async for item in items:
                    self._items.append(item)
                    self._filled.set()
                    if len(self._items) >= _AHEAD:
                        self._room.clear()
                        await self._room.wait()
        except Exception as error:  # noqa: BLE001 - raised to the consumer by `take`
            self._error = error
        finally:
            self._ended = True
            self._filled.set()
