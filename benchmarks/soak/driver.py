"""Clients that request verdicts as users do, with new samples once the last verdicts arrive, and their observations.

Closed loops, over both HTTP and gRPC: calls of one sample, calls of a batch, and streams. Each verdict is compared with
the verdict that its sample must have. The client itself retries failed calls. This module counts and retries verdicts
that are `retryable`; after `patient`, the client does that too.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from benchmarks.soak.load import Asked
from rewarden.client import AsyncClient
from rewarden.retry import Retry
from rewarden.types import Group, Verdict

SINGLES, BATCH, STREAM = 4, 16, 32
"""For each transport: concurrent calls of one sample, samples of one batch, samples of one stream."""

_TRIES = 4
_SLOWEST = 8
_HANGS_S = 300


@dataclass(slots=True)
class Tally:
    """The results that came back. Times in seconds.

    verdicts: right ones, by kind. wrong: descriptions. lost: samples whose call raised. again: retried verdicts.
    latencies: of calls of one sample, by kind. stragglers: for each stream, the time in which the last twentieth of its
    verdicts arrived. slowest: the longest times since the start of the call or stream.
    """

    verdicts: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    again: Counter[str] = field(default_factory=Counter)
    latencies: dict[str, list[float]] = field(default_factory=dict)
    batches: list[float] = field(default_factory=list)
    streams: list[float] = field(default_factory=list)
    stragglers: list[float] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)

    def took(self, seconds: float, asked: Asked, how: str) -> None:
        """Records the time if it is among the slowest."""
        if len(self.slowest) < _SLOWEST or seconds > self.slowest[-1][0]:
            self.slowest = sorted([*self.slowest, (seconds, f"{asked.name} ({asked.sample.id}), {how}")], reverse=True)
            del self.slowest[_SLOWEST:]

    @property
    def total(self) -> int:
        """Returns the number of finished samples."""
        return self.verdicts.total() + len(self.wrong) + len(self.lost)


class Driver:
    """The clients. `tally` can be replaced at any time: samples that end later count in the new one."""

    def __init__(self, http: str, grpc: str, samples: Iterator[Asked]) -> None:
        self.tally = Tally()
        self._targets = (http, grpc)
        self._samples = samples
        self._open = asyncio.Event()
        self._resting = asyncio.Event()
        self._busy = 0
        self._ending = False
        self._tasks: list[asyncio.Task[None]] = []
        self._clients = {target: AsyncClient(target) for target in self._targets}

    @property
    def in_flight(self) -> int:
        """Returns the maximum number of samples in flight."""
        return len(self._targets) * (SINGLES + BATCH + STREAM)

    def start(self) -> None:
        """Starts the clients."""
        self._open.set()
        for target in self._targets:
            rounds = [self._single] * SINGLES + [self._batch, self._stream]
            self._tasks += [asyncio.create_task(self._loop(one, target)) for one in rounds]

    async def rest(self) -> None:
        """Waits until all calls have ended, and starts none until `go_on`. Raises RuntimeError if a call hangs."""
        self._open.clear()
        try:
            async with asyncio.timeout(_HANGS_S):
                while self._busy:
                    self._resting.clear()
                    await self._resting.wait()
        except TimeoutError:
            raise RuntimeError(f"{self._busy} calls had no response {_HANGS_S} s after the last one began") from None

    async def patient(self) -> None:
        """Makes the clients retry retryable verdicts themselves from now on. Call it at rest."""
        for target, client in self._clients.items():
            await client.close()
            self._clients[target] = AsyncClient(target, retry=Retry(verdicts=True))

    def go_on(self) -> None:
        """Resumes."""
        self._open.set()

    async def close(self) -> None:
        """Rests, and ends."""
        await self.rest()
        self._ending = True
        self._open.set()
        await asyncio.gather(*self._tasks)
        for client in self._clients.values():
            await client.close()

    def check(self) -> None:
        """Raises the exception that ended a client: a defect of the soak itself."""
        for task in self._tasks:
            if task.done():
                task.result()

    async def _loop(self, one: Callable[[AsyncClient], Awaitable[None]], target: str) -> None:
        while True:
            await self._open.wait()
            if self._ending:
                return
            self._busy += 1
            try:
                await one(self._clients[target])
            finally:
                self._busy -= 1
                if not self._busy:
                    self._resting.set()

    async def _single(self, client: AsyncClient) -> None:
        asked = next(self._samples)
        began = time.monotonic()
        await self._ask(client, [asked])
        took = time.monotonic() - began
        self.tally.latencies.setdefault(asked.kind, []).append(took)
        self.tally.took(took, asked, "alone")

    async def _batch(self, client: AsyncClient) -> None:
        began = time.monotonic()
        await self._ask(client, list(itertools.islice(self._samples, BATCH)))
        self.tally.batches.append(time.monotonic() - began)

    async def _stream(self, client: AsyncClient) -> None:
        asked = list(itertools.islice(self._samples, STREAM))
        found: dict[int, Verdict] = {}
        times: list[float] = []
        began = time.monotonic()
        try:
            async for item in client.stream([each.sample for each in asked]):
                if isinstance(item, Group):
                    continue
                if item.index in found:
                    self.tally.wrong.append(f"a stream answered sample {item.index} twice")
                found[item.index] = item
                times.append(time.monotonic())
                self.tally.took(times[-1] - began, asked[item.index], "in a stream")
        except Exception as error:  # noqa: BLE001 - any other exception is a defect of the client, and loses as much
            self._lose([each for n, each in enumerate(asked) if n not in found], error)
        else:
            if len(found) == len(asked):
                self.tally.streams.append(times[-1] - began)
                self.tally.stragglers.append(times[-1] - times[int(len(times) * 0.95) - 1])
            self._lose([each for n, each in enumerate(asked) if n not in found], "a stream ended without its verdict")
        await self._settle(client, [(asked[n], verdict) for n, verdict in found.items()], 1)

    async def _ask(self, client: AsyncClient, asked: list[Asked], tries: int = 1) -> None:
        try:
            result = await client.verify([each.sample for each in asked])
        except Exception as error:  # noqa: BLE001 - any other exception is a defect of the client, and loses as much
            self._lose(asked, error)
            return
        if len(result.verdicts) != len(asked):
            self._lose(asked, f"{len(result.verdicts)} verdicts for {len(asked)} samples")
            return
        await self._settle(client, list(zip(asked, result.verdicts, strict=True)), tries)

    async def _settle(self, client: AsyncClient, answered: list[tuple[Asked, Verdict]], tries: int) -> None:
        """Counts verdicts, and retries those that are retryable."""
        left = []
        for asked, verdict in answered:
            if verdict.status == "error" and verdict.retryable and tries < _TRIES:
                self.tally.again[verdict.reason or ""] += 1
                left.append(asked)
            elif asked.known.agrees(verdict) and verdict.id == asked.sample.id:
                self.tally.verdicts[asked.kind] += 1
                self.tally.statuses[f"{verdict.status} {verdict.reason or 'right'}"] += 1
            else:
                self.tally.wrong.append(_told(asked, verdict))
        if left:
            await asyncio.sleep(0.5 * tries)
            await self._ask(client, left, tries + 1)

    def _lose(self, asked: list[Asked], why: Exception | str) -> None:
        words = why if isinstance(why, str) else f"{type(why).__name__}: {why}"
        self.tally.lost += [f"{each.name} ({each.sample.id}): {words}" for each in asked]


def _told(asked: Asked, verdict: Verdict) -> str:
    known = asked.known
    wanted = f"{known.score} {'/'.join(sorted(known.reasons))}".strip()
    found = f"{verdict.status} {verdict.score} {verdict.reason} (fault {verdict.fault}, flags {list(verdict.flags)})"
    return f"{asked.name} ({asked.sample.id}): {found} instead of {wanted}: {(verdict.feedback or '')[:300]}"
