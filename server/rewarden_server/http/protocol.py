"""HTTP/1.1 as uvicorn speaks it, with a bound on what stands before a body."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024
"""Of a request's line and headers together; over it is 431, and the connection is closed."""

_REFUSAL = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s"
)
_BODY = b'{"error": {"code": "too_large", "message": "the headers have more than %d bytes", "details": {}}}'


class BoundedProtocol(HttpToolsProtocol):
    """Attack: headers without end, which would be kept in memory before any key is looked at."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = 0
        self._in_head = True

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._in_head:
            self._head += len(data)
        super().data_received(data)
        # Looked at afterwards: a body that came with its headers in one piece is no head.
        if self._in_head and self._head > MAX_HEAD_BYTES and not self.transport.is_closing():
            body = _BODY % MAX_HEAD_BYTES
            self.transport.write(_REFUSAL % (len(body), body))
            self.transport.close()

    def on_message_begin(self) -> None:
        """A request's first byte."""
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The empty line after the headers."""
        self._in_head = False
        self._head = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request's last byte: what comes next is another one's head."""
        self._in_head = True
        self._head = 0
        super().on_message_complete()
