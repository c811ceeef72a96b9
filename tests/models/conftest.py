"""An engine whose only model gives the numbers that a test says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest

from rewarden_models.endpoint import ModelEndpoint
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.models.settings import ModelSettings
from rewarden_server.studies.case_batch import case_batch, judge_cases
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.registry import Registry
from tests.judges.conftest import Judged as Judged
from tests.judges.conftest import judged as judged
from tests.models.scripted import NAME, ScriptedModel

Differences = Callable[[str], Awaitable[dict[str, tuple[str, ...]]]]


@pytest.fixture(scope="session")
def process() -> Iterator[ScriptedModel]:
    """One process for all tests; use `scripted`."""
    with ScriptedModel() as made:
        yield made


@pytest.fixture
def scripted(process: ScriptedModel) -> Iterator[ScriptedModel]:
    """The process, without rules."""
    process.clear()
    yield process
    process.clear()


@pytest.fixture
async def engine(scripted: ScriptedModel) -> AsyncIterator[Engine]:
    """An engine that asks it."""
    made = Engine(
        settings=EngineSettings(workers=1),
        models=ModelSettings(named={NAME: ModelEndpoint(**scripted.settings())}),
    )
    await made.start()
    yield made
    await made.close(drain_s=0)


@pytest.fixture
def differences(engine: Engine, scripted: ScriptedModel) -> Differences:
    """`await differences(verifier)`: by title, how the verdicts of its cases differ from what they expect."""

    async def found(name: str) -> dict[str, tuple[str, ...]]:
        cases = load_cases(Registry().get(name))
        for case in cases:
            scripted.script(*case.script)
        results = judge_cases(cases, await engine.verify(case_batch(cases)))
        return {result.case.title: result.differences for result in results if result.differences}

    return found
