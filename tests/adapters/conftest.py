"""A real server for the adapters, and a scripted one that simulates failures."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.client.servers import Script, http_server
from tests.server.conftest import Running, Start, start

__all__ = ["Running", "Start", "start"]


@pytest.fixture
def script() -> Script:
    """Returns the script of the scripted server, and the record of what it saw."""
    return Script()


@pytest.fixture
async def target(script: Script) -> AsyncIterator[str]:
    """The scripted server's address."""
    async with http_server(script) as address:
        yield address
