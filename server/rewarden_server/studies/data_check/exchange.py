"""Samples out to the target and verdicts back, for many rows at once, over one stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from rewarden.types import Sample, Verdict
from rewarden_server.studies.rescore.target import Target

_Item = tuple[Sample, asyncio.Future[Verdict]]


class Exchange:
    """Requests verdicts. `run` must run beside those who ask."""

    def __init__(self, client: Target) -> None:
        self._client = client
        self._waiting: asyncio.Queue[_Item | None] = asyncio.Queue()
        self._sent: dict[int, asyncio.Future[Verdict]] = {}
        self.asked = 0

    async def ask(self, samples: Sequence[Sample]) -> list[Verdict]:
        """The verdicts, in order. Cancelled if the stream breaks off, whose error `run` raises."""
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[Verdict]] = []
        for sample in samples:
            futures.append(loop.create_future())
            self._waiting.put_nowait((sample, futures[-1]))
        self.asked += len(samples)
        return list(await asyncio.gather(*futures))

    def finish(self) -> None:
        """No more samples come: `run` ends."""
        self._waiting.put_nowait(None)

    async def run(self) -> None:
        """Passes samples and verdicts on until `finish`. Raises RequestError when the target is lost."""
        async with aclosing(self._client.stream(self._samples())) as items:
            async for item in items:
                if isinstance(item, Verdict):
                    future = self._sent.pop(item.index)
                    if not future.done():
                        future.set_result(item)

    async def _samples(self) -> AsyncIterator[Sample]:
        taken = 0
        while (item := await self._waiting.get()) is not None:
            sample, self._sent[taken] = item
            taken += 1
            yield sample
