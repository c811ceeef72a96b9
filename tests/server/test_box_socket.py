"""The WebSocket of a box, through a real server with boxes of a real sandbox host."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from rewarden import AsyncClient
from rewarden.boxes.box import AsyncBox
from rewarden_server.access.key_record import new_key
from tests.server.box_host import HostProcess
from tests.server.box_host import host as host
from tests.server.conftest import Running, Start
from tests.server.launchers import launcher as launcher

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]


@pytest_asyncio.fixture
async def server(start: Start, host: HostProcess) -> Running:
    """A server of that host."""
    return await start({"sandbox.address": host.address})


@pytest_asyncio.fixture
async def box(server: Running) -> AsyncIterator[AsyncBox]:
    """A box."""
    async with AsyncClient(server.serving.http) as client, client.box() as made:
        yield made


def socket(server: Running, box: str, **options: Any) -> connect:
    """A connection to the socket of a box."""
    return connect(f"{server.serving.http.replace('http', 'ws', 1)}/v1/sessions/{box}/exec/ws", **options)


async def begin(connection: ClientConnection, **asked: Any) -> int:
    """Begins a program, and returns its number."""
    await connection.send(json.dumps(asked))
    return int(json.loads(await connection.recv())["begun"]["exec"])


async def rest(connection: ClientConnection) -> list[dict[str, Any]]:
    """All messages until the server closes the connection."""
    return [json.loads(message) async for message in connection]


def written(events: list[dict[str, Any]], stream: str = "stdout") -> str:
    return "".join(event.get(stream, "") for event in events)


async def test_output_comes_as_it_is_written_and_the_end_comes_last(server: Running, box: AsyncBox) -> None:
    async with socket(server, box.id) as connection:
        await begin(connection, shell="echo out; echo err >&2; exit 3")
        events = await rest(connection)
    assert (written(events), written(events, "stderr")) == ("out\n", "err\n")
    assert events[-1]["ended"]["exit_code"] == 3
    assert connection.close_code == 1000


async def test_a_program_is_talked_to_while_it_runs(server: Running, box: AsyncBox) -> None:
    async with socket(server, box.id) as connection:
        await begin(connection, argv=["cat"], feed=True)
        for text in ("first", "größe"):
            await connection.send(text.encode())
            assert json.loads(await connection.recv()) == {"stdout": text}
        await connection.send(b"\xff\x00")
        assert json.loads(await connection.recv()) == {"stdout": {"base64": base64.b64encode(b"\xff\x00").decode()}}
        await connection.send('{"eof": true}')
        assert (await rest(connection))[-1]["ended"]["exit_code"] == 0


async def test_a_signal_reaches_the_program(server: Running, box: AsyncBox) -> None:
    async with socket(server, box.id) as connection:
        await begin(connection, shell="trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.01; done")
        assert json.loads(await connection.recv()) == {"stdout": "ready\n"}
        await connection.send('{"signal": "INT"}')
        events = await rest(connection)
    assert (written(events), events[-1]["ended"]["exit_code"]) == ("caught\n", 5)


@pytest.mark.parametrize("feed", [False, True])
async def test_a_client_that_leaves_kills_its_program(server: Running, box: AsyncBox, feed: bool) -> None:
    async with socket(server, box.id) as connection:
        number = await begin(connection, argv=["sleep", "1000"], feed=feed)
        if feed:
            await connection.send(bytes(1 << 19))  # more than its pipe holds, and nobody reads it
    while number in [each.exec for each in (await box.state()).execs]:
        await asyncio.sleep(0.01)


async def test_limits_hold_as_they_do_for_requests(server: Running, box: AsyncBox) -> None:
    async with socket(server, box.id) as connection:
        await begin(connection, shell="while :; do :; done", limits={"cpu_s": 0.1})
        assert (await rest(connection))[-1]["ended"]["status"] == "time_limit"
    async with socket(server, box.id) as connection:
        await begin(connection, shell="yes", limits={"output_bytes": 1000})
        events = await rest(connection)
    assert (len(written(events)), events[-1]["ended"]["status"]) == (1000, "output_limit")


async def test_a_box_that_ends_says_why(server: Running, box: AsyncBox) -> None:
    async with socket(server, box.id) as connection:
        await begin(connection, argv=["sleep", "1000"])
        await box.close()
        error = (await rest(connection))[-1]["error"]
    assert (error["code"], error["details"]["reason"]) == ("box_ended", "closed")


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("[]", "must be a JSON object"),
        ("{", "JSON"),
        (b"{}", "must be a JSON object"),
        ('{"argv": ["ls"], "background": true}', "background"),
        ('{"nonsense": 1}', "nonsense"),
    ],
)
async def test_a_first_message_that_makes_no_sense_is_refused(
    server: Running, box: AsyncBox, message: str | bytes, says: str
) -> None:
    async with socket(server, box.id) as connection:
        await connection.send(message)
        (answer,) = await rest(connection)
    assert (answer["error"]["code"], says in answer["error"]["message"]) == ("invalid_request", True)


@pytest.mark.parametrize("message", [b"input", '{"eof": true}', '{"signal": "NOPE"}', '{"signal": "INT", "x": 1}', "1"])
async def test_a_later_message_that_makes_no_sense_ends_the_program(
    server: Running, box: AsyncBox, message: str | bytes
) -> None:
    async with socket(server, box.id) as connection:
        await begin(connection, argv=["sleep", "1000"])
        await connection.send(message)
        assert (await rest(connection))[-1]["error"]["code"] == "invalid_request"
    assert (await box.state()).execs == ()


async def test_input_that_nobody_reads_is_bounded(
    server: Running, box: AsyncBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack: a program that reads nothing, so that the server keeps whatever comes."""
    monkeypatch.setattr("rewarden_server.http.box_socket.INPUT_BYTES", 1 << 20)
    async with socket(server, box.id) as connection:
        await begin(connection, argv=["sleep", "1000"], feed=True)
        with contextlib.suppress(ConnectionClosed):
            for _ in range(40):
                await connection.send(bytes(1 << 18))
        assert (await rest(connection))[-1]["error"]["code"] == "too_large"


