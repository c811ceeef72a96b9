"""The target `local`: an engine in this process, behind the client's own interface."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

from rewarden.resume import samples_cancelled
from rewarden.routing import Routing
from rewarden.types import Batch, BatchResult, Group, Run, RunResult, Sample, Verdict
from rewarden_server import catalogue
from rewarden_server.config import Config, load_config
from rewarden_server.configured import configured_engine
from rewarden_server.engine import expectation
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.intake.routing import load_routing, routed
from rewarden_server.processes.settings import SandboxSettings
from rewarden_verifiers.registry import Registry


class LocalTransport:
    """A `rewarden.transports.base.Transport`. The engine starts with the first call and ends with `close`.

    config: the configuration, whose engine, sandbox, routing, databases and Lean projects hold; without one, that of
    the environment, but for the engine's settings. settings, registry, sandbox: the engine's, instead of the
    configuration's. functions: functions in files that uses may name, `FILE.py:FUNCTION`, where no registry is given.
    engine: one that runs already, whose callers say who judges; it is left running. `api_key` and `timeout_s` have no
    meaning here: nobody else can call, and whoever waits can cancel.
    """

    def __init__(
        self,
        target: str = "local",
        *,
        api_key: str | None = None,
        timeout_s: float | None = None,
        settings: EngineSettings | None = None,
        registry: Registry | None = None,
        functions: Sequence[str] = (),
        sandbox: SandboxSettings | None = None,
        config: Config | None = None,
        engine: Engine | None = None,
    ) -> None:
        self._settings = settings
        self._registry = registry
        self._functions = functions
        self._sandbox = sandbox
        self._config = config
        self._engine = engine
        self._own = engine is None
        self._routing: Routing | None = None
        self._starting = asyncio.Lock()

    async def verify(self, batch: Batch) -> BatchResult:
        """See `Transport`. A batch without samples starts no engine: it only checks its use."""
        if not batch.samples and self._engine is None:
            planner = self._made(self._config or load_config(environ=os.environ)).planner
            expectation.check_use(batch, planner)
            expectation.check(batch, planner)
            return BatchResult(verdicts=())
        engine = await self._started()
        if self._routing is not None:
            batch = replace(batch, samples=[routed(sample, batch, self._routing) for sample in batch.samples])
        return await engine.verify(batch)

    async def stream(self, header: Batch, samples: AsyncIterator[Sample]) -> AsyncGenerator[Verdict | Group, None]:
        """See `Transport`."""
        stream = (await self._started()).open_stream(header)
        failures: list[BaseException] = []

        async def feed() -> None:
            try:
                async for sample in samples:
                    await stream.put(routed(sample, header, self._routing))
                stream.finish()
            except asyncio.CancelledError:
                # Something that the caller's iterator awaits was cancelled; or we were, and then nobody listens.
                failures.append(samples_cancelled())
                await stream.cancel()
                raise
            except Exception as error:  # noqa: BLE001 - the caller's own; it is raised to the caller below
                failures.append(error)
                await stream.cancel()

        feeder = asyncio.create_task(feed())
        try:
            async for item in stream:
                yield item
            if failures:
                raise failures[0]
        finally:
            feeder.cancel()
            await asyncio.gather(feeder, return_exceptions=True)
            await stream.cancel()

    async def verifiers(self, name: str | None = None) -> list[dict[str, Any]]:
        """See `Transport`."""
        engine = await self._started()
        if name is not None:
            return [catalogue.describe(engine, name, "verifier")]
        return catalogue.describe_all(engine, "verifier")

    async def run(self, run: Run) -> RunResult:
        """See `Transport`. The sandbox host starts with the first program and ends with `close`."""
        return await (await self._started()).run(run)

    async def info(self) -> dict[str, Any]:
        """See `Transport`."""
        engine = await self._started()
        return {
            **engine.info(),
            "sandbox": await engine.sandbox.status(),
            "lean": await engine.lean.status(),
            "judges": engine.judges.status(),
            "models": engine.models.status(),
        }

    async def close(self) -> None:
        """See `Transport`: what runs is cancelled."""
        engine, self._engine = self._engine, None
        if engine is not None and self._own:
            await engine.close(drain_s=0)

    async def _started(self) -> Engine:
        async with self._starting:
            if self._engine is None:
                config = self._config or load_config(environ=os.environ)
                self._routing = load_routing(config)
                engine = self._made(config)
                await engine.start()
                self._engine = engine
            return self._engine

    def _made(self, config: Config) -> Engine:
        """An engine that is not started yet."""
        return configured_engine(
            self._registry or Registry(self._functions),
            self._settings or (self._config.engine if self._config is not None else None),
            config=config,
            sandbox=self._sandbox,
        )
