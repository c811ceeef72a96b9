"""Request bodies: read in pieces, rejected at the limit, and decompressed up to a limit."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import zstandard
from starlette.requests import Request
from starlette.types import Receive

from rewarden.errors import InvalidRequest, TooLarge
from rewarden_server.http.replies import ClientGone, TooSlow, UnsupportedMedia
from rewarden_server.intake.budget import Budget
from rewarden_server.service import LARGE, run_beside

T = TypeVar("T")

ENCODINGS = ("gzip", "zstd")

_STEP = 1024**2
"""Bytes that are decompressed at a time and then counted."""

SILENCE_S = 60.0
"""Seconds for which the sender of a body can pause (streams have no such limit). Attack: bodies that are begun and held
open."""

ZSTD_WINDOW = 2**23
"""Bytes; the maximum for HTTP bodies by RFC 9659. Attack: small requests, each with a window of gigabytes."""

_MEMBERS, _MEMBER_BYTES = 1000, 1024
"""The members that a gzip body can have, and the output bytes that allow one more. Attack: millions of empty
members."""


def check_content_type(request: Request, *allowed: str) -> None:
    """Raises UnsupportedMedia for a body with a content type that is not one of `allowed`. A missing header is
    accepted."""
    given = request.headers.get("content-type")
    if given is None:
        return
    kind, _, parameters = given.partition(";")
    if kind.strip().lower() not in allowed:
        raise UnsupportedMedia(
            f"send 'Content-Type: {allowed[0]}'; {kind.strip()[:80]!r} is not supported", allowed=list(allowed)
        )
    charset = parameters.lower().partition("charset=")[2].strip("\" '")
    if charset and charset not in ("utf-8", "utf8"):
        raise UnsupportedMedia(f"JSON must be UTF-8, not {charset[:40]!r}", allowed=list(allowed))


def encoding_of(request: Request) -> str | None:
    """Returns the body's `Content-Encoding`, or None for `identity`. Raises UnsupportedMedia for an unsupported one."""
    given = request.headers.get("content-encoding", "identity").strip().lower()
    if given == "identity":
        return None
    if given not in ENCODINGS:
        raise UnsupportedMedia(f"Content-Encoding must be {' or '.join(ENCODINGS)}, not {given[:40]!r}")
    return given


@asynccontextmanager
async def read_body(request: Request, budget: Budget, most: int, limit: str) -> AsyncIterator[bytearray]:
    """Yields the whole body, decompressed. While it is open it counts in the budget, so that slow senders cannot fill
    the memory.

    Decompressed bytes are counted as they are produced. Attack: many small bodies at once, each of which expands to
    `most`. `limit` names the setting that `most` comes from. Raises TooLarge as soon as the limit is passed,
    Overloaded, UnsupportedMedia, InvalidRequest, ClientGone.
    """
    encoding = encoding_of(request)
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise _too_large(limit, most)
    held = 0
    try:
        body = bytearray()
        async for piece in pieces_of(request.receive, SILENCE_S):
            if len(body) + len(piece) > most:
                raise _too_large(limit, most)
            budget.take(len(piece))
            held += len(piece)
            body += piece
        if encoding is not None:
            parts = unpack(body, encoding, most, limit)
            body = bytearray()
            while part := await run_beside(partial(_stretch, parts), LARGE):
                budget.take(len(part))
                held += len(part)
                body += part
        yield body
    finally:
        budget.give(held)


async def pieces_of(receive: Receive, silence_s: float | None = None) -> AsyncIterator[bytes]:
    """Yields the pieces of a body as they arrive. Raises ClientGone if the client disconnects before the end, and
    TooSlow if nothing arrives for `silence_s` seconds."""
    while True:
        try:
            async with asyncio.timeout(silence_s):
                message = await receive()
        except TimeoutError:
            raise TooSlow(f"received no data of the body for {silence_s:g} s") from None
        if message["type"] == "http.disconnect":
            raise ClientGone
        piece: bytes = message.get("body", b"")
        if piece:
            yield piece
        if not message.get("more_body", False):
            return


async def unless_gone(receive: Receive, work: Awaitable[T]) -> T:
    """Returns the result of `work`. If the client disconnects, cancels the work and raises ClientGone."""
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
    """Returns when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


def unpack(body: bytes | bytearray, encoding: str, most: int, limit: str) -> Iterator[bytes]:
    """Yields the decompressed content of a whole body, in parts of at most a MiB.

    Stops at `most` bytes, so that a decompression bomb stays small. Raises TooLarge, InvalidRequest.
    """
    size = 0
    try:
        for part in _gunzip(body) if encoding == "gzip" else _unzstd(body):
            size += len(part)
            if size > most:
                raise _too_large(limit, most)
            yield part
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise InvalidRequest(f"the body is not valid {encoding}: {error}") from None


def _stretch(parts: Iterator[bytes]) -> bytearray:
    """Returns the next parts, a MiB or two of them; nothing at the end."""
    found = bytearray()
    for part in parts:
        found += part
        if len(found) >= _STEP:
            break
    return found


def _gunzip(body: bytes | bytearray) -> Iterator[bytes]:
    gunzip = Gunzip()
    yield from gunzip.parts(body)
    if not gunzip.whole:
        raise EOFError("it is truncated")


class Gunzip:
    """Decompresses gzip piece by piece, member after member, in parts of bounded size."""

    _SLICE = 16 * 1024  # of the input: the rest after a member is copied, and must be short

    def __init__(self) -> None:
        self._reader = zlib.decompressobj(wbits=31)
        self._members = 0
        self._out = 0
        self.whole = False
        """Returns whether the input so far ends at the end of a member."""

    def parts(self, piece: bytes | bytearray) -> Iterator[bytes]:
        """Yields the decompressed bytes of a piece. Raises zlib.error or EOFError for malformed input."""
        for first in range(0, len(piece), self._SLICE):
            rest = bytes(piece[first : first + self._SLICE])
            while rest:
                part = self._reader.decompress(rest, _STEP)
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


def _unzstd(body: bytes | bytearray) -> Iterator[bytes]:
    reader = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).stream_reader(body, read_across_frames=True)
    while part := reader.read(_STEP):
        yield part


def _too_large(limit: str, most: int) -> TooLarge:
    return TooLarge(f"the body has more than {most} bytes (limits.{limit})", limit=limit, most=most)
