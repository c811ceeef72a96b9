"""A stream shared by concurrent calls with one sample each, for trainers that request one reward at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from rewarden.client import AsyncClient, Row, UseLike
from rewarden.errors import InvalidRequest, Unavailable
from rewarden.types import Sample, Verdict
from rewarden.wire.json import good_sample, sample_from_json, sample_to_json

_Waiting = tuple[Sample, "asyncio.Future[Verdict]"]


class SampleStream:
    """Concurrent calls share one stream. Each gets its verdict as soon as it is ready and does not wait for others.

    The stream opens with the first call, survives lost connections (like `AsyncClient.stream`), and closes after
    `idle_s` seconds without a call. Siblings of a group wait for one another, because a group is judged as a whole: set
    their `group_size`. Members of a group that is incomplete after `group_deadline_s` get an error verdict.
    Further arguments (`shared`, `expect` …) are those of `rewarden.types.Batch`. For one event loop.
    """

    def __init__(
        self,
        client: AsyncClient,
        use: UseLike | None = None,
        *,
        idle_s: float = 1.0,
        group_deadline_s: float = 60.0,
        **envelope: Any,
    ) -> None:
        self._client = client
        self._envelope = {"use": use, "group_deadline_s": group_deadline_s, **envelope}
        self._idle_s = idle_s
        self._waiting: deque[_Waiting] = deque()
        self._asked = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    async def verify(self, row: Row) -> Verdict:
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
        self._asked.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return await future

    @property
    def open(self) -> bool:
        """Returns whether a stream is open now."""
        return self._task is not None

    async def close(self) -> None:
        """Take no more, and wait for the verdicts of what was taken."""
        if self._task is not None:
            self._closing = True
            self._asked.set()
            await self._task

    async def _run(self) -> None:
        try:
            while self._waiting:
                await self._stream()
        finally:
            self._task = None
            self._closing = False

    async def _stream(self) -> None:
        """Runs one stream, from its first sample until no more are asked for."""
        pending: dict[int, _Waiting] = {}
        try:
            async with aclosing(self._client.stream(self._samples(pending), **self._envelope)) as items:
                async for item in items:
                    if isinstance(item, Verdict):
                        _, future = pending.pop(item.index)
                        if not future.done():
                            future.set_result(item)
            self._fail(pending, Unavailable("the stream ended before this sample had its verdict"))
        except Exception as error:  # noqa: BLE001 - raised to every caller that waits for this stream
            self._fail(pending, error)

    async def _samples(self, pending: dict[int, _Waiting]) -> AsyncIterator[Sample]:
        index = 0
        while await self._more(pending):
            sample, future = waiting = self._waiting.popleft()
            # Whoever left needs no verdict, unless siblings are judged with it.
            if future.done() and sample.group is None:
                continue
            pending[index] = waiting
            index += 1
            yield sample

    async def _more(self, pending: dict[int, _Waiting]) -> bool:
        """Waits for a sample; returns False when the stream may end. Takes no sample, so that cancelling loses none."""
        while not self._waiting:
            if self._closing:
                return False
            self._asked.clear()
            try:
                await asyncio.wait_for(self._asked.wait(), self._idle_s)
            except asyncio.TimeoutError:
                if not pending:
                    return False
        return True

    def _fail(self, pending: dict[int, _Waiting], error: Exception) -> None:
        for _, future in pending.values():
            if not future.done():
                future.set_exception(error)
        pending.clear()
