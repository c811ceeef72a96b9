"""`rewarden serve`: its start, its drain, its end."""

from __future__ import annotations

import asyncio
import json
import resource
import signal
import socket
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from rewarden.types import Batch, Sample, Use
from rewarden.v1 import rewarden_pb2 as pb
from rewarden.v1 import rewarden_pb2_grpc as stubs
from rewarden.wire.protobuf import batch_to_message
from rewarden_server.config import ConfigError, load_config
from rewarden_server.serving import Serving
from tests.server.conftest import Gates, Running, Start
from tests.server.process import ServerProcess

RIGHT = {"response": "A", "reference": "A"}


async def until(condition: Any) -> None:
    """Wait until an awaitable condition holds."""
    async with asyncio.timeout(30):
        while not await condition():
            await asyncio.sleep(0.01)


@pytest.mark.needs_server
def test_it_takes_as_many_descriptors_as_it_may(tmp_path: Path) -> None:
    soft, hard = before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, hard - 1, 900), hard))  # what the process inherits
    try:
        with ServerProcess(tmp_path) as server:
            assert resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_while_it_drains_work_is_refused_and_what_was_admitted_ends(start: Start, gate: Gates) -> None:
    server = await start()
    batch = asyncio.ensure_future(server.verify(RIGHT, use=gate.use))
    lines = "\n".join(json.dumps(line) for line in ({"batch": {"use": gate.use}}, RIGHT))
    stream = asyncio.ensure_future(server.http.post("/v1/verify/stream", content=lines.encode()))
    await gate.entered()
    await until(lambda: _under_way(server, 2))
    draining = asyncio.ensure_future(server.serving.drain(30))

    async def refuses() -> bool:
        return (await server.http.get("/readyz")).status_code == 503

    await until(refuses)
    assert (await server.http.get("/healthz")).status_code == 200
    for refused in (
        await server.verify(RIGHT, use="same"),
        await server.http.post("/v1/verify/stream", content=b'{"batch": {"use": "same"}}'),
    ):
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "unavailable"
        assert "Retry-After" in refused.headers
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await server.stub.Verify(pb.VerifyRequest())
    assert raised.value.code() == grpc.StatusCode.UNAVAILABLE
    health = await health_pb2_grpc.HealthStub(server.channel).Check(health_pb2.HealthCheckRequest())
    assert health.status == health_pb2.HealthCheckResponse.NOT_SERVING
    assert not draining.done()
    gate.open()
    assert (await batch).json()["verdicts"][0]["score"] == 1.0
    assert (await stream).text.splitlines()[-1] == '{"done":{"verdicts":1}}'
    await draining


async def _under_way(server: Running, samples: int) -> bool:
    page = (await server.http.get("/metrics")).text
    admitted = [float(line.split()[-1]) for line in page.splitlines() if line.startswith("rewarden_admitted_samples")]
    return sum(admitted) >= samples


async def test_what_does_not_end_in_time_is_refused_and_nothing_hangs(start: Start, gate: Gates) -> None:
    server = await start()
    batch = asyncio.ensure_future(server.verify(RIGHT, use=gate.use))
    lines = "\n".join(json.dumps(line) for line in ({"batch": {"use": gate.use}}, RIGHT))
    stream = asyncio.ensure_future(server.http.post("/v1/verify/stream", content=lines.encode()))
    message = batch_to_message(Batch(samples=(Sample(response="A"),), use=Use(**gate.use)))
    call = server.stub.Verify(message)
    await gate.entered()
    await until(lambda: _under_way(server, 3))
    await server.serving.drain(0.01)
    answer = await batch
    if answer.status_code == 200:  # the engine may also end such samples with a verdict of their own
        assert answer.json()["verdicts"][0]["fault"] == "infra"
    else:
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    last = json.loads((await stream).text.splitlines()[-1])
    assert "done" in last or last["error"]["code"] == "unavailable"
    assert await call.code() in (grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE)


@pytest.mark.needs_server
async def test_a_process_serves_both_and_ends_with_0_on_sigterm_under_load(tmp_path: Path, gate: Gates) -> None:
    with ServerProcess(tmp_path, "--set", "logs.json=true") as server:
        async with httpx.AsyncClient(base_url=server.http, timeout=60) as client:
            waiting = asyncio.ensure_future(client.post("/v1/verify", json={"use": gate.use, "samples": [RIGHT] * 20}))
            await gate.entered()
            async with grpc.aio.insecure_channel(server.grpc.removeprefix("grpc://")) as channel:
                message = batch_to_message(
                    Batch(samples=(Sample(response="A", reference="A"),), use=Use(name="worked"))
                )
                assert len((await stubs.RewardServiceStub(channel).Verify(message)).verdicts) == 1
            server.process.send_signal(signal.SIGTERM)

            async def refuses() -> bool:
                return (await client.get("/readyz")).status_code == 503

            await until(refuses)
            gate.open()
            verdicts = (await waiting).json()["verdicts"]
            assert [verdict["score"] for verdict in verdicts] == [1.0] * 20
        code, out, err = server.end()
    assert code == 0
    assert out == f"rewarden serves on {server.http} and {server.grpc}\n"
    assert [json.loads(line)["event"] for line in err.splitlines()][-1] == "end"


@pytest.mark.needs_server
async def test_a_second_signal_ends_the_process_at_once_and_leaves_no_worker(tmp_path: Path, gate: Gates) -> None:
    with ServerProcess(tmp_path) as server:
        async with httpx.AsyncClient(base_url=server.http, timeout=60) as client:
            await client.post("/v1/verify", json={"use": "worked", "samples": [RIGHT]})
            pids = (await client.get("/v1/info")).json()["engine"]["lanes"]["cpu"]["pids"]
            waiting = asyncio.ensure_future(client.post("/v1/verify", json={"use": gate.use, "samples": [RIGHT]}))
            await gate.entered()
            server.process.send_signal(signal.SIGINT)

            async def refuses() -> bool:
                return (await client.get("/readyz")).status_code == 503

            await until(refuses)
            server.process.send_signal(signal.SIGINT)
            code, _, _ = await asyncio.to_thread(server.end)
            assert code == 1
            with pytest.raises(httpx.HTTPError):
                await waiting
    assert pids

    async def gone() -> bool:
        return not any(Path(f"/proc/{pid}").exists() for pid in pids)

    await until(gone)


@pytest.mark.parametrize("name", ["server.port", "server.grpc_port"])
async def test_a_taken_port_is_told_before_anything_starts(name: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = {"server.port": 0, "server.grpc_port": 0, name: taken.getsockname()[1]}
        config = load_config(environ={}, flags={key: ("test", value) for key, value in ports.items()})
        with pytest.raises(ConfigError, match=str(taken.getsockname()[1])):
            Serving(config)
