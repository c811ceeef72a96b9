"""An event loop in a thread of its own, for callers that have none or whose own is busy."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from contextlib import aclosing, suppress
from typing import Any, Generic, TypeVar

from rewarden.errors import Unavailable

T = TypeVar("T")

_AHEAD = 1024
"""Items of a stream that are kept for a consumer that is slower than the stream."""


class LoopThread:
    """Runs coroutines in a daemon thread, which starts with the first one."""

    def __init__(self, name: str) -> None:
        self._name = name
        # Reentrant: the garbage collector may finalise a generator of `iterate` wherever a thread holds it.
        self._lock = threading.RLock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine, which is cancelled when the waiting thread is interrupted.

        Raises Unavailable when `stop` comes before the result.
        """
        try:
            return self._run(work)
        except _Stopped:
            raise _closed() from None

    def iterate(self, make: Callable[[], AsyncGenerator[T, None]]) -> Iterator[T]:
        """The items of an asynchronous iterator; it is closed when the consumer stops early.

        Raises Unavailable, after the items that have come, when `stop` comes before the end.
        """
        ahead = _Ahead(make)
        with self._lock:
            loop = self._running()
        try:
            while items := self._take(ahead, loop):
                yield from items
        finally:
            # A generator may be finalised after `stop`, or when the interpreter ends and no thread runs any more.
            if self._loop is loop and not sys.is_finalizing():
                with suppress(_Stopped):
                    self._run(ahead.close(), loop)

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

    def _take(self, ahead: _Ahead[T], loop: asyncio.AbstractEventLoop) -> list[T]:
        if self._loop is loop:
            with suppress(_Stopped):
                return self._run(ahead.take(), loop)
        return ahead.left()

    def _run(self, work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop | None = None) -> T:
        """Like `run`, on this loop and no later one. Raises _Stopped."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("a blocking client was called from its own event loop; use AsyncClient there")
        # Under the lock, so that the work comes before `stop` and is cancelled by it: nobody would ever run it after.
        with self._lock:
            if loop is not None and self._loop is not loop:
                work.close()
                raise _Stopped
            future = asyncio.run_coroutine_threadsafe(work, self._running())
        try:
            return future.result()
        except CancelledError:
            raise _Stopped from None
        except BaseException:
            future.cancel()
            raise

    def _running(self) -> asyncio.AbstractEventLoop:
        """The loop, begun where there is none. The caller has the lock."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_serve, args=(self._loop,), name=self._name, daemon=True)
            self._thread.start()
        return self._loop


class _Stopped(Exception):
    """The thread was stopped before the work was done."""


def _closed() -> Unavailable:
    return Unavailable("the client was closed before the response arrived")


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
        items = self.left()
        self._room.set()
        if not self._ended:
            self._filled.clear()
        return items

    def left(self) -> list[T]:
        """Like `take`, from any thread once the loop is stopped. Raises Unavailable when more was to come."""
        ended = self._ended  # before the items: what comes after it is another `left`'s
        items = []
        while self._items:
            items.append(self._items.popleft())
        if not items and not (ended and self._error is None):
            raise self._error or _closed()
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
        except asyncio.CancelledError:
            self._error = _closed()  # nobody hears it after `close`; after `stop` the items would end silently short
            raise
        finally:
            self._ended = True
            self._filled.set()
