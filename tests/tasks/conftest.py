"""Boxes of a real sandbox host, for tests of tasks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from rewarden_server.engine.lanes.boxes import BoxLane
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from rewarden_server.processes.settings import SandboxSettings
from rewarden_verifiers.tasks.memory import Memory
from rewarden_verifiers.tasks.shelf import Shelf
from tests.server.box_host import HostProcess
from tests.server.box_host import host as host
from tests.server.launchers import launcher as launcher


@pytest_asyncio.fixture
async def boxes(host: HostProcess) -> AsyncIterator[BoxLane]:
    """Boxes of that host."""
    lane = SandboxLane(SandboxSettings(address=host.address), Observer())
    yield BoxLane(lane)
    await lane.close()


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """A memory of tasks that is empty."""
    return Memory(Shelf(tmp_path / "tasks"))
