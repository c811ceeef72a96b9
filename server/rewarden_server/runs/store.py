"""A server's store of runs: the feed that the engine fills, a thread that writes, and threads that read."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from rewarden.errors import NotFound, Overloaded, Unavailable
from rewarden_server.observe.logs import get_logger
from rewarden_server.runs import database, responses, retention
from rewarden_server.runs.feed import Feed
from rewarden_server.runs.reader import Axis, Points, Range, Reader, Run
from rewarden_server.runs.rejudging import Rejudging
from rewarden_server.runs.responses import Wanted
from rewarden_server.runs.settings import RunSettings
from rewarden_server.runs.writer import Writer

P = ParamSpec("P")
T = TypeVar("T")

WRITE_S = 0.4
"""Seconds from a verdict to its write, if nothing else is being written."""

MOST_WATCHERS = 100
"""Callers that may watch runs at once. Attack: endless event streams, each of which reads the file."""

_READERS = 2
_CLOSE_S = 10.0

_log = get_logger("runs")


class Store:
    """Used on one loop. The file is opened at the first verdict or the first read."""

    def __init__(self, settings: RunSettings) -> None:
        self.settings = settings
        self.folder: Path = settings.folder
        self.feed = Feed(self._wake, texts=settings.texts)
        self._writer = Writer(self.folder, settings.max_bytes)
        self._reader = Reader(self.folder)
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="rewarden-runs-write")
        self._reading = ThreadPoolExecutor(_READERS, thread_name_prefix="rewarden-runs-read")
        self._write: asyncio.Future[None] | None = None
        self._changed = asyncio.Event()
        self._watchers = 0
        self._closed = False

    @property
    def problem(self) -> str | None:
        """Returns why nothing can be stored at the moment, or None."""
        return self._writer.problem

    @property
    def idle(self) -> bool:
        """Returns whether everything has been written."""
        return self.feed.empty and (self._write is None or self._write.done())

    async def runs(self, key: str | None) -> list[Run]:
        """Returns the runs of a key, or all, latest first. Raises Unavailable."""
        return await self._read(self._reader.runs, key) if self._exists() else []

    async def run(self, id: str, key: str | None) -> Run:
        """Returns a run. Raises NotFound if there is none that the key may see, Unavailable."""
        run = await self._read(self._reader.run, id, key) if self._exists() else None
        if run is None:
            raise _unknown(id)
        return run

    async def points(self, id: str, key: str | None, axis: Axis | None, most: int, after: int | None = None) -> Points:
        """Returns a run with its points as JSON; see `Reader.points`. Raises NotFound, Unavailable."""
        made = await self._read(self._reader.points, id, key, axis, most, after) if self._exists() else None
        if made is None:
            raise _unknown(id)
        return made

    async def counts(self, run: Run, part: Range) -> dict[str, Any]:
        """Returns the counts of a part of a run. Raises Unavailable."""
        return await self._read(self._reader.counts, run, part)

    async def rollouts(self, run: Run, wanted: Wanted) -> bytes:
        """Returns stored rollouts as the data of a report, in JSON. Raises Unavailable."""
        return await self._read(self._rollouts, run, wanted)

    async def moved(self, run: Run, a: Range, b: Range) -> bytes:
        """Returns the differences between two parts of a run, in JSON. Raises Unavailable."""
        return await self._read(self._moved, run, a, b)

    async def rejudging(self, run: Run, a: Range, b: Range, most: int) -> Rejudging:
        """Returns the rollouts of b, to be judged as those of a were. Raises Unavailable."""
        return await self._read(self._rejudging, run, a, b, most)

    async def delete(self, run: Run) -> None:
        """Removes a run. Raises Unavailable."""
        await self._on(self._writing, self._writer.delete, run.number)
        self._tell()

    async def used_bytes(self) -> int:
        """Returns the bytes in use. Raises Unavailable."""
        return await self._read(self._used) if self._exists() else 0

    def check_watchers(self) -> None:
        """Raises Overloaded if no more callers may watch."""
        if self._watchers >= MOST_WATCHERS:
            raise Overloaded(f"{MOST_WATCHERS} callers are already watching runs", retry_after_s=30.0)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Counts a watching caller within the block."""
        self._watchers += 1
        try:
            yield
        finally:
            self._watchers -= 1

    async def changed(self, seconds: float) -> None:
        """Returns after the next write, or after this many seconds: another server may write to the same file."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass

    async def flush(self) -> None:
        """Writes what waits, unless that takes too long."""
        if self._write is not None:
            await asyncio.wait({self._write}, timeout=_CLOSE_S)
        if not self.feed.empty and (self._write is None or self._write.done()):
            self._begin()
            assert self._write is not None
            await asyncio.wait({self._write}, timeout=_CLOSE_S)

    async def close(self) -> None:
        """Writes what waits, and closes the file."""
        if self._closed:
            return
        self._closed = True
        await self.flush()
        self._tell()
        loop = asyncio.get_running_loop()
        for threads, close in ((self._writing, self._writer.close), (self._reading, self._reader.close)):
            if self._write is None or self._write.done():
                await loop.run_in_executor(None, threads.shutdown)
                close()
            else:
                threads.shutdown(wait=False, cancel_futures=True)

    def _wake(self) -> None:
        """Wakes the writer."""
        if not self._closed:
            asyncio.get_running_loop().call_later(WRITE_S, self._begin)

    def _begin(self) -> None:
        if self.feed.empty or (self._write is not None and not self._write.done()):
            return  # when that ends, this is begun
        self._write = asyncio.get_running_loop().run_in_executor(self._writing, self._writer.write, self.feed.take())
        self._write.add_done_callback(self._written)

    def _written(self, write: asyncio.Future[None]) -> None:
        if not write.cancelled() and write.exception() is not None:
            _log.error("runs were not stored", error=repr(write.exception()))
        self._tell()
        if not self.feed.empty:
            self._wake()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _exists(self) -> bool:
        return database.identity(self.folder) is not None

    def _rollouts(self, run: Run, wanted: Wanted) -> bytes:
        with self._reader.snapshot() as connection:
            found, total = responses.find(connection, run, wanted)
        return responses.as_json(responses.data(run, found, total))

    def _moved(self, run: Run, a: Range, b: Range) -> bytes:
        with self._reader.snapshot() as connection:
            return responses.as_json(responses.moved(connection, run, a, b))

    def _rejudging(self, run: Run, a: Range, b: Range, most: int) -> Rejudging:
        with self._reader.snapshot() as connection:
            parts = [responses.find(connection, run, Wanted(part=part, most=most))[0] for part in (a, b)]
        return Rejudging.of(*parts)

    def _used(self) -> int:
        with self._reader.snapshot() as connection:
            return retention.used_bytes(connection)

    async def _read(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        return await self._on(self._reading, work, *args, **named)

    async def _on(self, threads: ThreadPoolExecutor, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, partial(work, *args, **named))
        except (OSError, sqlite3.Error) as error:
            _log.warning("runs cannot be read", folder=str(self.folder), error=str(error))
            raise Unavailable("the store of runs cannot be read; the server's log says why") from None


def _unknown(id: str) -> NotFound:
    return NotFound(f"there is no run {id[:64]!r}")
