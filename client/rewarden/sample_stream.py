"""A stream shared by concurrent calls with one sample each, for trainers that request one reward at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Protocol

from rewarden.errors import DeadlineExceeded, InvalidRequest, Unavailable
from rewarden.types import Group, Sample, Use, Verdict
from rewarden.wire.json import good_sample, sample_from_json, sample_to_json

_Waiting = tuple[Sample, "asyncio.Future[Verdict]"]


class Streaming(Protocol):
    """An `AsyncClient`, of which only `stream` is used."""

    def stream(self, *given: Any, **envelope: Any) -> AsyncGenerator[Verdict | Group, None]:
        """See `AsyncClient.stream`."""


class SampleStream:
    """Concurrent calls share one stream. Each gets its verdict as soon as it is ready and does not wait for others.

    The stream opens with the first call, survives lost connections (like `AsyncClient.stream`), and closes after
    `idle_s` seconds without a call. If the server sends nothing for `timeout_s` seconds after the last sample, the
    calls that wait raise DeadlineExceeded; a group that waits for its siblings does not count. Siblings of a group wait
    for one another, because a group is judged as a whole: set their `group_size`. Members of a group that is incomplete
    after `group_deadline_s` get an error verdict.
    Further arguments (`shared`, `expect` …) are those of `rewarden.types.Batch`. For one event loop.
    """

    def __init__(
        self,
        client: Streaming,
        use: str | Mapping[str, Any] | Use | None = None,
        *,
        idle_s: float = 1.0,
        timeout_s: float | None = None,
        group_deadline_s: float = 60.0,
        **envelope: Any,
    ) -> None:
        self._client = client
        self._envelope = {"use": use, "group_deadline_s": group_deadline_s, **envelope}
        self._idle_s = idle_s
        self._timeout_s = timeout_s
        self._waiting: deque[_Waiting] = deque()
        self._pending: dict[int, _Waiting] = {}
        self._ungrouped = 0
        """The pending samples without a group."""
        self._active_s = 0.0
        """The loop's time of the last sample sent or verdict received."""
        self._sleeper: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    async def verify(self, row: Sample | Mapping[str, Any]) -> Verdict:
        """Returns the sample's verdict; its `index` is the stream's own count.

        Raises as `AsyncClient.stream`, and InvalidRequest for a row that is not a sample. Cancelling one call does not
        affect the others.
        """
        # Checked here, where it costs its own caller only: a row that cannot be written would break the whole stream.
        sample = good_sample(sample_from_json(sample_to_json(row) if isinstance(row, Sample) else dict(row)), 0)
        if sample.group is not None and sample.group_size is None:
            raise InvalidRequest("group_size: is required, to know when the group is complete", path="group_size")
        future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._waiting.append((sample, future))
        self._wake()
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return await future

    @property
    def open(self) -> bool:
        """Returns whether a stream is open now."""
        return self._task is not None

    @property
    def busy(self) -> bool:
        """Returns whether a call waits for its verdict."""
        return bool(self._waiting or self._pending)

    async def close(self) -> None:
        """Take no more, and wait for the verdicts of what was taken."""
        if self._task is not None:
            self._closing = True
            self._wake()
            await self._task

    async def _run(self) -> None:
        try:
            while self._waiting:
                await self._stream()
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._task = None
            self._closing = False

    async def _stream(self) -> None:
        """Runs one stream, from its first sample until no more are asked for."""
        loop = asyncio.get_running_loop()
        try:
            async with aclosing(self._client.stream(self._samples(), **self._envelope)) as items:
                async for item in items:
                    self._active_s = loop.time()
                    if isinstance(item, Verdict):
                        sample, future = self._pending.pop(item.index)
                        self._ungrouped -= sample.group is None
                        if not self._pending:
                            self._wake_after(self._idle_s)
                        if not future.done():
                            future.set_result(item)
            self._fail(Unavailable("the stream ended before this sample had its verdict"))
        except Exception as error:  # noqa: BLE001 - raised to every caller that waits for this stream
            self._fail(error)

    async def _samples(self) -> AsyncIterator[Sample]:
        loop = asyncio.get_running_loop()
        self._active_s = loop.time()
        index = 0
        while await self._more():
            sample, future = waiting = self._waiting.popleft()
            # Whoever left needs no verdict, unless siblings are judged with it.
            if future.done() and sample.group is None:
                continue
            self._pending[index] = waiting
            self._ungrouped += sample.group is None
            self._active_s = loop.time()
            index += 1
            yield sample

    async def _more(self) -> bool:
        """Waits for a sample; returns False when the stream may end. Takes no sample, so that cancelling loses none.

        Raises DeadlineExceeded. The transport's own clock stands still meanwhile, since a sample is being waited for.
        """
        loop = asyncio.get_running_loop()
        while not self._waiting:
            if self._closing:
                return False
            quiet_s = loop.time() - self._active_s
            if not self._pending:
                if quiet_s >= self._idle_s:
                    return False
                self._wake_after(self._idle_s - quiet_s)
            elif self._timeout_s is not None and self._ungrouped:
                if quiet_s >= self._timeout_s:
                    raise DeadlineExceeded(f"no response within {self._timeout_s} s", timeout_s=self._timeout_s)
                self._wake_after(self._timeout_s - quiet_s)
            self._sleeper = loop.create_future()
            await self._sleeper
        return True

    def _wake(self) -> None:
        if self._sleeper is not None and not self._sleeper.done():
            self._sleeper.set_result(None)

    def _wake_after(self, seconds: float) -> None:
        """Wakes at that time at the latest. Samples come thousands a second, so an earlier timer is left as it is."""
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            if self._timer.when() <= loop.time() + seconds:
                return
            self._timer.cancel()
        self._timer = loop.call_later(seconds, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._wake()

    def _fail(self, error: Exception) -> None:
        pending, self._pending, self._ungrouped = self._pending, {}, 0
        for _, future in pending.values():
            if not future.done():
                future.set_exception(error)
