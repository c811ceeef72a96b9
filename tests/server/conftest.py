"""A real server on real sockets: HTTP by uvicorn, gRPC, the engine with its worker processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
import pytest_asyncio

from rewarden.v1 import rewarden_pb2_grpc as stubs
from rewarden_server.config import load_config
from rewarden_server.serving import Serving

PLUGIN = Path(__file__).parent / "plugin"


@pytest.fixture(autouse=True)
def plugin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The verifiers of `plugin/` are installed; no configuration file lies in the working folder."""
    monkeypatch.syspath_prepend(str(PLUGIN))
    monkeypatch.chdir(tmp_path)


@dataclass
class Running:
    """A server, and clients that speak to it."""

    serving: Serving
    http: httpx.AsyncClient
    channel: grpc.aio.Channel

    @property
    def stub(self) -> Any:
        """gRPC's client."""
        return stubs.RewardServiceStub(self.channel)

    @property
    def port(self) -> int:
        """HTTP's port."""
        return int(self.serving.http.rpartition(":")[2])

    async def verify(self, *samples: Any, **envelope: Any) -> httpx.Response:
        """`POST /v1/verify`."""
        return await self.http.post("/v1/verify", json={"samples": list(samples), **envelope})


Start = Callable[..., Coroutine[Any, Any, Running]]


@pytest_asyncio.fixture
async def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Start]:
    """Start a server with settings (`{"limits.max_depth": 8}`); it is stopped after the test.

    It runs in the test's loop, which an adapter's blocking check would hold up.
    """
    monkeypatch.setenv("REWARDEN_PREFLIGHT", "0")
    running: list[Running] = []

    async def make(settings: dict[str, Any] | None = None) -> Running:
        given = {"server.port": 0, "server.grpc_port": 0, "engine.eager": False, "engine.workers": 1}
        given |= {"runs.dir": str(tmp_path / "runs"), "boxes.dir": str(tmp_path / "boxes")} | (settings or {})
        config = load_config(environ={}, flags={key: ("test", value) for key, value in given.items()})
        serving = Serving(config)
        await serving.start()
        channel = grpc.aio.insecure_channel(
            serving.grpc.removeprefix("grpc://"), options=[("grpc.max_receive_message_length", -1)]
        )
        made = Running(serving, httpx.AsyncClient(base_url=serving.http, timeout=60), channel)
        running.append(made)
        return made

    yield make
    for each in running:
        await each.http.aclose()
        await each.channel.close()
        if not each.serving.service.stopped.is_set():
            await each.serving.drain(0.0)


@pytest_asyncio.fixture
async def server(start: Start) -> Running:
    """A server with default settings."""
    return await start()


class Gates:
    """The folder of a `gated` sample: says when it is being judged, and lets it end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.use = {"name": "gated", "params": {"folder": str(folder)}}

    async def entered(self) -> None:
        """Wait until the sample is being judged."""
        await self._appears("entered")

    async def left(self) -> None:
        """Wait until its judging was cancelled."""
        await self._appears("left")

    def open(self) -> None:
        """Let it end."""
        (self.folder / "open").touch()

    async def _appears(self, name: str) -> None:
        async with asyncio.timeout(30):
            while not (self.folder / name).exists():
                await asyncio.sleep(0.005)


@pytest.fixture
def gate(tmp_path: Path) -> Gates:
    """A gate that is closed."""
    folder = tmp_path / "gate"
    folder.mkdir()
    return Gates(folder)
