"""The network of a server's boxes, from a client to a server of this machine."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from rewarden import AsyncClient
from rewarden.errors import InvalidRequest
from tests.server.box_host import HostProcess
from tests.server.conftest import Start
from tests.server.launchers import launcher as launcher

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]


async def hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers one request."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    writer.close()


async def test_a_box_and_its_fork_reach_what_was_asked_for_and_the_record_names_them(
    start: Start, launcher: str, tmp_path: Path
) -> None:
    log = tmp_path / "network.jsonl"
    async with await asyncio.start_server(hello, "127.0.0.1", 0) as site:
        port = site.sockets[0].getsockname()[1]
        settings = {"network": [f"localhost:{port}"], "network_private": ["127.0.0.1"], "network_log": str(log)}
        host = await asyncio.to_thread(HostProcess, tmp_path, launcher, **settings)
        try:
            running = await start({"sandbox.address": host.address})
            async with AsyncClient(running.serving.http) as client:
                # The variables that name the proxy spare names of the box's own, of which this is one.
                url = f"http://localhost:{port}/"
                text = "import urllib.request as r; r.proxy_bypass = lambda _: False; "
                text += f"print(r.urlopen({url!r}).read().decode())"
                async with client.box("python", network=[f"localhost:{port}"]) as box:
                    assert (await box.exec(["python3", "-c", text])).stdout == "hello\n"
                    fork = await box.fork()
                    assert (await fork.exec(["python3", "-c", text])).stdout == "hello\n"
                    ids = [box.id, fork.id]
                    await fork.close()
                with pytest.raises(InvalidRequest, match=r"'packages\.example' is not allowed on this host"):
                    await client.box("python", network=["packages.example"]).open()
        finally:
            await asyncio.to_thread(host.end)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["box"] for line in lines if line["event"] == "request"] == ids
    assert {line["decision"] for line in lines if line["event"] == "request"} == {"allowed"}
