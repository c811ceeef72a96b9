"""A server that is restarted under load costs its clients nothing but time, over HTTP and over gRPC."""

from __future__ import annotations

import asyncio
import math
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rewarden import AsyncClient
from rewarden.errors import InvalidRequest, Overloaded, RequestError, Unavailable
from rewarden.retry import Retry, Tries
from rewarden.types import Group, Sample, Verdict
from tests.ports import free_port
from tests.server.process import ServerProcess

HALF = 20


def sample(number: int) -> Sample:
    """Right when its number is even."""
    return Sample(response=f"{number}: \\boxed{{{'AB'[number % 2]}}}", reference="A", id=str(number))


def right(verdicts: list[Verdict], count: int) -> bool:
    """Returns whether each sample has its one verdict, and the right one."""
    found = sorted((int(verdict.id or ""), verdict.score) for verdict in verdicts)
    return found == [(number, 1.0 - number % 2) for number in range(count)]


class Restarted:
    """Samples before and after a restart: `begun` when the first verdict is there, `over` when the server is back."""

    def __init__(self) -> None:
        self.begun = asyncio.Semaphore(0)
        self.over = asyncio.Event()

    async def live(self) -> AsyncIterator[Sample]:
        """A trainer's samples: the second half comes when the server is back."""
        for number in range(2 * HALF):
            if number == HALF:
                await self.over.wait()
            yield sample(number)

    async def stream(self, client: AsyncClient) -> list[Verdict]:
        """The verdicts of one stream that lives through it."""
        found: list[Verdict] = []
        async for item in client.stream(self.live(), "choice"):
            assert not isinstance(item, Group)
            found.append(item)
            if len(found) == HALF:
                self.begun.release()
        return found

    async def calls(self, client: AsyncClient) -> list[Verdict]:
        """The verdicts of calls, one after the other, for as long as it takes."""
        found: list[Verdict] = []
        while not self.over.is_set() or len(found) < HALF:
            result = await client.verify([sample(len(found))], "choice")
            found += result.verdicts
            if len(found) == 1:
                self.begun.release()
        return found


@pytest.mark.needs_server
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_restart_of_the_server_loses_nothing(tmp_path: Path, number: signal.Signals) -> None:
    http, grpc = free_port(), free_port()
    flags = ("--port", str(http), "--grpc-port", str(grpc), "--set", "server.drain_s=0.1")
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    what = Restarted()
    async with AsyncClient(f"http://127.0.0.1:{http}") as one, AsyncClient(f"grpc://127.0.0.1:{grpc}") as other:
        with ServerProcess(folders[0], *flags) as server:
            streams = [asyncio.create_task(what.stream(client)) for client in (one, other)]
            calls = [asyncio.create_task(what.calls(client)) for client in (one, other)]
            for _ in (*streams, *calls):
                await what.begun.acquire()
            server.process.send_signal(number)
            await asyncio.to_thread(server.process.communicate)
        again = ServerProcess(folders[1], *flags)
        try:
            await asyncio.to_thread(again.__enter__)
            what.over.set()
            for stream in await asyncio.gather(*streams):
                assert right(stream, 2 * HALF)
            for called in await asyncio.gather(*calls):
                assert right(called, len(called))
        finally:
            again.__exit__(None, None, None)


# --- patience ----------------------------------------------------------------------------------------------------


class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        """See `time`."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """See `asyncio`."""
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("rewarden.retry.time", clock)
    monkeypatch.setattr("rewarden.retry.asyncio", clock)
    return clock


async def until_raised(tries: Tries, error: RequestError, clock: Clock, took: float = 0.0) -> int:
    """Returns how many failures are borne, of tries that take so long."""
    for count in range(1000):
        clock.now += took
        try:
            await tries.failed(error)
        except type(error):
            return count
    raise AssertionError("it is tried for ever")


async def test_patience_outlives_a_server_that_drains_for_half_a_minute_and_starts(clock: Clock) -> None:
    tries = Tries(Retry())
    while clock.now < 60.0:
        await tries.failed(Unavailable("draining"))


async def test_patience_ends(clock: Clock) -> None:
    await until_raised(Tries(Retry(patience_s=60.0)), Unavailable("gone"), clock)
    assert clock.now <= 60.0


async def test_tries_that_take_long_cost_patience_too(clock: Clock) -> None:
    tries = Tries(Retry(patience_s=60.0, first_s=0.0))
    # Each counts as ten seconds: a server that worked for an hour before it went away was there.
    assert await until_raised(tries, Unavailable("gone"), clock, took=3600.0) == 6


async def test_what_the_server_brings_renews_patience(clock: Clock) -> None:
    tries = Tries(Retry(patience_s=10.0))
    for _ in range(20):
        await tries.failed(Overloaded("busy", retry_after_s=9.0))
        tries.brought()
    assert clock.now >= 180.0


async def test_a_wish_beyond_what_is_left_of_patience_is_raised_at_once(clock: Clock) -> None:
    tries = Tries(Retry(patience_s=60.0, first_s=0.0))
    assert await until_raised(tries, Overloaded("busy", retry_after_s=25.0), clock) == 2
    assert clock.now == 50.0


async def test_the_callers_own_error_is_raised_at_once(clock: Clock) -> None:
    assert await until_raised(Tries(Retry()), InvalidRequest("wrong"), clock) == 0


async def test_whoever_waits_is_told_why(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("rewarden.retry._said_s", -math.inf)
    await Tries(Retry()).failed(Unavailable("mistyped:8080 cannot be reached"))
    assert "mistyped:8080 cannot be reached; retrying" in caplog.text
