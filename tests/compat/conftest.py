"""A real server for other servers' protocols."""

from __future__ import annotations

import pytest
import pytest_asyncio

from tests.programs import absent
from tests.server.conftest import Running, Start, start
from tests.server.test_run_real import missing

__all__ = ["Running", "Start", "start"]


@pytest.fixture(scope="session")
def docker() -> None:
    """Programs can really run here, in containers."""
    reason = missing("docker")
    if reason is not None:
        pytest.skip(absent("docker", f"docker: {reason}"))


@pytest_asyncio.fixture
async def real(start: Start, docker: None) -> Running:
    """A server with a sandbox of its own."""
    return await start({"sandbox.launcher": "docker"})
