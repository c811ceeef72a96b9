"""An engine with the toys, its limits short."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.observer import Observer
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.contract import Resources, spec_of
from rewarden_verifiers.registry import Registry
from tests.engine import toys


class Recorder(Observer):
    """Remembers what the engine tells its observer."""

    def __init__(self) -> None:
        self.verdicts: list[Verdict] = []
        self.ended: list[str] = []
        self.refusals: list[str] = []
        self._changed = asyncio.Event()

    async def until_ended(self, reason: str, times: int = 1) -> None:
        """Returns when so many workers have ended for this reason."""
        while self.ended.count(reason) < times:
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), 30)

    def verdict(self, verdict: Verdict, inline: bool = False) -> None:
        self.verdicts.append(verdict)

    def worker_ended(self, reason: str) -> None:
        self.ended.append(reason)
        self._changed.set()

    def refused(self, source: str, reason: str) -> None:
        self.refusals.append(reason)


def toy_registry() -> Registry:
    registry = Registry()
    for function in toys.ALL:
        spec = spec_of(function)
        assert spec is not None
        registry.add(spec)
    return registry


Make = Callable[..., Awaitable[Engine]]


@pytest.fixture
async def make_engine() -> AsyncIterator[Make]:
    """Makes engines; closes them at the end."""
    made: list[Engine] = []

    async def make(*, resources: Mapping[str, Resources] | None = None, **settings: Any) -> Engine:
        options = {"workers": 2, "item_cpu_s": 0.3, "slow_s": 0.05, "worker_memory_mb": 256, **settings}
        engine = Engine(toy_registry(), EngineSettings(**options), Recorder(), warm=(), resources=resources)
        await engine.start()
        made.append(engine)
        return engine

    yield make
    for engine in made:
        await engine.close(drain_s=0)


@pytest.fixture
async def engine(make_engine: Make) -> Engine:
    """An engine with the toys."""
    return await make_engine()


async def verdicts_of(engine: Engine, texts: list[str], use: str = "toy_cpu", **fields: Any) -> list[Verdict]:
    """The verdicts of plain texts, each with the reference `yes`."""
    samples = [Sample(response=text, reference=fields.pop("reference", "yes")) for text in texts]
    result = await engine.verify(Batch(samples=samples, use=Use(name=use), **fields))
    return list(result.verdicts)
