"""An engine whose only judge replies as a test says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use
from rewarden.wire.json import verdict_to_json
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.judges.settings import JudgeEndpoint, JudgeSettings
from tests.judges.scripted import ScriptedJudge

Judged = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture(scope="session")
def server() -> Iterator[ScriptedJudge]:
    """One server for all tests; use `scripted`."""
    with ScriptedJudge() as made:
        yield made


@pytest.fixture
def scripted(server: ScriptedJudge) -> Iterator[ScriptedJudge]:
    """The server, without rules."""
    server.clear()
    yield server
    server.clear()


@pytest.fixture
async def engine(scripted: ScriptedJudge) -> AsyncIterator[Engine]:
    """An engine that asks it, at once and once: no retries, so that nothing waits."""
    judge = JudgeEndpoint(**scripted.settings(retries=0))
    made = Engine(settings=EngineSettings(workers=1), judges=JudgeSettings(named={"main": judge}))
    await made.start()
    yield made
    await made.close(drain_s=0)


@pytest.fixture
def judged(engine: Engine) -> Judged:
    """`await judged(use, response=…, …)`: the verdict on one sample; with `samples=[{…}, …]` those of a group."""

    async def verdict(use: str, params: dict[str, Any] | None = None, **sample: Any) -> Any:
        named = Use(name=use, params=params or {})
        rows = sample.get("samples")
        samples = [Sample(**row) for row in rows] if rows is not None else [Sample(**sample)]
        result = await engine.verify(Batch(samples=samples, use=named))
        found = [verdict_to_json(one) for one in result.verdicts]
        return found if rows is not None else found[0]

    return verdict
