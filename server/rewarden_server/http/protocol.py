"""HTTP/1.1 as uvicorn speaks it, with a bound on what stands before a body."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rewarden_server.intake.settings import LimitSettings

MAX_HEAD_BYTES = 64 * 1024
"""The limit on request line and headers together. Above it the answer is 431, and the connection is closed."""

MAX_UNREAD_BYTES = 64 * 1024**2
"""The bytes that are still accepted of a body whose request was answered before it had arrived, for
`limits.header_timeout_s`, so that the sender gets to read the answer. Then the connection is closed."""

_REFUSAL = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s"
)
_BODY = b'{"error": {"code": "too_large", "message": "the headers have more than %d bytes", "details": {}}}'


_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n"


def bounded_protocol(given: LimitSettings) -> type[BoundedProtocol]:
    """The protocol with these limits: uvicorn makes one for each connection, and tells it nothing of ours."""

    class Bounded(BoundedProtocol):
        limits = given

    return Bounded


class BoundedProtocol(HttpToolsProtocol):
    """Attacks: headers or trailers without end, which would be kept in memory before any key is looked at; headers that
    come a byte a minute, or not at all, on as many connections as there are descriptors. After an answer: the rest of a
    body that never ends, or a single byte or empty line, at which uvicorn forgets for ever that it waits.
    """

    limits = LimitSettings()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = 0  # bytes since the head began, or since the last piece of a body: what follows that is trailers
        self._head_since: float | None = None
        self._idle_until: float | None = None  # since the last answer no head has begun: closed then
        self._unread = 0
        self._watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody connected."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.max_connections:
            transport.write(_TOO_MANY)
            transport.close()
            return
        self._head_since = self.loop.time()
        self._watch = self.loop.call_later(self.limits.header_timeout_s, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close where a head takes too long, or nothing comes after an answer. One timer a connection, for requests
        come thousands a second."""
        if self.transport.is_closing():
            return
        since, now = self._head_since, self.loop.time()
        if since is not None and now - since >= self.limits.header_timeout_s:
            self.transport.write(_TOO_SLOW)
            self.transport.close()
            return
        if self._idle_until is not None and now >= self._idle_until:
            self.transport.close()
            return
        due = (now if since is None else since) + self.limits.header_timeout_s
        self._watch = self.loop.call_at(due if self._idle_until is None else min(due, self._idle_until), self._look)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        self._head += len(data)
        super().data_received(data)
        # Looked at afterwards: a body that came with its headers in one piece is no head.
        if self._head > MAX_HEAD_BYTES and not self.transport.is_closing():
            body = _BODY % MAX_HEAD_BYTES
            self.transport.write(_REFUSAL % (len(body), body))
            self.transport.close()

    def on_message_begin(self) -> None:
        """A request's first byte."""
        self._head_since = self.loop.time()
        self._idle_until = None
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The empty line after the headers."""
        self._head_since = self._idle_until = None
        self._head = self._unread = 0
        super().on_headers_complete()
        self.headers = []  # trailers land here. Attack: as headers of the request, which no proxy before us has seen

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._head = 0
        super().on_body(body)
        if self.cycle.response_complete:
            self._unread += len(body)
            if self._unread > MAX_UNREAD_BYTES:
                self.transport.close()

    def on_message_complete(self) -> None:
        """The request's last byte: what comes next is another one's head."""
        self._head = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer's last byte was written."""
        if not self.pipeline:
            # `more_body`: the request's own rest comes first, and nobody waits for it as long as for another request.
            patience = self.limits.header_timeout_s if self.cycle.more_body else float(self.timeout_keep_alive)
            self._idle_until = self.loop.time() + patience
        super().on_response_complete()
