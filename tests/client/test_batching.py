"""One sample at a time in, one request for many out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rewarden.batching import MicroBatcher
from rewarden.errors import DeadlineExceeded, InvalidRequest, Overloaded, RequestError
from rewarden.types import BatchResult, Sample

from .servers import judge


class Recorder:
    """Stands for a client; keeps what it was asked."""

    def __init__(self, refusal: RequestError | None = None) -> None:
        self.requests: list[list[Sample]] = []
        self.envelopes: list[dict[str, Any]] = []
        self.refusal = refusal
        self.hold = asyncio.Event()
        self.hold.set()

    async def verify(self, samples: list[Sample], **envelope: Any) -> BatchResult:
        self.requests.append(samples)
        self.envelopes.append(envelope)
        await self.hold.wait()
        if self.refusal is not None:
            raise self.refusal
        return BatchResult(verdicts=[judge(sample, index) for index, sample in enumerate(samples)])


def batcher(recorder: Recorder, **settings: Any) -> MicroBatcher:
    return MicroBatcher(recorder, "equal", **settings)  # type: ignore[arg-type]


def rows(count: int, **fields: Any) -> list[Sample]:
    return [Sample(response=str(n), reference=str(n), id=str(n), **fields) for n in range(count)]


async def test_concurrent_calls_are_one_request_and_each_gets_its_own_verdict() -> None:
    recorder = Recorder()
    batching = batcher(recorder, deadline_s=3.0)
    verdicts = await asyncio.gather(*map(batching.verify, rows(20)))
    assert [verdict.id for verdict in verdicts] == [str(n) for n in range(20)]
    assert [len(request) for request in recorder.requests] == [20]
    assert recorder.envelopes == [{"use": "equal", "deadline_s": 3.0}]


async def test_a_full_request_leaves_at_once() -> None:
    recorder = Recorder()
    batching = batcher(recorder, max_samples=8, max_wait_s=3600.0)
    await asyncio.gather(*map(batching.verify, rows(16)))
    assert [len(request) for request in recorder.requests] == [8, 8]


async def test_what_the_request_raises_every_caller_gets() -> None:
    batching = batcher(Recorder(Overloaded("busy")))
    results = await asyncio.gather(*map(batching.verify, rows(3)), return_exceptions=True)
    assert [type(result) for result in results] == [Overloaded] * 3


async def test_a_caller_that_leaves_costs_the_others_nothing() -> None:
    recorder = Recorder()
    recorder.hold.clear()
    batching = batcher(recorder, max_samples=3)
    calls = [asyncio.create_task(batching.verify(row)) for row in rows(3)]
    while not recorder.requests:
        await asyncio.sleep(0)
    calls[1].cancel()
    recorder.hold.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result).__name__ for result in results] == ["Verdict", "CancelledError", "Verdict"]


async def test_who_left_before_the_request_is_not_in_it() -> None:
    recorder = Recorder()
    batching = batcher(recorder, max_wait_s=3600.0)
    calls = [asyncio.create_task(batching.verify(row)) for row in rows(3)]
    await asyncio.sleep(0)
    calls[1].cancel()
    await asyncio.sleep(0)
    await batching.close()
    assert [[sample.id for sample in request] for request in recorder.requests] == [["0", "2"]]
    assert (await calls[2]).id == "2"


async def test_siblings_wait_for_one_another_and_travel_together() -> None:
    recorder = Recorder()
    batching = batcher(recorder, max_samples=1)
    first, second, third = rows(3, group="g", group_size=3)
    early = [asyncio.create_task(batching.verify(row)) for row in (first, second)]
    alone = await batching.verify(Sample(response="x", id="alone"))
    assert alone.id == "alone"
    assert not any(call.done() for call in early)
    await asyncio.gather(*early, batching.verify(third))
    assert [[sample.id for sample in request] for request in recorder.requests] == [["alone"], ["0", "1", "2"]]


async def test_a_group_that_does_not_become_whole_says_so() -> None:
    batching = batcher(Recorder(), group_wait_s=0.0)
    with pytest.raises(DeadlineExceeded, match="1 of 2 members came"):
        await batching.verify(rows(1, group="g", group_size=2)[0])


async def test_a_group_of_unknown_size_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="group_size"):
        await batcher(Recorder()).verify(rows(1, group="g")[0])


async def test_closing_sends_what_waits_and_gives_up_groups_that_are_not_whole() -> None:
    recorder = Recorder()
    batching = batcher(recorder, max_wait_s=3600.0)
    single = asyncio.create_task(batching.verify(rows(1)[0]))
    sibling = asyncio.create_task(batching.verify(rows(1, group="g", group_size=2)[0]))
    await asyncio.sleep(0)
    await batching.close()
    assert (await single).score == 1.0
    with pytest.raises(InvalidRequest, match="closed before it was whole"):
        await sibling


async def test_a_row_may_be_a_mapping() -> None:
    verdict = await batcher(Recorder()).verify({"response": "a", "reference": "a"})
    assert verdict.score == 1.0
    with pytest.raises(InvalidRequest, match="did you mean 'response'"):
        await batcher(Recorder()).verify({"respones": "a"})
