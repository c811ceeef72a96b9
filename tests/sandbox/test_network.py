"""A box's network: real requests of its programs, through the host's proxy, to real servers of this machine."""

from __future__ import annotations

import asyncio
import ipaddress
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rewarden_sandboxes.box import BoxSpec
from rewarden_sandboxes.errors import BadJob
from rewarden_sandboxes.network import proxy
from rewarden_sandboxes.network.proxy import PORT
from rewarden_sandboxes.network.rules import Address
from rewarden_sandboxes.remote_box import RemoteBox
from tests.sandbox.boxes import line, python
from tests.sandbox.served import Served, serving

pytestmark = [pytest.mark.needs_server, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

NAMES = {"files.example": "127.0.0.1", "inner.example": "10.9.9.9", "gone.example": "127.0.0.1"}
MOST_MB = 1

GET = """
import sys, urllib.request
try:
    with urllib.request.urlopen({url!r}, data={data!r}) as answer:
        print(answer.status, len(answer.read()))
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""


class Site:
    """A server that answers each request with the same bytes. heads: of the requests, as they came. holds: it does not
    answer, and waits for the other side to end, which sets `left`. ends: it ends without an answer."""

    def __init__(self) -> None:
        self.port = 0
        self.reset()

    def reset(self) -> None:
        """Makes it what it was at first."""
        self.answer = b"hello"
        self.heads: list[bytes] = []
        self.holds = False
        self.ends = False
        self.left = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one connection."""
        if self.holds:
            await reader.read()
            self.left.set()
            return writer.close()
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        if self.ends:
            return writer.close()
        if head.startswith(b"POST"):
            await reader.readexactly(4)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(self.answer), self.answer))
        writer.close()


class Net:
    """A host with a network, whose resolver knows `NAMES`, and its record. asked: the names that it resolved."""

    def __init__(self, served: Served, log: Path) -> None:
        self.served = served
        self.log = log
        self.asked: list[str] = []
        self._begin = 0

    def reset(self) -> None:
        """Forgets what came before."""
        self.asked = []
        self._begin = self.log.stat().st_size if self.log.exists() else 0

    @asynccontextmanager
    async def box(self, *network: str) -> AsyncIterator[RemoteBox]:
        """A box that asks for these names."""
        spec = BoxSpec(network=network, label="box-1")
        async with self.served.client() as client, await client.box(spec) as box:
            yield box

    def lines(self, event: str) -> list[dict[str, Any]]:
        """The lines of the record about such events."""
        found = [json.loads(line) for line in self.log.read_bytes()[self._begin :].splitlines()]
        return [line for line in found if line["event"] == event]

    async def ended(self) -> dict[str, Any]:
        """The line about the end of the only request, once it is there."""
        async with asyncio.timeout(30):
            while not (found := self.lines("end")):
                await asyncio.sleep(0.01)
        (line,) = found
        return line

    async def resolve(self, host: str, _: int) -> Sequence[Address]:
        """The resolver of the tests."""
        self.asked.append(host)
        if host not in NAMES:
            raise OSError("no such name")
        return [ipaddress.ip_address(NAMES[host])]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_site() -> AsyncIterator[Site]:
    """A server on the loopback interface of this machine."""
    made = Site()
    async with await asyncio.start_server(made.serve, "127.0.0.1", 0) as server:
        made.port = server.sockets[0].getsockname()[1]
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["docker", "bwrap"])
async def shared_net(
    request: pytest.FixtureRequest, shared_site: Site, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Net]:
    """A host that allows names of this machine at the server's port."""
    folder = tmp_path_factory.mktemp("network")
    log = folder / "log" / "network.jsonl"
    log.parent.mkdir()
    settings: dict[str, object] = {
        "network": [f"*.example:{shared_site.port}", "gone.example:9"],
        "network_private": ["127.0.0.1"],
        "network_log": str(log),
        "network_mb": MOST_MB,
        "network_mb_s": 1000.0,
        "box_rest_s": 0.2,
    }
    async for served in serving(request.param, f"unix:{folder}/host.sock", **settings):
        made = Net(served, log)
        assert served.host._proxy is not None
        served.host._proxy._resolve = made.resolve
        yield made


@pytest.fixture
def site(shared_site: Site) -> Site:
    """The server, as if it were new."""
    shared_site.reset()
    return shared_site


@pytest.fixture
def net(shared_net: Net) -> Net:
    """The host, with an empty record."""
    shared_net.reset()
    return shared_net


