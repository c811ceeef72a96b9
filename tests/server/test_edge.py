"""Requests that strangers send: pages of other origins, heads without end, bodies that swell, two requests in one."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import grpc
import httpx
import pytest
import zstandard
from grpc_health.v1 import health_pb2
from starlette.requests import Request

from rewarden.errors import InvalidRequest, Overloaded, TooLarge
from rewarden_server.access.key_record import new_key
from rewarden_server.config import ConfigError, ServerSettings
from rewarden_server.http import body as bodies
from rewarden_server.http.body import Gunzip, unpack
from rewarden_server.http.origin import Origins
from rewarden_server.http.stream import unpacked
from rewarden_server.intake.budget import Budget
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.intake.settings import LimitSettings
from rewarden_server.rpc import preauth
from tests.server.conftest import Gates, Running, Start

BATCH = {"samples": [{"response": "B", "reference": "B"}], "use": "choice"}


# --- pages of other origins


def from_page(origin: str, **headers: str) -> dict[str, str]:
    """Returns what a browser sends along for a page's request."""
    return {"Origin": origin, **headers}


@pytest.mark.parametrize("kind", [None, "text/plain", "application/json", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize("path", ["/v1/verify", "/v1/run", "/v1/jobs", "/v1/verify/stream", "/compat/slime/choice/rm"])
async def test_a_page_of_another_origin_has_nothing_done(
    server: Running, gate: Gates, kind: str | None, path: str
) -> None:
    content = json.dumps({"samples": [{"response": "x"}], "use": gate.use, "batch": {"use": gate.use}}).encode()
    headers = from_page("https://evil.example") | ({"Content-Type": kind} if kind else {})
    answer = await server.http.post(path, content=content, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    assert not (gate.folder / "entered").exists()


@pytest.mark.parametrize(
    "origin", ["null", "https://evil.example", "http://127.0.0.1:1", "http://127.0.0.1.evil.example"]
)
async def test_no_other_origin_passes_for_ours(server: Running, origin: str) -> None:
    assert (await server.http.post("/v1/verify", json=BATCH, headers=from_page(origin))).status_code == 403


async def test_no_answer_permits_another_origin_anything(server: Running) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,authorization"}
    for path in ("/v1/verify", "/v1/blobs/" + "0" * 64, "/healthz", "/docs", "/nothing"):
        for headers in (from_page("https://evil.example", **asked), from_page(server.serving.http, **asked)):
            answer = await server.http.options(path, headers=headers)
            assert answer.status_code in (403, 404, 405)
            assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_our_own_pages_and_those_that_are_named_are_served(start: Start) -> None:
    server = await start({"server.origins": "https://rewards.example.com,https://other.example.com"})
    for origin in (server.serving.http, "https://other.example.com"):
        answer = await server.http.post("/v1/verify", json=BATCH, headers=from_page(origin))
        assert answer.status_code == 200, answer.text
        assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_a_name_that_a_stranger_gave_to_our_address_is_not_ours(server: Running) -> None:
    evil = "rebound.evil.example:8080"
    for method, path in (("GET", "/v1/info"), ("GET", "/metrics"), ("POST", "/v1/verify")):
        answer = await server.http.request(method, path, headers={"Host": evil, "Origin": f"http://{evil}"})
        assert answer.status_code == 403
        assert "server.hosts" in answer.json()["error"]["message"]


SERVED = ["127.0.0.1:8080", "[::1]:8080", "10.1.2.3", "localhost:8080", "server:8080", "a.localhost", "HOST"]
FOREIGN = ["evil.example", "evil.example.", "127.0.0.1.evil.example", "evil.example:8080", "1.2.3.4.5", ""]


@pytest.mark.parametrize("host", SERVED)
def test_names_that_nobody_can_have_given_are_served(host: str) -> None:
    Origins(ServerSettings(), keyed=False).check(host, None)


@pytest.mark.parametrize("host", FOREIGN[:-1])
def test_other_names_are_not_unless_there_are_keys_or_they_are_listed(host: str) -> None:
    from rewarden.errors import Forbidden

    with pytest.raises(Forbidden):
        Origins(ServerSettings(), keyed=False).check(host, None)
    Origins(ServerSettings(), keyed=True).check(host, None)
    listed = Origins(ServerSettings(hosts=("evil.example",)), keyed=True)
    if host.startswith("evil"):
        listed.check(host, None)
    else:
        with pytest.raises(Forbidden):
            listed.check(host, None)
    with pytest.raises(Forbidden):
        listed.check("localhost", None)


def test_where_we_speak_tls_a_plain_page_is_another_origin(tmp_path: Any) -> None:
    from rewarden.errors import Forbidden

    origins = Origins(ServerSettings(tls_cert=tmp_path), keyed=True)
    origins.check("rewards", "https://rewards")
    with pytest.raises(Forbidden):
        origins.check("rewards", "http://rewards")


@pytest.mark.parametrize("origin", ["rewards.example.com", "https://rewards.example.com/", "*", "ftp://x"])
def test_an_origin_that_no_browser_sends_is_refused(origin: str) -> None:
    with pytest.raises(ConfigError, match=r"server\.origins"):
        Origins(ServerSettings(origins=(origin,)), keyed=False)


async def test_every_answer_tells_browsers_to_make_nothing_of_it(server: Running) -> None:
    for path in ("/healthz", "/v1/info", "/", "/nothing"):
        headers = (await server.http.get(path)).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["X-Frame-Options"] == "DENY"
        assert "server" not in headers


# --- heads


async def raw(server: Running, data: bytes) -> bytes:
    """Returns what comes back for bytes, until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(data)
    try:
        return await asyncio.wait_for(reader.read(-1), 30)
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


HEAD = b"POST /v1/verify HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    "more",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + GET,
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + GET,
        b"Content-Length: 0\r\nContent-Length: 40\r\n\r\n" + GET,
        b"Content-Length: +5\r\n\r\nhello",
        b"Content-Length: 0x5\r\n\r\nhello",
        b"Content-Length: -1\r\n\r\n",
        b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"Content-Length : 5\r\n\r\nhello",
        b"Transfer-Encoding: chunked\r\n\r\n5;\nhello\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
        b"X: a\r\n b\x00c\r\nContent-Length: 0\r\n\r\n",
    ],
)
async def test_a_request_that_two_readers_would_cut_differently_is_refused_and_ends_the_connection(
    server: Running, more: bytes
) -> None:
    answer = await raw(server, HEAD.replace(b"Connection: close\r\n", b"") + more)
    assert answer.count(b"HTTP/1.1 ") <= 1
    assert b" 200 " not in answer


@pytest.mark.parametrize("name", [b"Host", b"Authorization", b"Origin", b"Content-Type", b"Content-Encoding"])
async def test_a_header_that_decides_something_comes_once(server: Running, name: bytes) -> None:
    twice = b"%b: localhost\r\n" % name * 2
    answer = await raw(server, b"GET /v1/info HTTP/1.1\r\nConnection: close\r\n" + twice + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"is sent twice" in answer


async def test_headers_are_bounded_in_number_and_size(server: Running) -> None:
    many = b"".join(b"x%d: y\r\n" % number for number in range(201))
    assert (await raw(server, GET + many + b"\r\n")).startswith(b"HTTP/1.1 431 ")
    assert (await raw(server, GET + b"x: " + b"y" * 100_000 + b"\r\n\r\n")).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize("sent", [b"", b"G", GET, GET + b"x: y"])
async def test_a_head_that_does_not_end_is_not_waited_for(start: Start, sent: bytes) -> None:
    server = await start({"limits.header_timeout_s": 0.2})
    assert (await raw(server, sent)).startswith(b"HTTP/1.1 408 ")


async def test_a_second_head_is_not_waited_for_either_but_an_idle_connection_stays(start: Start) -> None:
    server = await start({"limits.header_timeout_s": 1.0})
    first = GET.replace(b"Connection: close\r\n", b"") + b"\r\n"
    answer = await raw(server, first + b"GET /hea")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in answer
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(first)
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    await reader.readexactly(len(b'{"status":"alive"}'))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reader.read(1), 1.6)  # longer than a head may take: nothing came, nothing is closed
    writer.write(first)
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    writer.close()


async def test_a_slow_stream_is_not_taken_for_a_slow_head(start: Start) -> None:
    server = await start({"limits.header_timeout_s": 1.0})

    async def slowly() -> Any:
        yield b'{"batch": {"use": "choice"}}\n'
        await asyncio.sleep(1.6)
        yield b'{"response": "B", "reference": "B"}\n'

    headers = {"Content-Type": "application/x-ndjson"}
    answer = await server.http.post("/v1/verify/stream", content=slowly(), headers=headers)
    assert answer.text.splitlines()[-1] == '{"done":{"verdicts":1}}'


async def test_a_body_that_stops_coming_is_not_waited_for(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "SILENCE_S", 0.2)
    answer = await raw(server, HEAD + b"Content-Length: 100\r\n\r\n{")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"too_slow" in answer


UNREAD = b"POST /v1/verify HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"


async def answered(server: Running, data: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection on which these bytes were sent and one answer has come."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(data)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(int(length.partition(b":")[2]))
    return reader, writer


@pytest.mark.parametrize("more", [b"", b"x"])
async def test_a_body_that_nobody_reads_is_not_waited_for(start: Start, more: bytes) -> None:
    server = await start({"limits.header_timeout_s": 0.2, "keys.named": f"trainer={new_key()[1]}"})
    reader, writer = await answered(server, UNREAD % 10)
    writer.write(more)
    assert await asyncio.wait_for(reader.read(-1), 30) == b""
    writer.close()


async def test_a_body_that_nobody_reads_is_not_taken_without_end(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewarden_server.http.protocol.MAX_UNREAD_BYTES", 2**20)
    server = await start({"keys.named": f"trainer={new_key()[1]}"})
    _, writer = await answered(server, UNREAD % 10**9)

    async def send() -> None:
        for _ in range(1000):
            writer.write(bytes(2**16))
            await writer.drain()

    with pytest.raises(ConnectionError):
        await send()
    writer.close()


async def test_who_sends_the_rest_of_a_refused_body_may_ask_again(start: Start) -> None:
    server = await start({"keys.named": f"trainer={new_key()[1]}"})
    reader, writer = await answered(server, UNREAD % 10)
    writer.write(b"x" * 10 + UNREAD % 0)
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 401 ")
    writer.close()


@pytest.mark.parametrize("more", [b"", b"\r\n"])
async def test_an_idle_connection_is_closed_after_a_while_whatever_trickles_in(
    start: Start, monkeypatch: pytest.MonkeyPatch, more: bytes
) -> None:
    monkeypatch.setattr("rewarden_server.serving.KEEP_ALIVE_S", 0.2)
    server = await start({"limits.header_timeout_s": 0.2})
    reader, writer = await answered(server, GET.replace(b"Connection: close\r\n", b"") + b"\r\n")
    writer.write(more)
    assert await asyncio.wait_for(reader.read(-1), 30) == b""
    writer.close()


async def test_connections_are_bounded(start: Start) -> None:
    server = await start({"limits.max_connections": 3})
    opened = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(3)]
    for reader, writer in opened:
        writer.write(GET.replace(b"Connection: close\r\n", b"") + b"\r\n")
        await reader.readuntil(b"\r\n\r\n")
    assert (await raw(server, GET + b"\r\n")).startswith(b"HTTP/1.1 503 ")
    for _, writer in opened:
        writer.close()
        await writer.wait_closed()
    async with asyncio.timeout(30):
        while not (await raw(server, GET + b"\r\n")).startswith(b"HTTP/1.1 200 "):
            await asyncio.sleep(0.01)


async def test_a_caller_cannot_choose_the_address_that_is_written_down(start: Start, tmp_path: Any) -> None:
    server = await start({"audit.file": str(tmp_path / "audit")})
    await server.http.get("/v1/info", headers={"X-Forwarded-For": "9.9.9.9", "X-Real-IP": "9.9.9.9"})
    await server.serving.drain(0.0)
    assert json.loads((tmp_path / "audit").read_text())["peer"] == "127.0.0.1"


TRAILERS = b"".join(b"a%d: %s\r\n" % (number, b"x" * 1000) for number in range(100))


@pytest.mark.parametrize("trailers", [TRAILERS, b"a" * 100_000])
async def test_trailers_without_end_are_not_kept(start: Start, trailers: bytes) -> None:
    server = await start({"keys.named": f"trainer={new_key()[1]}"})
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(HEAD.replace(b"Connection: close\r\n", b"") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n")

    async def send() -> None:
        for _ in range(200):
            writer.write(trailers)
            await writer.drain()

    with pytest.raises(ConnectionError):
        await send()
    writer.close()


async def test_a_trailer_is_no_header_of_the_request(start: Start) -> None:
    key, digest = new_key()
    server = await start({"keys.named": f"trainer={digest}"})
    body = json.dumps(BATCH).encode()
    chunks = b"%x\r\n%s\r\n0\r\n" % (len(body), body)
    asked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"Authorization: Bearer %s\r\n\r\n" % key.encode()
    assert (await raw(server, asked)).startswith(b"HTTP/1.1 401 ")


# --- bodies that swell


def zeros(mib: int) -> bytes:
    """A gzip of so many MiB of zeros."""
    packer = zlib.compressobj(wbits=31)
    return b"".join(packer.compress(bytes(1024**2)) for _ in range(mib)) + packer.flush()


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
async def test_a_bomb_is_refused_at_the_limit(start: Start, encoding: str) -> None:
    server = await start({"limits.max_body_bytes": 1024**2})
    packed = zeros(64) if encoding == "gzip" else zstandard.compress(bytes(64 * 1024**2))
    answer = await server.http.post("/v1/verify", content=packed, headers={"Content-Encoding": encoding})
    assert answer.status_code == 413


async def test_an_encoding_within_an_encoding_is_not_unpacked(server: Running) -> None:
    for encoding in ("gzip, gzip", "gzip,zstd", "br", "deflate"):
        twice = gzip.compress(gzip.compress(json.dumps(BATCH).encode()))
        answer = await server.http.post("/v1/verify", content=twice, headers={"Content-Encoding": encoding})
        assert answer.status_code == 415


def test_a_body_of_empty_members_costs_no_more_than_others() -> None:
    with pytest.raises(InvalidRequest, match="members"):
        b"".join(unpack(gzip.compress(b"") * 200_000, "gzip", 2**20, "max_body_bytes"))


def test_many_members_that_hold_something_are_read() -> None:
    members = [bytes([65 + number % 26]) * 5000 for number in range(3000)]
    packed = b"".join(map(gzip.compress, members))
    assert b"".join(unpack(packed, "gzip", 2**25, "max_body_bytes")) == b"".join(members)
    with pytest.raises(InvalidRequest, match="truncated"):
        b"".join(unpack(packed[:-3], "gzip", 2**25, "max_body_bytes"))
    with pytest.raises(TooLarge):
        b"".join(unpack(packed, "gzip", 2**20, "max_body_bytes"))


def test_what_comes_out_does_not_depend_on_how_it_came_in() -> None:
    text = b"".join(b"%d\n" % number for number in range(50_000))
    packed = gzip.compress(text[:1000]) + gzip.compress(text[1000:])
    for size in (1, 7, 4096, len(packed)):
        gunzip = Gunzip()
        pieces = [packed[first : first + size] for first in range(0, len(packed), size)]
        assert b"".join(part for piece in pieces for part in gunzip.parts(piece)) == text
        assert gunzip.whole


def test_a_window_of_gigabytes_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    packed = packer.compress(b"{}") + packer.flush()
    with pytest.raises(InvalidRequest, match="zstd"):
        b"".join(unpack(packed, "zstd", 2**20, "max_body_bytes"))


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
async def test_what_comes_out_of_a_packed_body_is_counted_as_it_comes(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mib = 2**20
    packed = zeros(64) if encoding == "gzip" else zstandard.compress(bytes(64 * mib))
    came: list[int] = []

    def counted(parts: Iterator[bytes]) -> bytearray:
        found = stretch(parts)
        came.append(len(found))
        return found

    stretch = bodies._stretch
    monkeypatch.setattr(bodies, "_stretch", counted)
    budget = Budget(4 * mib)
    scope = {"type": "http", "headers": [(b"content-encoding", encoding.encode())]}

    async def receive() -> Any:
        return {"type": "http.request", "body": packed}

    with pytest.raises(Overloaded):
        async with bodies.read_body(Request(scope, receive), budget, 64 * mib, "max_body_bytes"):
            pass
    assert sum(came) <= 8 * mib
    budget.take(4 * mib)  # all of it was given back


OBJECTS = b'{"samples": [' + b"{}," * 2_200_000 + b"{}]}"
LIMITS = LimitSettings(max_body_bytes=2**24)


@pytest.mark.parametrize(
    "text",
    [
        OBJECTS,
        OBJECTS.replace(b"{}", b"[]"),
        b'{"samples": [' + b'"a",' * 4_400_000 + b'"a"]}',
        b'["' + rb"{\"" * 10**5 + rb'\"",' + b"{}," * 1_100_000 + b"{}]",
    ],
    ids=["objects", "arrays", "texts", "objects behind a text"],
)
def test_more_objects_and_texts_than_anybody_means_are_never_made(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewarden_server.intake.json_expansion.loads", lambda data: pytest.fail("they were made"))
    with pytest.raises(TooLarge, match=r"limits\.max_body_bytes"):
        read_json(text, LIMITS)


async def test_a_small_packed_body_of_many_objects_is_refused(start: Start) -> None:
    server = await start({"limits.max_body_bytes": 2**24})
    answer = await server.http.post(
        "/v1/verify", content=gzip.compress(OBJECTS, 1), headers={"Content-Encoding": "gzip"}
    )
    assert (answer.status_code, answer.json()["error"]["details"]["limit"]) == (413, "max_body_bytes")


@pytest.mark.slow
def test_large_tables_and_texts_full_of_braces_are_read() -> None:
    table = b"[" + b'[1,"ab",2.5],' * 500 + b"[]]"
    tables = b"[" + b",".join([table] * 4096) + b"]"
    assert len(read_json(tables, LimitSettings())) == 4096
    latex = b'["' + rb"\\frac{1}{2} [x_{1}] \"{" * 400_000 + b'"]'
    assert len(read_json(bytearray(latex), LIMITS)[0]) == 22 * 400_000


async def pieces(packed: bytes) -> Any:
    """A body as the network brings it."""
    for first in range(0, len(packed), 65_536):
        yield packed[first : first + 65_536]


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
async def test_a_stream_that_swells_without_end_is_cut_off(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewarden_server.http.stream._SWELL_BYTES", 2**20)
    packed = zeros(40) if encoding == "gzip" else zstandard.compress(bytes(40 * 2**20))
    sizes: list[int] = []

    async def read() -> None:
        async for part in unpacked(pieces(packed), encoding):
            sizes.append(len(part))

    with pytest.raises(InvalidRequest, match="500 times"):
        await read()
    assert sum(sizes) < 2**20 + 500 * len(packed)
    assert max(sizes, default=0) <= 2**23


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
async def test_a_stream_that_is_packed_well_is_read_whole(encoding: str) -> None:
    text = b"".join(b'{"id": "%d", "response": "the same words again and again"}\n' % n for n in range(100_000))
    packed = gzip.compress(text) if encoding == "gzip" else zstandard.compress(text)
    assert b"".join([part async for part in unpacked(pieces(packed), encoding)]) == text


# --- without a key

SERVING = health_pb2.HealthCheckResponse.SERVING


async def begin_message(call: Any) -> None:
    """Send the beginning of a message that never becomes whole. Whoever is answered unread may have been before."""
    with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
        await call.write(b"\x0a\xff")


async def test_who_has_no_key_is_refused_before_his_message_is_read(start: Start) -> None:
    server = await start({"keys.named": f"trainer={new_key()[1]}"})
    call = server.channel.stream_unary("/rewarden.v1.RewardService/Verify")()
    await begin_message(call)

    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call  # answered while we still send
    assert raised.value.code() == grpc.StatusCode.UNAUTHENTICATED


async def test_health_is_told_to_who_has_no_key_and_no_message_of_his_is_read(start: Start) -> None:
    server = await start({"keys.named": f"trainer={new_key()[1]}"})
    check = server.channel.stream_unary("/grpc.health.v1.Health/Check")()
    await begin_message(check)
    assert health_pb2.HealthCheckResponse.FromString(await check).status == SERVING
    watch = server.channel.stream_stream("/grpc.health.v1.Health/Watch")()
    await begin_message(watch)
    assert health_pb2.HealthCheckResponse.FromString(await watch.read()).status == SERVING
    watch.cancel()
    for path in ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "/nowhere.Service/Method"):
        call = server.channel.stream_unary(path)()
        await begin_message(call)
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await call
        assert raised.value.code() == grpc.StatusCode.UNAUTHENTICATED


WATCH = "/grpc.health.v1.Health/Watch"


async def watched(server: Running, key: str | None = None) -> Any:
    """A stream of health that has said something. Raises AioRpcError if it is refused."""
    call = server.channel.stream_stream(WATCH)(metadata=(("authorization", f"Bearer {key}"),) if key else None)
    if key:
        await call.write(b"")
        await call.done_writing()
    assert health_pb2.HealthCheckResponse.FromString(await call.read()).status == SERVING
    return call


@pytest.mark.parametrize("keyed", [True, False])
async def test_streams_of_health_without_a_key_are_bounded(
    start: Start, monkeypatch: pytest.MonkeyPatch, keyed: bool
) -> None:
    monkeypatch.setattr(preauth, "WATCHES", 2)
    key, digest = new_key()
    server = await start({"keys.named": f"trainer={digest}"} if keyed else {})
    first, _ = [await watched(server) for _ in range(2)]
    with pytest.raises(grpc.aio.AioRpcError, match="without a key are already watching") as raised:
        await watched(server)
    assert raised.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    check = server.channel.unary_unary("/grpc.health.v1.Health/Check")
    assert health_pb2.HealthCheckResponse.FromString(await check(b"")).status == SERVING
    if keyed:
        await watched(server, key)
    first.cancel()
    async with asyncio.timeout(30):
        while True:  # until the server has seen that one left
            with suppress(grpc.aio.AioRpcError):
                await watched(server)
                break


async def test_a_long_key_is_not_even_hashed(start: Start) -> None:
    server = await start({"keys.named": f"trainer={new_key()[1]}"})
    for scheme in ("Bearer", "Basic"):
        answer = await server.http.get("/v1/info", headers={"Authorization": f"{scheme} {'A' * 50_000}"})
        assert answer.status_code == 401


async def test_keys_stand_in_no_log(start: Start, capfd: pytest.CaptureFixture[str]) -> None:
    key, digest = new_key()
    server = await start({"keys.named": f"trainer={digest}", "logs.level": "debug"})
    for sent in (key, "rwd_wrong"):
        async with httpx.AsyncClient(base_url=server.serving.http) as client:
            await client.get("/v1/info", headers={"Authorization": f"Bearer {sent}"})
            await client.get(f"/v1/info?key={sent}")
    said = "".join(capfd.readouterr())
    assert key not in said
    assert "rwd_wrong" not in said


@pytest.mark.parametrize("path", ["/healthz", "/v1/info", "/docs", "/docs/choice", "/metrics"])
async def test_head_is_served_where_get_is_and_sends_no_body(server: Running, path: str) -> None:
    answer, whole = await server.http.head(path), await server.http.get(path)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == whole.headers["content-type"]


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/v1/verify", "POST"),
        ("HEAD", "/v1/verify", "POST"),
        ("PUT", "/v1/jobs", "GET, HEAD, POST"),
        ("POST", "/v1/jobs/x", "DELETE, GET, HEAD"),
        ("POST", "/docs/choice", "GET, HEAD"),
        ("GET", "/compat/slime/rm", "POST"),
    ],
)
async def test_another_method_is_told_all_that_the_path_takes(
    server: Running, method: str, path: str, allow: str
) -> None:
    answer = await server.http.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allow)
