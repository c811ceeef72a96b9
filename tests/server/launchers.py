"""The sandbox launchers that work on this machine, for tests of servers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rewarden_server.processes.host import HostProcess
from rewarden_server.processes.settings import SandboxSettings
from tests.programs import absent


def missing(launcher: Any) -> str | None:
    """Returns why nothing can run with that launcher here; None where something can."""

    async def ask() -> str | None:
        host = HostProcess(SandboxSettings(launcher=launcher))
        try:
            told = await (await host.client(30)).status(probe=True)
        finally:
            await host.close()
        reason: str | None = told["probe"]["reason"]
        return reason

    return asyncio.run(ask())


@pytest.fixture(scope="module", params=["docker", "bwrap"])
def launcher(request: pytest.FixtureRequest) -> str:
    """Each launcher that works here."""
    reason = missing(request.param)
    if reason is not None:
        pytest.skip(absent(request.param, f"{request.param}: {reason}"))
    return str(request.param)
