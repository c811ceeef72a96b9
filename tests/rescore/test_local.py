"""The target `local`: the client's whole interface over an engine in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from rewarden.client import AsyncClient
from rewarden.errors import InvalidRequest, NotFound
from rewarden.types import Batch, Group, Sample, Use, Verdict
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.local import LocalTransport

pytestmark = pytest.mark.needs_server


@pytest.fixture
async def client() -> AsyncIterator[AsyncClient]:
    async with AsyncClient("local", settings=EngineSettings(workers=1)) as made:
        yield made


def answers(*texts: str, **fields: object) -> list[Sample]:
    return [Sample(response=f"\\boxed{{{text}}}", reference="2", **fields) for text in texts]  # type: ignore[arg-type]


async def test_a_batch(client: AsyncClient) -> None:
    result = await client.verify(answers("2", "3"), "math")
    assert [verdict.score for verdict in result.verdicts] == [1.0, 0.0]


async def test_a_stream_with_groups(client: AsyncClient) -> None:
    samples = answers("2", "3", "2", group="g", group_size=3)
    items = [item async for item in client.stream(samples, "math")]
    verdicts = sorted((item for item in items if isinstance(item, Verdict)), key=lambda verdict: verdict.index)
    assert [verdict.passed for verdict in verdicts] == [True, False, True]
    (group,) = (item for item in items if isinstance(item, Group))
    assert (group.size, group.passed) == (3, 2)


async def test_what_the_callers_own_samples_raise_comes_back(client: AsyncClient) -> None:
    async def broken() -> AsyncIterator[Sample]:
        yield answers("2")[0]
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        async for _ in client.stream(broken(), "math"):
            pass


async def test_samples_that_are_cancelled_end_the_stream_with_an_error() -> None:
    made = asyncio.ensure_future(asyncio.Event().wait())

    async def samples() -> AsyncIterator[Sample]:
        yield answers("2")[0]
        made.cancel()
        await made

    transport = LocalTransport(settings=EngineSettings(workers=1))

    async def read() -> None:
        async for _ in transport.stream(Batch(use=Use(name="math")), samples()):
            pass

    with pytest.raises(InvalidRequest, match="iterator of samples was cancelled"):
        await asyncio.wait_for(read(), 30)
    await transport.close()


async def test_leaving_a_stream_early_leaves_nothing_behind(client: AsyncClient) -> None:
    async def endless() -> AsyncIterator[Sample]:
        while True:
            yield answers("2")[0]

    before = len(asyncio.all_tasks())
    stream = client.stream(endless(), "math")
    await anext(stream)
    await stream.aclose()
    await client.close()
    assert len(asyncio.all_tasks()) <= before


async def test_what_can_judge(client: AsyncClient) -> None:
    assert "math" in {each["name"] for each in await client.verifiers()}
    assert (await client.verifiers("math"))[0]["name"] == "math"
    with pytest.raises(NotFound, match="math"):
        await client.verifiers("mth")
    assert (await client.info())["ready"]


async def test_a_closed_client_may_be_used_again(client: AsyncClient) -> None:
    await client.close()
    assert (await client.verify(answers("2"), Use(name="math"))).verdicts[0].score == 1.0
