"""One HTTP/1.1 POST whose body is still being sent while its answer is read.

httpx sends a request to its end before it reads a byte of the answer. A stream needs both at once: the first verdict
must not wait for the last sample, and a server that waits for room to answer while we wait for room to send would wait
for ever. So this one exchange is made with asyncio's streams: a connection of its own, no redirects, no proxy.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from email.message import Message
from http.client import HTTPException, parse_headers
from urllib.parse import urlsplit

from rewarden.errors import InvalidRequest, Unavailable
from rewarden.transports.authority import distrust
from rewarden.transports.duplex import PeerClosed

_BLOCK = 64 * 1024
_LONGEST_HEAD = 256 * 1024


class Exchange:
    """A POST under way. Open it with `open_exchange`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._unsent = bytearray()
        self._flushing: asyncio.Handle | None = None
        self.status = 0
        self.headers: Message = Message()

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
        self._writer.write(b"0\r\n\r\n")
        await self._drain()

    def _flush(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        if self._unsent:
            self._writer.write(b"%x\r\n%b\r\n" % (len(self._unsent), bytes(self._unsent)))
            self._unsent.clear()

    async def _drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError:
            raise PeerClosed from None

    async def head(self) -> None:
        """Read `status` and `headers` of the answer. Raises Unavailable when it breaks off."""
        with _breaking_off():
            while self.status < 200:  # 1xx: the answer is still to come
                line, _, rest = (await self._reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")
                version, _, status = line.partition(b" ")
                if not version.startswith(b"HTTP/1.") or not status[:3].isdigit():
                    raise Unavailable("the server does not speak HTTP/1.1")
                self.status = int(status[:3])
                self.headers = parse_headers(io.BytesIO(rest))

    async def blocks(self) -> AsyncIterator[bytes]:
        """The body of the answer, as it comes. Raises Unavailable when it breaks off before its end."""
        with _breaking_off():
            if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
                while size := int((await self._reader.readuntil(b"\n")).split(b";")[0], 16):
                    yield (await self._reader.readexactly(size + 2))[:-2]
            elif (length := self.headers.get("Content-Length")) is not None:
                yield await self._reader.readexactly(int(length))
            else:
                while block := await self._reader.read(_BLOCK):
                    yield block

    async def lines(self) -> AsyncIterator[bytes]:
        """The body's lines, without their ends; only \\n ends a line. A last line without end is a line too."""
        rest = b""
        async for block in self.blocks():
            *whole, rest = (rest + block).split(b"\n") if rest else block.split(b"\n")
            for line in whole:
                yield line
        if rest:
            yield rest

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


@contextlib.contextmanager
def _breaking_off() -> Iterator[None]:
    try:
        yield
    except asyncio.LimitOverrunError:
        raise Unavailable(f"the server sent more than {_LONGEST_HEAD} bytes of headers") from None
    except (OSError, EOFError) as error:  # EOFError: IncompleteReadError
        raise Unavailable(f"the server aborted its response ({type(error).__name__})") from None
    except (ValueError, HTTPException):
        raise Unavailable("the server does not speak HTTP/1.1") from None


async def open_exchange(
    url: str, headers: Mapping[str, str], *, tls: ssl.SSLContext | None, connect_s: float
) -> Exchange:
    """Connect and send the head of the request. Raises Unavailable when the server cannot be reached,
    InvalidRequest when its certificate is not believed."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        reader, writer = await asyncio.wait_for(
            asyncio.open_connection(host, port, ssl=tls, limit=_LONGEST_HEAD), connect_s
        )
    except asyncio.TimeoutError:
        raise Unavailable(f"{parts.netloc} did not accept a connection within {connect_s} s") from None
    except OSError as error:
        if (why := distrust(error)) is not None:
            raise InvalidRequest(f"{parts.netloc}: {why}") from None
        raise Unavailable(f"{parts.netloc} cannot be reached: {error.strerror or error}") from None
    lines = [f"POST {parts.path or '/'} HTTP/1.1", f"Host: {parts.netloc}", "Transfer-Encoding: chunked"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
    return Exchange(reader, writer)
