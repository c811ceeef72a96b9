"""Bodies of requests: read in pieces, refused at the limit, unpacked with a bound."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from typing import TypeVar

import zstandard
from starlette.requests import Request
from starlette.types import Receive

from rewarden.errors import InvalidRequest, TooLarge
from rewarden_server.budget import Budget
from rewarden_server.http.replies import ClientGone, TooSlow, UnsupportedMedia
from rewarden_server.service import LARGE, run_beside

T = TypeVar("T")

ENCODINGS = ("gzip", "zstd")

SILENCE_S = 60.0
"""Seconds for which a body that is no stream may stop coming. Attack: bodies that are begun, and held open."""

ZSTD_WINDOW = 2**23
"""Bytes; RFC 9659 has no HTTP body ask for more. Attack: small requests, each with a window of gigabytes."""

_MEMBERS, _MEMBER_BYTES = 1000, 1024
"""Of gzip: so many members, and one more for each so many bytes that come out. Attack: millions of empty ones."""


def check_content_type(request: Request, *allowed: str) -> None:
    """Raises UnsupportedMedia for a body that does not say that it is one of `allowed`. No header at all will do."""
    given = request.headers.get("content-type")
    if given is None:
        return
    kind, _, parameters = given.partition(";")
    if kind.strip().lower() not in allowed:
        raise UnsupportedMedia(
            f"send 'Content-Type: {allowed[0]}'; {kind.strip()[:80]!r} is not read here", allowed=list(allowed)
        )
    charset = parameters.lower().partition("charset=")[2].strip("\" '")
    if charset and charset not in ("utf-8", "utf8"):
        raise UnsupportedMedia(f"JSON is sent in UTF-8, not {charset[:40]!r}", allowed=list(allowed))


def encoding_of(request: Request) -> str | None:
    """The body's `Content-Encoding`, if it has one that is read here. Raises UnsupportedMedia."""
    given = request.headers.get("content-encoding", "identity").strip().lower()
    if given == "identity":
        return None
    if given not in ENCODINGS:
        raise UnsupportedMedia(f"Content-Encoding may be {' or '.join(ENCODINGS)}, not {given[:40]!r}")
    return given


@asynccontextmanager
async def read_body(request: Request, budget: Budget, most: int, limit: str) -> AsyncIterator[bytes]:
    """The whole body, unpacked; counted in the budget, so that slow senders cannot fill the memory, while it is open.

    `limit` names the setting that `most` comes from. Raises TooLarge as soon as it is passed, Overloaded,
    UnsupportedMedia, InvalidRequest, ClientGone.
    """
    encoding = encoding_of(request)
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise _too_large(limit, most)
    held = size = 0
    try:
        pieces: list[bytes] = []
        async for piece in pieces_of(request.receive, SILENCE_S):
            size += len(piece)
            if size > most:
                raise _too_large(limit, most)
            budget.take(len(piece))
            held += len(piece)
            pieces.append(piece)
        body = b"".join(pieces)
        pieces.clear()
        if encoding is not None:
            packed = body
            body = await run_beside(lambda: unpack(packed, encoding, most, limit), LARGE)
            budget.take(len(body))
            held += len(body)
        yield body
    finally:
        budget.give(held)


async def pieces_of(receive: Receive, silence_s: float | None = None) -> AsyncIterator[bytes]:
    """The pieces of a body as they come. Raises ClientGone when the client leaves in the middle, TooSlow after so many
    seconds in which nothing came."""
    while True:
        try:
            async with asyncio.timeout(silence_s):
                message = await receive()
        except TimeoutError:
            raise TooSlow(f"nothing came of the body for {silence_s:g} s") from None
        if message["type"] == "http.disconnect":
            raise ClientGone
        piece: bytes = message.get("body", b"")
        if piece:
            yield piece
        if not message.get("more_body", False):
            return


async def unless_gone(receive: Receive, work: Awaitable[T]) -> T:
    """The result of `work`, which is cancelled when the client leaves. Raises ClientGone then."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(until_gone(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone
        return task.result()
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def until_gone(receive: Receive) -> None:
    """Returns when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def unpack(body: bytes, encoding: str, most: int, limit: str) -> bytes:
    """A whole packed body. Stops at `most` bytes, so that a small bomb stays small. Raises TooLarge, InvalidRequest."""
    try:
        data = _gunzip(body, most) if encoding == "gzip" else _unzstd(body, most)
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise InvalidRequest(f"the body is not {encoding}: {error}") from None
    if len(data) > most:
        raise _too_large(limit, most)
    return data


def _gunzip(body: bytes, most: int) -> bytes:
    gunzip = Gunzip()
    parts: list[bytes] = []
    room = most + 1
    for part in gunzip.parts(body):
        parts.append(part)
        room -= len(part)
        if room <= 0:
            return b"".join(parts)
    if not gunzip.whole:
        raise EOFError("it ends too early")
    return b"".join(parts)


class Gunzip:
    """Unpacks gzip piece by piece, member after member, in parts of bounded size."""

    _STEP = 1024**2
    _SLICE = 16 * 1024  # of what comes in: what a member leaves over is copied, and must not be long

    def __init__(self) -> None:
        self._reader = zlib.decompressobj(wbits=31)
        self._members = 0
        self._out = 0
        self.whole = False
        """Whether what came ends with the end of a member."""

    def parts(self, piece: bytes) -> Iterator[bytes]:
        """What comes out of a piece. Raises zlib.error, EOFError for what nobody packs like that."""
        for first in range(0, len(piece), self._SLICE):
            rest = piece[first : first + self._SLICE]
            while rest:
                part = self._reader.decompress(rest, self._STEP)
                self._out += len(part)
                yield part
                rest = self._reader.unconsumed_tail
                self.whole = self._reader.eof
                if self._reader.eof:
                    rest = self._reader.unused_data
                    self._reader = zlib.decompressobj(wbits=31)
                    self._members += 1
                    if self._members > _MEMBERS + self._out // _MEMBER_BYTES:
                        raise EOFError(f"it has {self._members} members, nearly all of them empty")


def _unzstd(body: bytes, most: int) -> bytes:
    reader = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).stream_reader(body, read_across_frames=True)
    return reader.read(most + 1)


def _too_large(limit: str, most: int) -> TooLarge:
    return TooLarge(f"the body has more than {most} bytes (limits.{limit})", limit=limit, most=most)
