"""An event loop in a thread of its own, for callers that have none or whose own is busy."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing, suppress
from typing import Any, Generic, TypeVar

from rewarden.errors import Unavailable

T = TypeVar("T")

_AHEAD = 1024
"""Items of a stream that are kept for a consumer that is slower than the stream."""


class LoopThread:
    """Runs coroutines in a daemon thread, which starts with the first one.

    Many threads can wait at a time, and a crossing costs little: the coroutines that gather while the loop is busy
    begin together, after one wake-up, and each waiting thread has a lock instead of a future.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        # Reentrant: the garbage collector may finalise a generator of `iterate` wherever a thread holds it.
        self._lock = threading.RLock()
        self._serving: _Serving | None = None

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
            serving = self._running()
        try:
            while items := self._take(ahead, serving):
                yield from items
        finally:
            # A generator may be finalised after `stop`, or when the interpreter ends and no thread runs any more.
            if self._serving is serving and not sys.is_finalizing():
                with suppress(_Stopped):
                    self._run(ahead.close(), serving)

    def stop(self, last: Coroutine[Any, Any, None]) -> None:
        """Run a last coroutine, then end the thread. The next `run` starts another."""
        with self._lock:
            serving, self._serving = self._serving, None
        if serving is None:
            last.close()
            return
        try:
            asyncio.run_coroutine_threadsafe(last, serving.loop).result()
        finally:
            serving.loop.call_soon_threadsafe(serving.loop.stop)
            serving.thread.join()

    def _take(self, ahead: _Ahead[T], serving: _Serving) -> list[T]:
        if self._serving is serving:
            with suppress(_Stopped):
                return self._run(ahead.take(), serving)
        return ahead.left()

    def _run(self, work: Coroutine[Any, Any, T], only: _Serving | None = None) -> T:
        """Like `run`, on this loop and no later one. Raises _Stopped."""
        own = self._serving
        if own is not None and threading.current_thread() is own.thread:
            work.close()
            raise RuntimeError("a blocking client was called from its own event loop; use AsyncClient there")
        call = _Call(work)
        # Under the lock, so that the work comes before `stop` and is cancelled by it: nobody would ever run it after.
        with self._lock:
            if only is not None and self._serving is not only:
                work.close()
                raise _Stopped
            serving = self._running()
            wakes = not serving.calls
            serving.calls.append(call)
        try:
            if wakes:  # outside the lock, which the loop needs as soon as it is awake
                serving.wake()
            call.wait()
        except BaseException:
            serving.post(call.leave)
            raise
        return call.result()

    def _running(self) -> _Serving:
        """The loop, begun if there is none. The caller has the lock."""
        if self._serving is None:
            self._serving = _Serving(self._name, self._lock)
        return self._serving


class _Stopped(Exception):
    """The thread was stopped before the work was done."""


def _closed() -> Unavailable:
    return Unavailable("the client was closed before the response arrived")


class _Call(Generic[T]):
    """A thread that waits for the result of a coroutine."""

    __slots__ = ("_ended", "_left", "_task", "_work")

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self._task: asyncio.Task[T] | None = None
        self._left = False
        self._ended = threading.Lock()
        self._ended.acquire()

    def wait(self) -> None:
        """Blocks until the end."""
        self._ended.acquire()

    def result(self) -> T:
        """Returns the result after `wait`, or raises the coroutine's exception, or _Stopped."""
        if self._task is None or self._task.cancelled():
            raise _Stopped
        return self._task.result()

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Starts the coroutine. On the loop's thread, as all below."""
        if self._left:
            self.drop()
            return
        self._task = loop.create_task(self._work)
        self._task.add_done_callback(self._end)

    def leave(self) -> None:
        """Cancels the coroutine: the thread was interrupted."""
        self._left = True
        if self._task is not None:
            self._task.cancel()

    def drop(self) -> None:
        """Ends a call that has not begun."""
        self._work.close()
        self._ended.release()

    def _end(self, task: asyncio.Task[T]) -> None:
        self._ended.release()


class _Serving:
    """A loop in a thread, and the calls that are to begin on it."""

    def __init__(self, name: str, lock: threading.RLock) -> None:
        self._lock = lock
        self.calls: list[_Call[Any]] = []
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self.thread.start()

    def wake(self) -> None:
        """Has the loop begin the calls that have come."""
        try:
            self.loop.call_soon_threadsafe(self._begin)
        except RuntimeError:  # the loop has ended
            self._drop()

    def post(self, callback: Callable[[], None]) -> None:
        """Runs a callback on the loop's thread, unless the loop has ended: then nothing is left to be done."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(callback)

    def _begin(self) -> None:
        for call in self._taken():
            call.begin(self.loop)

    def _drop(self) -> None:
        for call in self._taken():
            call.drop()

    def _taken(self) -> list[_Call[Any]]:
        with self._lock:
            calls, self.calls = self.calls, []
        return calls

    def _serve(self) -> None:
        loop = self.loop
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            self._drop()  # before their beginning comes, which would be too late to be cancelled
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