async def get(box: RemoteBox, url: str, data: bytes | None = None) -> str:
    """Returns the status and text of a request that a program of the box makes through its proxy."""
    report = await box.run(python(GET.format(url=url, data=data)))
    assert report.status == "ok", report
    return report.stdout.decode().strip()


async def test_a_listed_name_is_reached_and_both_ends_of_the_request_are_recorded(net: Net, site: Site) -> None:
    async with net.box(f"files.example:{site.port}") as box:
        assert await get(box, f"http://files.example:{site.port}/a", b"body") == "200 5"
    assert site.heads[0].startswith(b"POST /a HTTP/1.1\r\nHost: files.example:")
    (asked,) = net.lines("request")
    ended = await net.ended()
    known = {"box": "box-1", "method": "POST", "host": "files.example", "port": site.port}
    assert asked.items() >= {**known, "decision": "allowed", "address": "127.0.0.1"}.items()
    assert ended.items() >= {**known, "ended": "done", "request": asked["request"]}.items()
    assert ended["sent"] == len(site.heads[0]) + 4
    assert ended["received"] > 5
    assert asked["time"].endswith("+00:00")


async def test_a_tunnel_carries_bytes_both_ways(net: Net, site: Site) -> None:
    talk = f"""
import socket
s = socket.create_connection(("127.0.0.1", {PORT}))
s.sendall(b"CONNECT files.example:{site.port} HTTP/1.1\\r\\n\\r\\n")
first = s.recv(100)
s.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
s.shutdown(socket.SHUT_WR)
rest = b""
while data := s.recv(100):
    rest += data
print(first.split(b"\\r")[0].decode(), rest[-5:].decode())
"""
    async with net.box(f"files.example:{site.port}") as box:
        report = await box.run(python(talk))
    assert report.stdout == b"HTTP/1.1 200 Connection established hello\n", report
    assert site.heads == [b"GET / HTTP/1.1\r\n\r\n"]


async def test_names_that_are_not_listed_are_not_even_resolved(net: Net, site: Site) -> None:
    async with net.box(f"files.example:{site.port}") as box:
        for url in (f"http://other.example:{site.port}/", "http://files.example/", f"http://127.0.0.1:{site.port}/"):
            # The last one goes past the variables that name the proxy, to the box's own loopback interface.
            found = await box.run(python(GET.format(url=url, data=None)))
            assert (b"403" in found.stdout) is ("127.0.0.1" not in url), found
        direct = await box.run(python(f"import socket; socket.create_connection(('127.0.0.1', {site.port}))"))
    assert direct.status == "runtime_error"
    assert (net.asked, site.heads) == ([], [])
    assert [line["decision"] for line in net.lines("request")] == ["not_listed", "not_listed"]


async def test_a_name_that_leads_to_a_private_address_is_refused(net: Net, site: Site) -> None:
    async with net.box(f"*.example:{site.port}") as box:
        assert (await get(box, f"http://inner.example:{site.port}/")).startswith("403 sandbox network: inner.example")
        assert (await get(box, f"http://nowhere.example:{site.port}/")).startswith("502")
    assert [line["decision"] for line in net.lines("request")] == ["private_address", "unresolved"]


async def test_each_name_is_resolved_once_for_a_connection(net: Net, site: Site) -> None:
    async with net.box(f"*.example:{site.port}") as box:
        assert await get(box, f"http://files.example:{site.port}/") == "200 5"
    assert net.asked == ["files.example"]


async def test_an_address_without_a_server_is_said_to_the_program_and_to_the_record(net: Net) -> None:
    async with net.box("gone.example:9") as box:
        assert (await get(box, "http://gone.example:9/")).startswith("502 sandbox network: gone.example cannot be")
    ended = await net.ended()
    assert (ended["ended"], ended["received"]) == ("unreachable", 0)


async def test_a_box_ends_at_its_bytes(net: Net, site: Site) -> None:
    site.answer = b"x" * (MOST_MB << 20)
    async with net.box(f"files.example:{site.port}") as box:
        cut = await box.run(python(GET.format(url=f"http://files.example:{site.port}/", data=None)))
        assert cut.status == "runtime_error"
        assert (await get(box, f"http://files.example:{site.port}/")).startswith(
            "403 sandbox network: the box has used"
        )
    assert (await net.ended())["ended"] == "limit"
    assert [line["decision"] for line in net.lines("request")] == ["allowed", "limit"]


async def test_nothing_is_served_that_cannot_be_recorded(net: Net, site: Site) -> None:
    away = net.log.parent.rename(net.log.parents[1] / "away")
    try:
        async with net.box(f"files.example:{site.port}") as box:
            said = await get(box, f"http://files.example:{site.port}/")
    finally:
        away.rename(net.log.parent)
    assert said.startswith("503 sandbox network: the sandbox host cannot record requests")
    assert site.heads == []


