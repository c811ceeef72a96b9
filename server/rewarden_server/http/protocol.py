"""uvicorn's HTTP/1.1 protocol, with limits on the size and time of a request's head."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from rewarden_server.intake.settings import LimitSettings

MAX_HEAD_BYTES = 64 * 1024
"""The limit on request line and headers together. Above it the server responds with 431 and closes the connection."""

MAX_UNREAD_BYTES = 64 * 1024**2
"""Bytes of a body that are still accepted after the response, if it was sent before the whole body arrived, for up to
`limits.header_timeout_s`, so that the sender can read the response. Then the connection is closed."""

_REFUSAL = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s"
)
_BODY = b'{"error": {"code": "too_large", "message": "the headers have more than %d bytes", "details": {}}}'


_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n"


def bounded_protocol(given: LimitSettings) -> type[BoundedProtocol]:
    """Returns the protocol class with these limits: uvicorn makes an instance for each connection, without arguments of
    ours."""

    class Bounded(BoundedProtocol):
        limits = given

    return Bounded


class BoundedProtocol(HttpToolsProtocol):
    """A protocol that stops these attacks: headers or trailers without end, which would be kept in memory before a key
    is checked; headers that arrive a byte a minute, or not at all, on as many connections as there are descriptors;
    after a response, the rest of a body that never ends, or a single byte or empty line, after which uvicorn no longer
    closes an idle connection."""

    limits = LimitSettings()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = 0  # bytes since the head began, or since the last piece of a body, which is followed by trailers
        self._head_since: float | None = None
        self._idle_until: float | None = None  # set after a response, until the next head begins: the time to close
        self._unread = 0
        self._watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client connected."""
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
        """Closes the connection if a head takes too long, or if no request follows a response. Each connection has a
        single timer, because thousands of requests arrive each second."""
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
        """Data arrived."""
        self._head += len(data)
        super().data_received(data)
        # Checked afterwards: a body that arrives together with its headers is not part of the head.
        if self._head > MAX_HEAD_BYTES and not self.transport.is_closing():
            body = _BODY % MAX_HEAD_BYTES
            self.transport.write(_REFUSAL % (len(body), body))
            self.transport.close()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._head_since = self.loop.time()
        self._idle_until = None
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The headers are complete."""
        self._head_since = self._idle_until = None
        self._head = self._unread = 0
        super().on_headers_complete()
        if not self._upgrades():
            self.headers = []  # trailers land here. Attack: trailers as headers, which a proxy in front never saw

    def _upgrades(self) -> bool:
        """Returns whether the head that was read asks for a WebSocket: then uvicorn's other protocol takes over."""
        return bool(self.parser.should_upgrade()) and self._should_upgrade()

    def handle_websocket_upgrade(self) -> None:
        """Hands the connection over to the WebSocket's protocol. Attack: a handshake with a body, another method than
        GET, or more headers than that protocol reads. It stops there without an answer, leaves the connection open
        forever, and raises when the server shuts down."""
        given = {name for name, _ in self.scope["headers"]}
        if self.scope["method"] != "GET" or given & {b"content-length", b"transfer-encoding"}:
            self.send_400_response("A WebSocket begins with GET, and without a body.")
            return
        super().handle_websocket_upgrade()
        taken = [each for each in self.connections if isinstance(each, WebSocketsSansIOProtocol)]
        if not all(each.handshake_initiated for each in taken if each.transport is self.transport):
            self.send_400_response("The head is not one of a WebSocket.")

    def on_body(self, body: bytes) -> None:
        """A piece of the body arrived."""
        self._head = 0
        super().on_body(body)
        if self._upgrades():
            return
        if self.cycle.response_complete:
            self._unread += len(body)
            if self._unread > MAX_UNREAD_BYTES:
                self.transport.close()

    def on_message_complete(self) -> None:
        """The request is complete: further data belongs to the next head."""
        self._head = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The response is complete."""
        if not self.pipeline:
            # `more_body`: the rest of this request's body comes first, and has less time than the next request.
            patience = self.limits.header_timeout_s if self.cycle.more_body else float(self.timeout_keep_alive)
            self._idle_until = self.loop.time() + patience
        super().on_response_complete()
