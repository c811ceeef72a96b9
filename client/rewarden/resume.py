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

from rewarden.errors import InvalidRequest, Overloaded, Unavailable
from rewarden.retry import Retry, Tries, may_pass
from rewarden.types import Group, Sample, Verdict

_AHEAD = 64
"""Samples taken from the caller before the server has room for them."""

OpenStream = Callable[[AsyncIterator[Sample]], AsyncGenerator["Verdict | Group", None]]
"""One attempt at a stream: `Transport.stream` with its header bound."""


def samples_cancelled() -> InvalidRequest:
    """Returns the error for a caller whose own iterator of samples was cancelled: no more samples come, and there is no
    answer.
    """
    return InvalidRequest("the iterator of samples was cancelled")


class _SourceFailed(Exception):
    """An error that the caller's own iterator raised, wrapped so that it is not taken for an error of the server's."""

    def __init__(self, cause: BaseException) -> None:
        self.cause = cause


class _Ledger:
    """The samples that were sent and are not settled: not answered, or of a group whose statistics have not come."""

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
        self._queue: asyncio.Queue[Any] = asyncio.Queue()
        self._room = asyncio.Semaphore(_AHEAD)
        self._task = asyncio.create_task(self._pump(samples))
        self._returning: set[asyncio.Task[None]] = set()
        self.ended = False

    async def _pump(self, samples: AsyncIterator[Sample]) -> None:
        try:
            async for sample in samples:
                await self._room.acquire()
                self._queue.put_nowait(sample)
            self._queue.put_nowait(None)
        except asyncio.CancelledError:
            # Something that the caller's iterator awaits was cancelled; or we were, and then nobody takes it.
            self._queue.put_nowait(_SourceFailed(samples_cancelled()))
            raise
        except Exception as error:  # noqa: BLE001 - the caller's own; it is raised to the caller again
            self._queue.put_nowait(_SourceFailed(error))

    async def take(self) -> Sample | int | None:
        """The next sample, or the place of one that is to be sent again; None at the end. Raises _SourceFailed."""
        if self.ended:
            return None
        item = await self._queue.get()
        if isinstance(item, Sample):
            self._room.release()
            return item
        if isinstance(item, int):
            return item
        self.ended = True
        if item is not None:
            raise item
        return None

    def again(self, place: int, wait_s: float) -> None:
        """Makes `take` return that place after `wait_s` seconds, unless the end comes first."""

        async def give_back() -> None:
            await asyncio.sleep(wait_s)
            self._queue.put_nowait(place)

        task = asyncio.create_task(give_back())
        self._returning.add(task)
        task.add_done_callback(self._returning.discard)

    async def close(self) -> None:
        """Take no more."""
        tasks = [self._task, *self._returning]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def resume(
    open_stream: OpenStream, samples: AsyncIterator[Sample], retry: Retry
) -> AsyncGenerator[Verdict | Group, None]:
    """The verdicts and groups of the samples, each once, over as many connections as it takes.

    `Verdict.index` counts the samples. A verdict that `retry` asks again about is not told until then. Raises what the
    server raised once `retry` gives up, what `samples` raised (InvalidRequest where it was cancelled), and at once any
    other refusal.
    """
    ledger = _Ledger()
    source = _Source(samples)
    tries = Tries(retry)
    held: dict[int, Tries] = {}  # places whose verdict may pass, and what became of them so far
    wait_s = 0.0
    try:
        while True:
            places: list[int] = []  # a sample's place in this connection's stream → its place among all samples

            async def feed(places: list[int] = places) -> AsyncIterator[Sample]:
                for place, sample in sorted(ledger.open.items()):
                    places.append(place)
                    yield sample
                while (taken := await source.take()) is not None:
                    if isinstance(taken, Sample):
                        places.append(ledger.enter(taken))
                        yield taken
                    elif taken in ledger.open:
                        places.append(taken)
                        yield ledger.open[taken]

            try:
                async with aclosing(open_stream(feed())) as answers:
                    async for item in answers:
                        if isinstance(item, Group):
                            if ledger.settle(item):
                                yield item
                            continue
                        if item.index >= len(places):
                            continue
                        place = places[item.index]
                        kept = ledger.open.get(place)
                        if kept is not None and kept.group is None and retry.asks_again(item):
                            wait = held.setdefault(place, Tries(retry)).wait_s(may_pass(item))
                            if wait is not None:
                                wait_s = wait
                                source.again(place, wait)
                                continue
                        if ledger.answer(place):
                            tries.brought()
                            held.pop(place, None)
                            yield item if item.index == place else replace(item, index=place)
                if not held:
                    return
                await asyncio.sleep(wait_s)  # those that are held are sent again alone
            except _SourceFailed as failed:
                raise failed.cause from None
            except (Overloaded, Unavailable) as error:
                if source.ended and not ledger.open:
                    return
                await tries.failed(error)
    finally:
        await source.close()
