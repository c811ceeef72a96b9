"""Scripted servers for the client's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.client.servers import SERVERS, Script


@pytest.fixture
def script() -> Script:
    """Returns the script of the server, and the record of what it saw."""
    return Script()


@pytest.fixture(params=sorted(SERVERS))
async def target(request: pytest.FixtureRequest, script: Script) -> AsyncIterator[str]:
    """The address of a scripted server, over each transport."""
    async with SERVERS[request.param](script) as address:
        yield address


@pytest.fixture
async def http_target(script: Script) -> AsyncIterator[str]:
    """The address of a scripted server over HTTP."""
    async with SERVERS["http"](script) as address:
        yield address
