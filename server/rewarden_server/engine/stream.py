"""A stream: samples arrive one by one, verdicts are returned as they finish, and groups when they are complete."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator

from rewarden.errors import RequestError, Unavailable
from rewarden.types import BadSample, Batch, Group, Sample, Verdict
from rewarden_server.engine.admission import Admission, weight
from rewarden_server.engine.parts import Parts
from rewarden_server.engine.scope import Scope
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.observe.telemetry.span import current


class Stream:
    """See docs/architecture.md. One task puts, another iterates; indices count the samples put, from 0.

    Flow control: `put` waits while more than the settings' window is in flight or not yet read.
    """

    def __init__(
        self, parts: Parts, admission: Admission, settings: EngineSettings, header: Batch, source: str
    ) -> None:
        self._admission = admission
        self._observer = parts.observer
        self._settings = settings
        self._source = source
        self._started = time.monotonic()
        self._ready: deque[Verdict | Group] = deque()
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._sizes: dict[int, int] = {}
        self._bytes = 0
        self._count = 0
        self._finished = False
        self._over = False
        self._error: RequestError | None = None
        self._span = current().child("stream", source=source)
        self._scope = Scope(parts, header, self._emit, self._stop, self._span)
        admission.enter(self._scope)

    async def put(self, sample: Sample | BadSample) -> None:
        """Takes another sample; waits for room. Raises Unavailable after `cancel`."""
        size = weight(sample)
        while not self._over and not self._fits(size):
            self._room.clear()
            self._admission.wait_for_room(self._room.set)
            await self._room.wait()
        if self._over:
            raise self._error or Unavailable("the stream has ended")
        index = self._count
        self._count += 1
        self._sizes[index] = size
        self._bytes += size
        self._admission.count_in(self._source, 1, size)
        self._scope.take(index, sample)

    def _fits(self, size: int) -> bool:
        """Returns whether a sample can come in. If all samples in the window wait for their siblings, more must be
        admitted: only further samples can free the window."""
        settings = self._settings
        own = (
            len(self._sizes) + len(self._ready) < settings.window_samples
            and self._bytes + size <= settings.window_bytes
            and self._admission.fits(1, size)
        )
        idle = not self._sizes and self._admission.fits(1, 0)
        return own or idle or (not self._ready and bool(self._sizes) and self._scope.only_groups_wait())

    @property
    def busy(self) -> bool:
        """Returns whether samples are in flight."""
        return bool(self._sizes)

    def ready(self) -> list[Verdict | Group]:
        """Takes what is ready besides the item that the iteration gave last, without waiting."""
        items = list(self._ready)
        self._ready.clear()
        self._room.set()
        return items

    def finish(self) -> None:
        """Ends the samples."""
        self._finished = True
        self._scope.finish()
        self._wake.set()

    async def cancel(self) -> None:
        """The caller left: work that has not begun is dropped."""
        self._scope.cancel()
        self._end()

    def _emit(self, item: Verdict | Group) -> None:
        self._ready.append(item)
        if isinstance(item, Verdict):
            size = self._sizes.pop(item.index)
            self._bytes -= size
            self._admission.release(1, size)
        self._wake.set()

    def _stop(self, error: RequestError) -> None:
        self._error = error
        self._end()

    async def __aiter__(self) -> AsyncIterator[Verdict | Group]:
        try:
            while True:
                while self._ready:
                    item = self._ready.popleft()
                    self._room.set()
                    yield item
                if self._error is not None:
                    raise self._error
                if self._over or (self._finished and not self._sizes):
                    break
                self._wake.clear()
                if not self._ready:
                    await self._wake.wait()
        finally:
            if self._sizes:
                self._scope.cancel()
            self._end()

    def _end(self) -> None:
        if not self._over:
            self._over = True
            self._scope.close()
            self._admission.leave(self._scope)
            self._admission.release(len(self._sizes), self._bytes)
            self._sizes.clear()
            self._bytes = 0
            self._observer.batch(self._source, time.monotonic() - self._started, self._count)
            self._span.note(samples=self._count)
            self._span.end()
            self._room.set()
            self._wake.set()