async def test_a_box_that_asks_for_nothing_has_nothing(net: Net, site: Site) -> None:
    async with net.box() as box:
        connect = f"socket.create_connection(('127.0.0.1', {PORT}))"
        found = await box.run(python(f"import os, socket; print(os.environ.get('http_proxy')); {connect}"))
    assert (found.status, found.stdout) == ("runtime_error", b"None\n")


async def test_boxes_ask_for_what_the_host_allows_or_are_refused(net: Net) -> None:
    async with net.served.client() as client:
        with pytest.raises(
            BadJob, match=r"'packages\.example' is not allowed on this host; add it to sandbox\.network"
        ):
            await client.box(BoxSpec(network=("packages.example",)))
        with pytest.raises(BadJob, match="is not HOST"):
            await client.box(BoxSpec(network=("http://x.example",)))


async def test_a_box_that_rested_has_its_network_again(net: Net, site: Site) -> None:
    async with net.box(f"files.example:{site.port}") as box:
        async with asyncio.timeout(60):
            while (await net.served.host.status())["boxes"]["resting"] != 1:
                await asyncio.sleep(0.01)
        assert await get(box, f"http://files.example:{site.port}/") == "200 5"


async def test_no_connection_outlives_its_box(net: Net, site: Site) -> None:
    site.holds = True
    talk = f"""
import socket
s = socket.create_connection(("127.0.0.1", {PORT}))
s.sendall(b"CONNECT files.example:{site.port} HTTP/1.1\\r\\n\\r\\n")
print(s.recv(12).decode(), flush=True)
while s.recv(100):
    pass
"""
    async with net.box(f"files.example:{site.port}") as box:
        assert await line(await box.exec(python(talk))) == b"HTTP/1.1 200\n"
        assert not site.left.is_set()
    async with asyncio.timeout(30):
        await site.left.wait()


async def unserved(box: RemoteBox) -> tuple[Sequence[str], Sequence[str]]:
    """Returns the requests that went wrong, as the host tells them: unserved, and refused."""
    clock = await box.clock()
    return clock.unserved, clock.refused


async def test_a_box_s_clock_names_the_requests_that_could_not_be_served(net: Net, site: Site) -> None:
    rules = (f"*.example:{site.port}", "gone.example:9")
    async with net.box(*rules) as box:
        assert await unserved(box) == ((), ())
        assert await get(box, f"http://files.example:{site.port}/") == "200 5"
        assert (await get(box, "http://gone.example:9/")).startswith("502")
        assert (await get(box, f"http://nowhere.example:{site.port}/")).startswith("502")
        assert (await get(box, "http://other.test/")).startswith("403")
        assert (await get(box, f"http://inner.example:{site.port}/")).startswith("403")
        failed, refused = await unserved(box)
    assert failed == ("gone.example:9", f"nowhere.example:{site.port}")
    assert refused == ("other.test:80", f"inner.example:{site.port}")


async def test_a_host_that_ends_without_an_answer_served_nothing(net: Net, site: Site) -> None:
    site.ends = True
    async with net.box(f"files.example:{site.port}") as box:
        found = await box.run(python(GET.format(url=f"http://files.example:{site.port}/", data=None)))
        assert found.status == "runtime_error"
        assert await unserved(box) == ((f"files.example:{site.port}",), ())


async def test_a_program_that_leaves_at_once_was_not_let_down(net: Net, site: Site) -> None:
    # Attack: ask, and leave before anything can answer, so that the network seems to be at fault.
    site.holds = True
    asks = f"""
import socket
s = socket.create_connection(("127.0.0.1", {PORT}))
s.sendall(b"GET http://files.example:{site.port}/ HTTP/1.1\\r\\n\\r\\n")
"""
    async with net.box(f"files.example:{site.port}") as box:
        assert (await box.run(python(asks))).status == "ok"
        assert await unserved(box) == ((), ())


async def test_a_request_whose_host_stays_silent_is_named_while_its_program_waits(
    net: Net, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.holds = True
    monkeypatch.setattr(proxy, "_STALLED_S", 0.0)
    async with net.box(f"files.example:{site.port}") as box:
        waiting = await box.exec(python(GET.format(url=f"http://files.example:{site.port}/", data=None)))
        async with asyncio.timeout(30):
            while not (await unserved(box))[0]:
                await asyncio.sleep(0.01)
        assert await unserved(box) == ((f"files.example:{site.port}",), ())
        await waiting.close()
