"""Lean processes by the header that they have loaded. Their number is limited, whatever headers texts have.

All waiting texts are in one queue. A process that becomes free goes to the first text that can use it as it is; texts
with other imports are passed over at most `PASSES` times, and then the process is replaced for them. The least recently
used idle process is replaced first. A place becomes free only when its process has ended.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from rewarden.errors import SandboxError
from rewarden_server.lean.process import Process

PASSES = 16
"""The number of times that others can go first because a process has their imports: loading is expensive, but no text
may wait forever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The project and the header that a process has loaded. trusted: no submission ever runs there."""

    project: str
    header: str
    trusted: bool = False


@dataclass(eq=False, slots=True)
class Held:
    """A process of the pool. new: it was started for its current holder. spent: it must not be used again."""

    key: Key
    process: Process
    new: bool = True
    spent: bool = False


@dataclass(eq=False, slots=True)
class _Waiter:
    """granted: a process, or None for a place to start one."""

    key: Key
    alone: bool
    granted: asyncio.Future[Held | None]
    passed: int = 0

    def likes(self, held: Held) -> bool:
        return held.key == self.key and not (self.alone and held.process.texts)


@dataclass(eq=False, slots=True)
class Pool:
    """At most `most` processes, each made by `start`, which must close a process that it does not return."""

    most: int
    start: Callable[[Key], Awaitable[Process]]
    changed: Callable[[], None] = lambda: None
    _idle: list[Held] = field(default_factory=list)  # the least recently used first
    _busy: set[Held] = field(default_factory=set)
    _places: int = 0  # processes that start, are busy, are idle or end
    _line: deque[_Waiter] = field(default_factory=deque)
    _ending: set[asyncio.Task[None]] = field(default_factory=set)
    _closed: bool = False

    @property
    def waiting(self) -> int:
        """Returns the number of waiting texts."""
        return len(self._line)

    @property
    def alive(self) -> int:
        """Returns the number of processes that start, work, idle or are being killed."""
        return self._places

    @property
    def idle(self) -> list[Key]:
        """Returns the keys of the idle processes, the least recently used first."""
        return [held.key for held in self._idle]

    @asynccontextmanager
    async def process(self, key: Key, *, alone: bool = False) -> AsyncIterator[Held]:
        """Yields a process that has loaded this key. It is killed afterwards if it is `spent` or the block raised.

        alone: one in which no text has run. Raises the exceptions of `start`, and SandboxError if the pool is closed.
        """
        held = await self._take(key, alone)
        whole = False
        try:
            yield held
            whole = not held.spent
        finally:
            self._busy.discard(held)
            held.new = False
            if whole and not self._closed:
                self._idle.append(held)
            else:
                self._end(held)
            self._serve()

    async def close(self) -> None:
        """Kills all processes; waiting callers get SandboxError, and working ones see their process end. Closing twice
        has no effect."""
        self._closed = True
        while self._line:
            waiter = self._line.popleft()
            if not waiter.granted.done():
                waiter.granted.set_exception(SandboxError("the server is stopping"))
        while self._idle:
            self._end(self._idle.pop())
        await asyncio.gather(*(held.process.close() for held in list(self._busy)), return_exceptions=True)
        await asyncio.gather(*self._ending, return_exceptions=True)

    # --- taking -------------------------------------------------------------------------------------------------

    async def _take(self, key: Key, alone: bool) -> Held:
        if self._closed:
            raise SandboxError("the server is stopping")
        waiter = _Waiter(key, alone, asyncio.get_running_loop().create_future())
        self._line.append(waiter)
        self._serve()
        try:
            held = await waiter.granted
        except asyncio.CancelledError:
            self._leave(waiter)
            raise
        if held is None:
            held = await self._started(key)
        self._busy.add(held)
        self.changed()
        return held

    def _leave(self, waiter: _Waiter) -> None:
        """Removes a cancelled waiter from the queue, or passes on a process that it was given at the same moment."""
        if waiter in self._line:
            self._line.remove(waiter)
        elif waiter.granted.done() and not waiter.granted.cancelled() and waiter.granted.exception() is None:
            held = waiter.granted.result()
            if held is not None:
                self._idle.append(held)
            else:
                self._places -= 1
        self._serve()

    async def _started(self, key: Key) -> Held:
        try:
            process = await self.start(key)
        except BaseException:
            self._places -= 1
            self._serve()
            raise
        held = Held(key, process)
        if self._closed:
            self._end(held)
            raise SandboxError("the server is stopping")
        return held

    # --- serving ------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Grants everything that can be granted now."""
        while self._line and self._grant():
            pass
        self.changed()

    def _grant(self) -> bool:
        head = self._line[0]
        if head.granted.cancelled():
            self._line.popleft()
            return True
        liked = next((held for held in reversed(self._idle) if head.likes(held)), None)
        if liked is not None:
            return self._hand(head, liked)
        if self._places < self.most:
            self._places += 1
            self._line.popleft()
            head.granted.set_result(None)
            return True
        if head.passed < PASSES:
            for held in reversed(self._idle):
                waiter = next((other for other in self._line if other.likes(held) and not other.granted.done()), None)
                if waiter is not None:
                    head.passed += 1
                    return self._hand(waiter, held)
        if self._idle and len(self._ending) < len(self._line):
            self._end(self._idle.pop(0))
        return False

    def _hand(self, waiter: _Waiter, held: Held) -> bool:
        self._line.remove(waiter)
        self._idle.remove(held)
        waiter.granted.set_result(held)
        return True

    def _end(self, held: Held) -> None:
        task = asyncio.ensure_future(held.process.close())
        self._ending.add(task)
        task.add_done_callback(self._gone)

    def _gone(self, task: asyncio.Task[Any]) -> None:
        self._ending.discard(task)
        self._places -= 1
        self._serve()
