"""Rooms with this machine's own tools, and the cases of verifiers in them: what tests of formal tools share."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from rewarden.types import Batch, Use
from rewarden.wire.json import sample_from_json, verdict_to_json
from rewarden_server.config import load_config
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.processes.settings import SandboxSettings
from rewarden_verifiers.cases import load_cases, mismatches
from tests.programs import problem_of


@asynccontextmanager
async def host_engine(*tools: str, says: str) -> AsyncIterator[Engine]:
    """An engine whose sandbox has these tools of this machine, under bubblewrap. Skips where it lacks some. says: the
    reason of the skip, before what is missing."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing or (problem := await problem_of("bwrap")) is not None:
        pytest.skip(f"{says} ({missing or problem})")
    async with started(replace(sandbox_settings(), launcher="bwrap", rootfs="host")) as engine:
        yield engine


@asynccontextmanager
async def started(sandbox: SandboxSettings) -> AsyncIterator[Engine]:
    """An engine with one worker and this sandbox."""
    engine = Engine(settings=EngineSettings(workers=1), sandbox=sandbox)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close()


def sandbox_settings() -> SandboxSettings:
    """The settings of the sandbox in this environment."""
    return load_config(environ=os.environ).sandbox


async def failed_cases(engine: Engine, *names: str) -> list[str]:
    """Differences between verdicts on the cases of verifiers and what the cases expect."""
    registry = engine.registry
    cases = [case for name in names for case in load_cases(registry.get(name))]
    asked = [
        Batch(samples=[sample_from_json(one) for one in case.samples], use=Use(name=case.verifier, params=case.params))
        for case in cases
    ]
    answers = await asyncio.gather(*map(engine.verify, asked))
    return [
        f"{case.verifier}: {case.title}: {one}"
        for case, answer in zip(cases, answers, strict=True)
        for expect, verdict in zip(case.expects, answer.verdicts, strict=True)
        for one in mismatches(expect, verdict_to_json(verdict))
    ]
