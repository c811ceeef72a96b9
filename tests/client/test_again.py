"""With `Retry(verdicts=True)`, retryable verdicts are requested again, over each transport."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rewarden import AsyncClient
from rewarden.errors import DeadlineExceeded, RequestError, Unavailable
from rewarden.retry import Retry
from rewarden.types import BatchResult, Group, Sample, Verdict
from tests.client.servers import Script, judge

pytestmark = pytest.mark.needs_server

AGAIN = Retry(attempts=3, first_s=0.0, verdicts=True)


class Failing:
    """Judges, but the samples of these ids only after so many verdicts that say that it may pass."""

    def __init__(self, times: dict[str, int], **verdict: Any) -> None:
        self.times = Counter(times)
        self.verdict: dict[str, Any] = {
            **{"status": "error", "fault": "infra", "reason": "sandbox_failed", "retryable": True},
            **verdict,
        }

    def __call__(self, sample: Sample, index: int) -> Verdict:
        """See `Script.judge`."""
        if self.times[sample.id or ""] > 0:
            self.times[sample.id or ""] -= 1
            return Verdict(**self.verdict, index=index, id=sample.id, group=sample.group)
        return judge(sample, index)


def rows(*groups: str | None) -> list[Sample]:
    """One sample for each entry, which is its group."""
    return [Sample(response="x", reference="x", id=str(n), group=name) for n, name in enumerate(groups)]


def scores(result: BatchResult) -> list[tuple[int, float | None]]:
    """Index and score of each."""
    return [(verdict.index, verdict.score) for verdict in result.verdicts]


async def test_a_batch_asks_again_about_those_alone(target: str, script: Script) -> None:
    script.judge = Failing({"1": 2, "3": 1})
    async with AsyncClient(target, retry=AGAIN) as client:
        result = await client.verify(rows(None, None, None, None))
    assert scores(result) == [(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)]
    assert [[sample.id for sample in batch.samples] for batch in script.batches] == [  # type: ignore[union-attr]
        ["0", "1", "2", "3"],
        ["1", "3"],
        ["1"],
    ]


async def test_a_group_is_asked_about_as_a_whole_and_has_its_statistics_once(target: str, script: Script) -> None:
    script.judge = Failing({"1": 1})
    async with AsyncClient(target, retry=AGAIN) as client:
        result = await client.verify(rows("a", "a", "b"))
    assert scores(result) == [(0, 1.0), (1, 1.0), (2, 1.0)]
    assert [(group.group, group.mean) for group in result.groups] == [("a", 1.0), ("b", 1.0)]
    assert [sample.id for sample in script.batches[1].samples] == ["0", "1"]  # type: ignore[union-attr]


async def test_a_batch_that_travels_as_a_stream_is_no_other(target: str, script: Script) -> None:
    script.judge = Failing({"1": 1, "3": 2})
    async with AsyncClient(target, retry=AGAIN, stream_above=0) as client:
        result = await client.verify(rows("a", "a", "b", None))
    assert scores(result) == [(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)]
    assert [(group.group, group.mean) for group in result.groups] == [("a", 1.0), ("b", 1.0)]


async def test_a_batch_that_travels_as_a_stream_is_asked_again_about_no_more_often(target: str, script: Script) -> None:
    script.judge = Failing({"1": 99})
    async with AsyncClient(target, retry=AGAIN, stream_above=0) as client:
        result = await client.verify(rows(None, None))
    assert [verdict.status for verdict in result.verdicts] == ["scored", "error"]
    assert [[sample.id for sample in stream] for stream in script.streams] == [["0", "1"], ["1"], ["1"]]


@pytest.mark.parametrize("error", [Unavailable("gone"), DeadlineExceeded("silent")])
async def test_a_server_that_goes_away_meanwhile_takes_no_verdict_along(
    target: str, script: Script, error: RequestError
) -> None:
    failing = Failing({"1": 1})

    def then_gone(sample: Sample, index: int) -> Verdict:
        script.refusals.extend([error] * 9)
        return failing(sample, index)

    script.judge = then_gone
    async with AsyncClient(target, retry=AGAIN) as client:
        result = await client.verify(rows(None, None))
    assert [verdict.status for verdict in result.verdicts] == ["scored", "error"]


async def test_what_does_not_pass_is_told_as_it_is(target: str, script: Script) -> None:
    script.judge = Failing({"1": 99})
    async with AsyncClient(target, retry=AGAIN) as client:
        result = await client.verify(rows(None, None))
    assert [(verdict.status, verdict.reason) for verdict in result.verdicts] == [
        ("scored", None),
        ("error", "sandbox_failed"),
    ]
    assert len(script.batches) == 3


@pytest.mark.parametrize(
    ("retry", "verdict"),
    [
        (Retry(first_s=0.0), {}),
        (AGAIN, {"retryable": False}),
        (AGAIN, {"reason": "deadline"}),
        (AGAIN, {"status": "undecided", "fault": "reference"}),
    ],
)
async def test_nothing_else_is_asked_again(target: str, script: Script, retry: Retry, verdict: dict[str, Any]) -> None:
    script.judge = Failing({"0": 99}, **verdict)
    async with AsyncClient(target, retry=retry) as client:
        assert (await client.verify(rows(None))).verdicts[0].score is None
        streamed = [item async for item in client.stream(rows(None))]
    assert len(streamed) == 1
    assert (len(script.batches), len(script.streams), len(script.streams[0])) == (1, 1, 1)


async def test_a_stream_asks_again_while_it_waits_for_the_next_sample(target: str, script: Script) -> None:
    script.judge = Failing({"0": 2})
    found: list[Verdict | Group] = []

    async def live() -> AsyncIterator[Sample]:
        yield rows(None)[0]
        while not found:  # a trainer that goes on when it has its verdict
            await first.wait()
        yield rows(None, None)[1]

    first = asyncio.Event()
    async with AsyncClient(target, retry=AGAIN) as client:
        async for item in client.stream(live()):
            found.append(item)
            first.set()
    assert [(item.index, item.score) for item in found if isinstance(item, Verdict)] == [(0, 1.0), (1, 1.0)]
    assert len(script.streams) == 1


async def test_a_stream_asks_again_after_its_last_sample(target: str, script: Script) -> None:
    script.judge = Failing({"2": 2})
    async with AsyncClient(target, retry=AGAIN) as client:
        found = [item async for item in client.stream(rows(None, None, None))]
    assert sorted((item.index, item.score) for item in found if isinstance(item, Verdict)) == [
        (0, 1.0),
        (1, 1.0),
        (2, 1.0),
    ]


async def test_what_does_not_pass_ends_a_stream_all_the_same(target: str, script: Script) -> None:
    script.judge = Failing({"0": 99})
    async with AsyncClient(target, retry=AGAIN) as client:
        found = [item async for item in client.stream(rows(None, None))]
    told = {item.index: item.status for item in found if isinstance(item, Verdict)}
    assert told == {0: "error", 1: "scored"}


async def test_a_stream_tells_the_verdicts_of_a_groups_members_as_they_are(target: str, script: Script) -> None:
    # Its statistics were made of them, and its siblings' verdicts have been told.
    script.judge = Failing({"0": 1})
    async with AsyncClient(target, retry=AGAIN) as client:
        found = [item async for item in client.stream(rows("a", "a"))]
    assert [item.status for item in found if isinstance(item, Verdict)] == ["error", "scored"]
