"""A stream that outlives its connection: what is not yet answered is sent again, and nothing is answered twice.

A group is judged as a whole, so the members of a group that is still open are all sent again, those with a verdict
too; their second verdict is dropped. Samples are kept until they (and their group) are answered, no longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from rewarden.errors import Overloaded, RequestError, Unavailable
from rewarden.retry import Retry
from rewarden.types import Group, Sample, Verdict

_AHEAD = 64
"""Samples taken from the caller before the server has room for them."""

OpenStream = Callable[[AsyncIterator[Sample]], AsyncGenerator["Verdict | Group", None]]
"""One attempt at a stream: `Transport.stream` with its header bound."""


class _SourceFailed(Exception):
    """What the caller's own iterator raised, wrapped so that it is not taken for an error of the server's."""

    def __init__(self, cause: BaseException) -> None:
        self.cause = cause


class _Ledger:
    """Which samples were sent and are not settled: not answered, or of a group whose statistics have not come."""

    def __init__(self) -> None:
        self.open: dict[int, Sample] = {}
        self._answered: set[int] = set()
        self._groups: dict[str, list[int]] = {}
        self._next = 0

    def enter(self, sample: Sample) -> int:
        """Note a sample as sent; its place among all samples."""
        place = self._next
        self._next += 1
        self.open[place] = sample
        if sample.group is not None:
            self._groups.setdefault(sample.group, []).append(place)
        return place

    def answer(self, place: int) -> bool:
        """Note a verdict; False when that sample was answered before."""
        sample = self.open.get(place)
        if sample is None or place in self._answered:
            return False
        if sample.group is None:
            del self.open[place]
        else:
            self._answered.add(place)
        return True

    def settle(self, group: Group) -> bool:
        """Note a group's statistics; False when they came before."""
        places = self._groups.get(group.group)
        if places is None:
            return False
        # A name may be used again for later siblings: the oldest `size` members are the ones that are settled.
        for place in places[: group.size]:
            if place in self._answered:
                self._answered.remove(place)
                del self.open[place]
        del places[: group.size]
        if not places:
            del self._groups[group.group]
        return True


class _Source:
    """The caller's samples, taken by a task of its own: a broken connection never cancels the caller's iterator."""

    def __init__(self, samples: AsyncIterator[Sample]) -> None:
        self._queue: asyncio.Queue[Any] = asyncio.Queue(_AHEAD)
        self._task = asyncio.create_task(self._pump(samples))
        self.ended = False

    async def _pump(self, samples: AsyncIterator[Sample]) -> None:
        try:
            async for sample in samples:
                await self._queue.put(sample)
            await self._queue.put(None)
        except Exception as error:  # noqa: BLE001 - the caller's own; it is raised to the caller again
            await self._queue.put(_SourceFailed(error))

    async def take(self) -> Sample | None:
        """The next sample, None at the end. Raises _SourceFailed."""
        if self.ended:
            return None
        item = await self._queue.get()
        if isinstance(item, Sample):
            return item
        self.ended = True
        if item is not None:
            raise item
        return None

    async def close(self) -> None:
        """Take no more."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def resume(
    open_stream: OpenStream, samples: AsyncIterator[Sample], retry: Retry
) -> AsyncGenerator[Verdict | Group, None]:
    """The verdicts and groups of the samples, each once, over as many connections as it takes.

    `Verdict.index` counts the samples. Raises what the server raised once `retry` gives up, what `samples` raised, and
    at once any other refusal.
    """
    ledger = _Ledger()
    source = _Source(samples)
    failures = 0
    try:
        while True:
            places: list[int] = []  # a sample's place in this connection's stream → its place among all samples

            async def feed(places: list[int] = places) -> AsyncIterator[Sample]:
                for place, sample in sorted(ledger.open.items()):
                    places.append(place)
                    yield sample
                while (taken := await source.take()) is not None:
                    places.append(ledger.enter(taken))
                    yield taken

            try:
                async with aclosing(open_stream(feed())) as answers:
                    async for item in answers:
                        if isinstance(item, Group):
                            if ledger.settle(item):
                                yield item
                        elif item.index < len(places) and ledger.answer(places[item.index]):
                            failures = 0
                            place = places[item.index]
                            yield item if item.index == place else replace(item, index=place)
                return
            except _SourceFailed as failed:
                raise failed.cause from None
            except (Overloaded, Unavailable) as error:
                if source.ended and not ledger.open:
                    return
                failures += 1
                await wait_or_raise(retry, failures, error)
    finally:
        await source.close()


async def wait_or_raise(retry: Retry, failures: int, error: RequestError) -> None:
    """Wait as `retry` says, or raise the error."""
    wait = retry.wait_s(failures, error)
    if wait is None:
        raise error
    await asyncio.sleep(wait)
