"""`POST /v1/verify/stream`: NDJSON in both directions: one line per sample in, one line per verdict out as it finishes.

In:   {"batch": {…everything of a batch but its samples}}, then one sample per line.
Out:  {"verdict": {…}} in the order in which they finish, {"group": {…}} when a group is complete, finally
      {"done": {"verdicts": n}}; or {"error": {…}} if the stream broke, as the last line.

A fault in the first line rejects the request with a status. A later line that is not a sample (not JSON, too long)
becomes that row's `error` verdict. A client can send everything before it reads: up to `UNREAD` bytes of the response
are buffered.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterator

import zstandard
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rewarden.errors import InternalError, InvalidRequest, TooLarge
from rewarden.types import BadSample, Batch, Sample, Verdict
from rewarden.wire.json import (
    dumps,
    error_to_json,
    group_to_json,
    header_from_json,
    loads,
    sample_from_json,
    verdict_to_json,
)
from rewarden_server.access.caller import charge_one, note
from rewarden_server.http.access import RawRoute, needs, service_of
from rewarden_server.http.body import ZSTD_WINDOW, Gunzip, check_content_type, encoding_of, pieces_of, until_gone
from rewarden_server.http.declared import TEXT, body, errors, reply
from rewarden_server.http.replies import NDJSON, ClientGone, NdjsonResponse
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.intake.settings import LimitSettings
from rewarden_server.observe.logs import VerdictLog, get_logger, log_defect
from rewarden_server.refusals import as_request_error
from rewarden_server.service import Service, too_long

ACCEPTED = (NDJSON, "application/ndjson", "application/jsonl", "application/json")
SURFACE = "http-stream"
UNREAD = 64 * 1024**2

_SWELL, _SWELL_BYTES = 500, 256 * 1024**2
"""The most that a compressed stream may expand to: a multiple of its input, plus a number of bytes. gzip reaches 1,000
bytes for one, zstd 30,000. Attack: a bomb of any length, since streams have no limit in total."""

_YIELD = 256 * 1024

_EMPTY, _TURN = 10_000, 1000
"""The number by which the empty lines of a stream may exceed its other lines, and the number of lines after which the
loop serves others. Attack: a million empty lines, which cost the caller nothing, split without a pause."""

_log = get_logger("stream")


router = APIRouter(route_class=RawRoute, dependencies=[needs("verify")])


@router.post(
    "/v1/verify/stream",
    operation_id="verify_stream",
    summary='Judge samples as they arrive. Send a line `{"batch": Header}`, then a Sample per line. Lines '
    '`VerdictLine` and `GroupLine` are returned as they finish, and finally `{"done": {"verdicts": n}}` or an `Error`.',
    response_class=NdjsonResponse,
    responses={200: reply("The verdicts, as lines.", TEXT, NDJSON), **errors(404, 409)},
    openapi_extra=body(TEXT, NDJSON),
)
async def verify_stream(request: Request) -> Response:
    service = service_of(request)
    check_content_type(request, *ACCEPTED)
    lines = Lines(service.limits)
    rows = lines.of(unpacked(pieces_of(request.receive), encoding_of(request)))
    header = service.take_header(await _header(rows, service.limits))
    return Exchange(service, header, rows)


class Lines:
    """Cuts bytes into lines of bounded length. A line over the limit becomes None, and its bytes are not kept."""

    def __init__(self, limits: LimitSettings) -> None:
        # The first line can contain long shared tables.
        self._first, self._most = limits.max_body_bytes, limits.max_sample_bytes

    async def of(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes | None]:
        """Yields the lines without empty ones. Raises InvalidRequest for too many empty lines."""
        most = self._first
        parts: list[bytes] = []
        size = seen = empty = 0
        async for piece in pieces:
            *ends, rest = piece.split(b"\n")
            for end in ends:
                seen += 1
                if seen % _TURN == 0:
                    await asyncio.sleep(0)
                whole = b"".join((*parts, end)) if size + len(end) <= most else None
                parts, size = [], 0
                if whole is None or whole.strip():
                    yield whole
                    most = self._most
                    continue
                empty += 1
                if 2 * empty - seen > _EMPTY:
                    raise InvalidRequest(
                        f"the stream has over {_EMPTY} more empty lines than other lines; do not send empty lines"
                    )
            size += len(rest)
            parts.append(rest)
            if size > most:
                parts.clear()
        if size > most:
            yield None
        elif b"".join(parts).strip():
            yield b"".join(parts)


async def unpacked(pieces: AsyncIterator[bytes], encoding: str | None) -> AsyncIterator[bytes]:
    """Yields the pieces without their `Content-Encoding`, in parts of bounded size. Raises InvalidRequest."""
    if encoding is None:
        async for piece in pieces:
            yield piece
        return
    taken = made = 0
    gunzip, unzstd = Gunzip(), zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
    reader = unzstd.decompressobj(read_across_frames=True)
    try:
        async for piece in pieces:
            taken += len(piece)
            for part in gunzip.parts(piece) if encoding == "gzip" else _unzstd(reader, piece):
                made += len(part)
                if made > _SWELL_BYTES + _SWELL * taken:
                    raise InvalidRequest(f"the body decompresses to more than {_SWELL} times its size")
                yield part
                if len(part) > _YIELD:
                    await asyncio.sleep(0)  # a body that expands must not block the loop
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise InvalidRequest(f"the body is not valid {encoding}: {error}") from None


def _unzstd(reader: zstandard.ZstdDecompressionObj, piece: bytes) -> Iterator[bytes]:
    """Yields the decompressed content of a piece. The reader does not limit its output: four bytes can expand to a
    block of 128 KiB. Therefore small slices are fed in while the output is large."""
    size = first = 0
    while first < len(piece):
        size = min(4096, 2 * size) if size else 256
        part = reader.decompress(piece[first : first + size])
        first += size
        if len(part) > 64 * size:
            size = 0
        yield part


async def _header(rows: AsyncIterator[bytes | None], limits: LimitSettings) -> Batch:
    async for line in rows:
        if line is None:
            raise TooLarge(f"the first line has more than {limits.max_body_bytes} bytes", limit="max_body_bytes")
        value = read_json(line, limits)
        if type(value) is not dict or value.keys() != {"batch"}:
            raise InvalidRequest('the first line must be {"batch": {…}}: the request without its samples')
        return header_from_json(value["batch"])
    raise InvalidRequest('the stream is empty; its first line must be {"batch": {…}}')


def read_row(line: bytes | None, limits: LimitSettings) -> Sample | BadSample:
    """Returns a line's sample, or a `BadSample` with the line's fault. Never raises."""
    if line is None:
        return too_long(limits.max_sample_bytes)
    try:
        return sample_from_json(loads(line))
    except (InvalidRequest, TooLarge) as error:
        return BadSample(message=error.message)


class Outbox:
    """Outgoing lines. The writer waits while more than `UNREAD` bytes are pending."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._size = 0
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._ended = False

    async def put(self, line: bytes) -> None:
        """Adds a line."""
        self._lines.append(line)
        self._size += len(line)
        self._filled.set()
        if self._size > UNREAD:
            self._room.clear()
            await self._room.wait()

    def end(self) -> None:
        """Ends the lines."""
        self._ended = True
        self._filled.set()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields all pending lines, joined, until the end."""
        while self._lines or not self._ended:
            await self._filled.wait()
            self._filled.clear()
            lines, self._lines, self._size = self._lines, [], 0
            self._room.set()
            if lines:
                yield b"".join(lines)


class Exchange(Response):
    """The response of a stream: reads rows, feeds the engine and sends the results, all at the same time."""

    def __init__(self, service: Service, header: Batch, rows: AsyncIterator[bytes | None]) -> None:
        super().__init__(media_type=NDJSON)
        self._service = service
        self._header = header
        self._rows = rows
        self._stream = service.engine.open_stream(header, source=SURFACE)
        self._outbox = Outbox()
        self._failure: Exception | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves the exchange until its end, or until the client disconnects."""
        headers = [(name, value) for name, value in self.raw_headers if name != b"content-length"]
        tasks = [asyncio.ensure_future(self._feed(receive)), asyncio.ensure_future(self._watch())]
        writer = asyncio.ensure_future(self._write())
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async for piece in self._outbox.pieces():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            for task in (*tasks, writer):
                task.cancel()
            await asyncio.gather(*tasks, writer, return_exceptions=True)
            await self._stream.cancel()

    async def _feed(self, receive: Receive) -> None:
        """Puts in every row; then watches whether the client disconnects before the end."""
        try:
            async for line in self._rows:
                await charge_one()
                await self._stream.put(self._service.take_sample(read_row(line, self._service.limits), self._header))
            self._stream.finish()
            await until_gone(receive)
            raise ClientGone
        except Exception as error:  # noqa: BLE001  told to the client by `_write`, which this wakes
            await self._break(error)

    async def _watch(self) -> None:
        await self._service.stopped.wait()
        await self._break(self._service.stop_error())

    async def _break(self, error: Exception) -> None:
        self._failure = self._failure or error
        await self._stream.cancel()

    async def _write(self) -> None:
        """Writes the engine's results as lines; ends with a `done` or an `error` line."""
        verdicts = 0
        log = VerdictLog(_log)
        wanted = None if self._header.fields is None else frozenset(self._header.fields)
        try:
            async for item in self._stream:
                if isinstance(item, Verdict):
                    verdicts += 1
                    log.note(item)
                    note((item,))
                    line = b'{"verdict":' + dumps(verdict_to_json(item, wanted)) + b"}\n"
                else:
                    line = b'{"group":' + dumps(group_to_json(item)) + b"}\n"
                await self._outbox.put(line)
        except Exception as error:  # noqa: BLE001  the boundary: the client is told that the stream broke
            self._failure = self._failure or error
        log.end()
        failure = self._failure
        if failure is None:
            await self._outbox.put(dumps({"done": {"verdicts": verdicts}}) + b"\n")
        elif not isinstance(failure, ClientGone):
            known = as_request_error(failure)
            if isinstance(known, InternalError):
                log_defect(_log, failure)
            await self._outbox.put(dumps(error_to_json(known)) + b"\n")
        self._outbox.end()
