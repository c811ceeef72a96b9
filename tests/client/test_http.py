"""Behaviour that is HTTP's own: any framing of the answer, odd servers, proxies' errors, Retry-After."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from email.utils import formatdate

import pytest

from rewarden.errors import (
    Forbidden,
    InternalError,
    InvalidRequest,
    Overloaded,
    RequestError,
    TooLarge,
    Unauthorized,
    Unavailable,
)
from rewarden.transports.http import HttpTransport, refusal, retry_after
from rewarden.types import Batch, Group, Sample, Verdict
from tests.client.servers import Script, judge

pytestmark = pytest.mark.needs_server

VERDICT = b'{"verdict":{"index":0,"status":"scored","score":1.0}}\n'
DONE = b'{"done":{"verdicts":1}}\n'


def chunked(body: bytes, size: int) -> bytes:
    """The body in chunks of that size."""
    parts = [body[i : i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x;note=1\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@asynccontextmanager
async def canned(answer: bytes, piece: int = 1 << 20) -> AsyncIterator[HttpTransport]:
    """A server that reads a whole chunked request and answers with the given bytes, in pieces, then closes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n0\r\n\r\n")
        for start in range(0, len(answer), piece):
            writer.write(answer[start : start + piece])
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    transport = HttpTransport(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/prefix/")
    try:
        yield transport
    finally:
        await transport.close()
        server.close()


async def streamed(transport: HttpTransport) -> list[Verdict | Group]:
    async def one() -> AsyncIterator[Sample]:
        yield Sample(response="")

    return [item async for item in transport.stream(Batch(), one())]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(VERDICT + DONE, 7),
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n" + chunked(VERDICT + b"\n" + DONE, 10_000),
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(VERDICT + DONE) + VERDICT + DONE,
        b"HTTP/1.0 200 OK\r\n\r\n" + VERDICT + DONE.rstrip(),
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" + VERDICT + b'{"tomorrow":1}\n' + DONE,
    ],
    ids=["small chunks", "one chunk", "length", "until closed", "continue, and a line from the future"],
)
@pytest.mark.parametrize("piece", [1, 1 << 20])
async def test_any_framing_of_the_answer_is_read(answer: bytes, piece: int) -> None:
    async with canned(answer, piece) as transport:
        assert await streamed(transport) == [Verdict(status="scored", score=1.0)]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (VERDICT, Unavailable),
        (VERDICT + b'{"done":{"verdicts":2}}\n', Unavailable),
        (b'{"done":{"verdicts":0}}\n', Unavailable),
        (b"", Unavailable),
        (b'{"error":{"code":"too_large","message":"m","details":{}}}\n', TooLarge),
        (b'{"error":{"code":"unheard_of","message":"m"}}\n', InternalError),
        (b"not json\n", InternalError),
        (b"[]\n", InternalError),
        (b'{"verdict":{"index":0}}\n', InternalError),
    ],
)
async def test_a_stream_ends_with_done_or_with_an_error(body: bytes, error: type[RequestError]) -> None:
    async with canned(b"HTTP/1.1 200 OK\r\n\r\n" + body) as transport:
        with pytest.raises(error):
            await streamed(transport)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 2",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" + VERDICT,
        b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + VERDICT,
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000_000,
    ],
    ids=["nothing", "half a head", "not http", "no chunk", "half a chunk", "half a body", "endless head"],
)
async def test_an_answer_that_breaks_off_is_unavailable(answer: bytes) -> None:
    async with canned(answer) as transport:
        with pytest.raises(Unavailable):
            await streamed(transport)


async def test_samples_are_taken_no_faster_than_the_server_reads() -> None:
    reads = asyncio.Event()
    ended = asyncio.Event()
    taken = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await reads.wait()
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        while await reader.read(1 << 20):
            pass
        ended.set()

    async def samples() -> AsyncIterator[Sample]:
        nonlocal taken
        while taken < 2000:
            await asyncio.sleep(0)  # one for each turn of the loop, as a generator that is run in a thread gives them
            taken += 1
            yield Sample(response="x" * 32_768)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    transport = HttpTransport(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    stream = transport.stream(Batch(), samples())
    first = asyncio.ensure_future(anext(stream))
    for _ in range(50_000):
        await asyncio.sleep(0)
    assert 0 < taken < 1000, "what a kernel buffers is some MiB; 64 MiB are offered"
    held = taken
    reads.set()
    while taken == held:
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    await asyncio.wait_for(ended.wait(), 30)
    await transport.close()
    server.close()


async def test_only_a_line_feed_ends_a_line(http_target: str, script: Script) -> None:
    odd = "a\u2028b\x85c\x0bd\x1ce\rf"
    script.judge = lambda sample, index: replace(judge(sample, index), feedback=odd)
    transport = HttpTransport(http_target)
    assert [item.feedback for item in await streamed(transport)] == [odd]  # type: ignore[union-attr]
    await transport.close()


async def test_a_refused_stream_tells_the_servers_reason() -> None:
    body = b'{"error":{"code":"unauthorized","message":"no such key","details":{}}}'
    answer = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    async with canned(answer) as transport:
        with pytest.raises(Unauthorized, match="no such key"):
            await streamed(transport)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, InvalidRequest),
        (401, Unauthorized),
        (403, Forbidden),
        (413, TooLarge),
        (418, InvalidRequest),
        (429, Overloaded),
        (500, InternalError),
        (502, Unavailable),
        (503, Unavailable),
        (599, InternalError),
    ],
)
def test_an_answer_that_is_not_ours_is_named_by_its_status(status: int, error: type[RequestError]) -> None:
    raised = refusal(status, {}, b"<html>Bad Gateway</html>")
    assert type(raised) is error
    assert f"the server responded with {status}: <html>Bad Gateway" in raised.message


def test_retry_after_may_be_seconds_or_a_date() -> None:
    assert retry_after({"Retry-After": "7"}) == 7.0
    assert retry_after({"Retry-After": "-7"}) == 0.0
    assert retry_after({"Retry-After": formatdate(0)}) == 0.0
    far = retry_after({"Retry-After": formatdate(4102444800)})
    assert far is not None
    assert far > 1e6
    assert retry_after({"Retry-After": "soon"}) is None
    assert retry_after({}) is None


def test_a_body_that_names_the_wait_is_believed_before_the_header() -> None:
    body = b'{"error":{"code":"overloaded","message":"m","details":{"retry_after_s":0.25}}}'
    assert refusal(429, {"Retry-After": "1"}, body).details["retry_after_s"] == 0.25
    bare = b'{"error":{"code":"overloaded","message":"m"}}'
    assert refusal(429, {"Retry-After": "1"}, bare).details["retry_after_s"] == 1.0


@pytest.mark.parametrize("target", ["http://", "http://[::1", "http://a:port"])
async def test_an_address_that_is_none_is_the_callers_fault(target: str) -> None:
    with pytest.raises(InvalidRequest):
        await HttpTransport(target).verify(Batch())
