"""Scripted servers for the client's tests."""

from __future__ import annotations

import gc
import signal
from collections.abc import AsyncIterator, Iterator

import pytest

from rewarden.loop_thread import LoopThread
from tests.client.servers import SERVERS, Script, http_server


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


@pytest.fixture
def served(script: Script) -> Iterator[str]:
    """The address of a scripted server that runs in another thread."""
    thread = LoopThread("server")
    server = http_server(script)
    yield thread.run(server.__aenter__())  # type: ignore[arg-type]
    thread.stop(server.__aexit__(None, None, None))  # type: ignore[arg-type]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process that an interrupt reaches: a shell starts those in the background with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    # Flake: an interrupt that comes while the collector calls back, as hypothesis has it do, is reported and lost.
    gc.disable()
    yield
    gc.enable()
    signal.signal(signal.SIGINT, before)
