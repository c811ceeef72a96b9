"""One sample at a time in, one stream for all of them."""

from __future__ import annotations

import asyncio

import pytest

from rewarden.client import AsyncClient
from rewarden.errors import DeadlineExceeded, InvalidRequest, Overloaded
from rewarden.retry import NO_RETRY, Retry
from rewarden.sample_stream import SampleStream
from rewarden.types import Sample, Use
from tests.client.servers import Script


def rows(count: int, **fields: object) -> list[Sample]:
    return [Sample(response=str(n), reference=str(n % 2), id=str(n), **fields) for n in range(count)]  # type: ignore[arg-type]


async def test_concurrent_calls_share_a_stream_and_each_gets_its_own_verdict(target: str, script: Script) -> None:
    async with AsyncClient(target) as client:
        stream = SampleStream(client, "equal", deadline_s=3.0)
        verdicts = await asyncio.gather(*map(stream.verify, rows(50)))
        await stream.close()
    assert [verdict.id for verdict in verdicts] == [str(n) for n in range(50)]
    assert [verdict.score for verdict in verdicts[:4]] == [1.0, 1.0, 0.0, 0.0]
    assert [len(seen) for seen in script.streams] == [50]
    assert (script.headers[0].use, script.headers[0].deadline_s) == (Use(name="equal"), 3.0)


async def test_a_stream_ends_when_nobody_asks_and_the_next_call_opens_another(target: str, script: Script) -> None:
    async with AsyncClient(target) as client:
        stream = SampleStream(client, "equal", idle_s=0.0)
        for n in range(3):
            assert (await stream.verify(rows(n + 1)[n])).id == str(n)
            while stream.open:
                await asyncio.sleep(0.001)
    assert [len(seen) for seen in script.streams] == [1, 1, 1]


async def test_a_broken_connection_costs_no_caller_its_verdict(target: str, script: Script) -> None:
    script.breaks.extend((3, 2))
    async with AsyncClient(target, retry=Retry(first_s=0.0)) as client:
        stream = SampleStream(client, "equal")
        verdicts = await asyncio.gather(*map(stream.verify, rows(10)))
        await stream.close()
    assert [verdict.id for verdict in verdicts] == [str(n) for n in range(10)]
    assert len(script.streams) == 3


async def test_what_the_stream_raises_every_caller_of_it_gets_and_the_next_one_may_succeed(
    target: str, script: Script
) -> None:
    script.refusals.append(Overloaded("busy"))
    async with AsyncClient(target, retry=NO_RETRY) as client:
        stream = SampleStream(client, "equal")
        results = await asyncio.gather(*map(stream.verify, rows(3)), return_exceptions=True)
        assert [type(result) for result in results] == [Overloaded] * 3
        assert (await stream.verify(rows(1)[0])).score == 1.0
        await stream.close()


async def test_a_row_that_is_no_sample_costs_its_own_caller_only(target: str) -> None:
    async with AsyncClient(target) as client:
        stream = SampleStream(client, "equal")
        good, bad, worse = await asyncio.gather(
            stream.verify({"response": "a", "reference": "a"}),
            stream.verify({"respones": "a"}),
            stream.verify(Sample(response="a", reference=float("nan"))),
            return_exceptions=True,
        )
        await stream.close()
    assert not isinstance(good, BaseException)
    assert good.score == 1.0
    assert isinstance(bad, InvalidRequest)
    assert isinstance(worse, InvalidRequest)
    assert "did you mean 'response'" in bad.message
    assert "reference" in worse.message


async def test_a_caller_that_leaves_costs_the_others_nothing(target: str, script: Script) -> None:
    script.hold = asyncio.Event()
    async with AsyncClient(target) as client:
        stream = SampleStream(client, "equal")
        calls = [asyncio.create_task(stream.verify(row)) for row in rows(3)]
        while not script.authorizations:
            await asyncio.sleep(0.001)
        calls[1].cancel()
        script.hold.set()
        results = await asyncio.gather(*calls, return_exceptions=True)
        await stream.close()
    assert [type(result).__name__ for result in results] == ["Verdict", "CancelledError", "Verdict"]


async def test_who_left_before_being_sent_is_not_sent(target: str, script: Script) -> None:
    async with AsyncClient(target) as client:
        stream = SampleStream(client, "equal")
        calls = [asyncio.create_task(stream.verify(row)) for row in rows(3)]
        await asyncio.sleep(0)
        calls[1].cancel()
        assert [(await calls[n]).id for n in (0, 2)] == ["0", "2"]
        await stream.close()
    assert [[sample.id for sample in seen] for seen in script.streams] == [["0", "2"]]


async def test_siblings_travel_with_their_group(target: str, script: Script) -> None:
    async with AsyncClient(target) as client:
        stream = SampleStream(client, "equal")
        verdicts = await asyncio.gather(*map(stream.verify, rows(3, group="g", group_size=3)))
        await stream.close()
    assert {verdict.group for verdict in verdicts} == {"g"}
    assert script.headers[0].group_deadline_s == 60.0


async def test_a_group_of_unknown_size_is_refused(target: str) -> None:
    async with AsyncClient(target) as client:
        with pytest.raises(InvalidRequest, match="group_size"):
            await SampleStream(client, "equal").verify(rows(1, group="g")[0])


async def test_closing_waits_for_what_was_taken(target: str, script: Script) -> None:
    script.hold = asyncio.Event()
    async with AsyncClient(target) as client:
        stream = SampleStream(client, "equal")
        call = asyncio.create_task(stream.verify(rows(1)[0]))
        while not script.authorizations:
            await asyncio.sleep(0.001)
        closing = asyncio.create_task(stream.close())
        await asyncio.sleep(0)
        assert not closing.done()
        script.hold.set()
        await closing
        assert (await call).score == 1.0
        await stream.close()  # again, with nothing under way


async def test_a_server_that_falls_silent_ends_the_calls_that_wait(target: str, script: Script) -> None:
    script.hold = asyncio.Event()
    async with AsyncClient(target) as client:
        stream = SampleStream(client, "equal", timeout_s=0.05)
        results = await asyncio.gather(*map(stream.verify, rows(3)), return_exceptions=True)
        assert [type(result) for result in results] == [DeadlineExceeded] * 3
        script.hold.set()
        assert (await stream.verify(rows(1)[0])).score == 1.0
        await stream.close()
