"""One HTTP/1.1 POST whose body is still being sent while its answer is read.

httpx sends a request to its end before it reads a byte of the answer. A stream needs both at once: the first verdict
must not wait for the last sample, and a server that waits for room to answer while we wait for room to send would wait
forever. So this one exchange is made with asyncio's streams: a connection of its own, no redirects, no proxy.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from email.message import Message
from urllib.parse import urlsplit

from rewarden.errors import InvalidRequest, Unavailable
from rewarden.transports.authority import distrust
from rewarden.transports.duplex import PeerClosed
from rewarden.transports.http1 import LAST_CHUNK, Answer, Lines, breaking_off, chunk, post_head

_BLOCK = 64 * 1024


class Exchange:
    """A POST under way. Open it with `open_exchange`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._unsent = bytearray()
        self._flushing: asyncio.Handle | None = None
        self._answer = Answer()
        self._begun = b""
        """The part of the body that came together with the head."""

    async def send(self, data: bytes) -> None:
        """Send a part of the body, waiting for room. Small parts that follow at once travel together.

        Raises PeerClosed when the server reads no more: what it answered says why.
        """
        self._unsent += data
        if len(self._unsent) >= _BLOCK:
            self._flush()
        elif self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_soon(self._flush)
        # Small parts too: a server that holds its window would have us read all samples into the transport's buffer.
        await self._drain()

    async def finish(self) -> None:
        """End the body. Raises PeerClosed."""
        self._flush()
        self._writer.write(LAST_CHUNK)
        await self._drain()

    def _flush(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        if self._unsent:
            self._writer.write(chunk(self._unsent))
            self._unsent.clear()

    async def _drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError:
            raise PeerClosed from None

    @property
    def status(self) -> int:
        """Returns the status of the answer, after `head`."""
        return self._answer.status

    @property
    def headers(self) -> Message:
        """Returns the headers of the answer, after `head`."""
        return self._answer.headers

    async def head(self) -> None:
        """Read `status` and `headers` of the answer. Raises Unavailable when it breaks off."""
        while self.status < 200:
            self._begun += await self._take()

    async def blocks(self) -> AsyncIterator[bytes]:
        """The body of the answer, as it comes. Raises Unavailable when it breaks off before its end."""
        yield self._begun
        while not self._answer.ended:
            yield await self._take()

    async def _take(self) -> bytes:
        with breaking_off():
            data = await self._reader.read(_BLOCK)
        return self._answer.take(data)

    async def lines(self) -> AsyncIterator[bytes]:
        """The body's lines, without their ends; only \\n ends a line. A last line without end is a line too."""
        lines = Lines()
        async for block in self.blocks():
            for line in lines.take(block):
                yield line
        for line in lines.last():
            yield line

    async def body(self) -> bytes:
        """The whole body."""
        return b"".join([block async for block in self.blocks()])

    def abort(self) -> None:
        """Cuts the connection; pending reads and writes fail."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """Close the connection."""
        if self._flushing is not None:
            self._flushing.cancel()
        self.abort()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


async def open_exchange(
    url: str, headers: Mapping[str, str], *, tls: ssl.SSLContext | None, connect_s: float
) -> Exchange:
    """Connect and send the head of the request. Raises Unavailable when the server cannot be reached,
    InvalidRequest when its certificate is not believed."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port, ssl=tls), connect_s)
    except asyncio.TimeoutError:
        raise Unavailable(f"{parts.netloc} did not accept a connection within {connect_s} s") from None
    except OSError as error:
        if (why := distrust(error)) is not None:
            raise InvalidRequest(f"{parts.netloc}: {why}") from None
        raise Unavailable(f"{parts.netloc} cannot be reached: {error.strerror or error}") from None
    writer.write(post_head(url, headers))
    return Exchange(reader, writer)
