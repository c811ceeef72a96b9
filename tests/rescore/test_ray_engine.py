"""The part that runs on a node, without a cluster around it: an engine behind calls of bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use
from rewarden.wire.json import dumps, header_to_json, sample_to_json
from rewarden_server.config import load_config
from rewarden_server.studies.rescore.ray_engine import RayEngine, pack

pytestmark = pytest.mark.needs_server


@asynccontextmanager
async def engine(**settings: int) -> AsyncIterator[RayEngine]:
    """One with settings of the section `engine`."""
    environ = {f"REWARDEN_ENGINE_{name.upper()}": str(value) for name, value in settings.items()}
    made = RayEngine(pack(load_config(environ=environ), environ, [Use(name="math")], cores=1, engines=1))
    await made.start()
    try:
        yield made
    finally:
        await made.close()


async def judged(engine: RayEngine, use: Use, samples: list[Sample]) -> list[Mapping[str, Any]]:
    """The verdicts of a piece, which is not refused."""
    header = dumps(header_to_json(Batch(samples=(), use=use)))
    async with asyncio.timeout(60):
        reply = json.loads(await engine.judge(header, dumps([sample_to_json(sample) for sample in samples])))
    assert isinstance(reply, list), reply
    assert [verdict["index"] for verdict in reply] == list(range(len(samples)))
    return reply


def numbers(first: int, count: int, **fields: Any) -> list[Sample]:
    """Every other one is right."""
    return [
        Sample(response=f"\\boxed{{{number}}}", reference=str(number + number % 2), **fields)
        for number in range(first, first + count)
    ]


async def test_pieces_that_do_not_fit_beside_each_other_wait_for_room() -> None:
    async with engine(max_samples=300) as made:
        found = await asyncio.gather(*(judged(made, Use(name="math"), numbers(256 * n, 256)) for n in range(8)))
    assert [verdict["score"] for piece in found for verdict in piece] == [1.0, 0.0] * 1024


async def test_a_piece_that_never_fits_whole_is_judged_as_it_fits() -> None:
    async with engine(max_samples=10) as made:
        found = await judged(made, Use(name="math"), numbers(0, 64))
    assert [verdict["score"] for verdict in found] == [1.0, 0.0] * 32


async def test_a_group_that_never_fits_whole_is_judged_as_a_group() -> None:
    votes = Use(name="consensus", params={"use": "math"})
    async with engine(max_samples=10) as made:
        group = [Sample(response=f"\\boxed{{{n % 3 // 2}}}", group="g", group_size=30) for n in range(30)]
        found = await judged(made, votes, group)
    assert [verdict["passed"] for verdict in found] == [True, True, False] * 10