async def test_a_message_that_is_too_long_ends_the_connection(server: Running, box: AsyncBox) -> None:
    async with socket(server, box.id) as connection:
        await connection.send("x" * (1 << 21))
        with pytest.raises(ConnectionClosed):
            await connection.recv()
    assert connection.close_code == 1009


# --- who may -------------------------------------------------------------------------------------------------------


def protocol(key: str) -> str:
    return "rewarden.key." + base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")


async def test_a_lease_opens_the_socket_in_a_header_or_among_the_subprotocols(server: Running, box: AsyncBox) -> None:
    lease = (await box.lease(["exec"])).lease
    headers = {"Authorization": f"Bearer {lease}"}
    for options in ({"additional_headers": headers}, {"subprotocols": ["rewarden.exec", protocol(lease)]}):
        async with socket(server, box.id, **options) as connection:
            await begin(connection, argv=["true"])
            assert (await rest(connection))[-1]["ended"]["exit_code"] == 0
    assert connection.subprotocol == "rewarden.exec"  # the key is not sent back


async def refused(connection: connect) -> tuple[int, str]:
    """Status and code with which a connection is refused."""
    with pytest.raises(InvalidStatus) as caught:
        await connection
    response = caught.value.response
    return response.status_code, json.loads(response.body or b"{}")["error"]["code"]


async def test_whoever_may_not_is_refused_before_the_connection_stands(server: Running, box: AsyncBox) -> None:
    lease = (await box.lease(["files"])).lease
    assert await refused(socket(server, box.id, subprotocols=[protocol(lease)])) == (403, "forbidden")
    assert await refused(socket(server, box.id, subprotocols=[protocol("rwl_forged.x")])) == (401, "unauthorized")
    assert await refused(socket(server, box.id, subprotocols=["rewarden.key.*"])) == (400, "invalid_request")
    both = {"subprotocols": [protocol(lease)], "additional_headers": {"Authorization": f"Bearer {lease}"}}
    assert await refused(socket(server, box.id, **both)) == (400, "invalid_request")
    assert await refused(socket(server, "box-0123")) == (404, "not_found")


async def test_a_foreign_page_is_refused(server: Running, box: AsyncBox) -> None:
    """Attack: a page that the user of this machine opens runs programs in the boxes of a server without keys."""
    assert (await refused(socket(server, box.id, origin="https://evil.example")))[0] == 403


async def test_a_key_needs_the_scope_of_boxes(start: Start, host: HostProcess) -> None:
    made = {name: new_key() for name in ("owner", "reader")}
    named = ",".join(f"{name}={digest}" for name, (_, digest) in made.items())
    rules = json.dumps({"reader": {"scopes": ["verify"]}})
    server = await start({"sandbox.address": host.address, "keys.named": named, "keys.rules": rules})
    owner, reader = (made[name][0] for name in ("owner", "reader"))
    async with AsyncClient(server.serving.http, api_key=owner) as client, client.box() as box:
        assert (await refused(socket(server, box.id)))[0] == 401
        assert (await refused(socket(server, box.id, subprotocols=[protocol(reader)])))[0] == 403
        async with socket(server, box.id, subprotocols=[protocol(owner)]) as connection:
            await begin(connection, argv=["true"])
            assert (await rest(connection))[-1]["ended"]["status"] == "ok"
