"""Messages of the Language Server Protocol over a stream of bytes: `Content-Length: N`, a blank line, N bytes of JSON.

The stream comes from a process that ran a model's text: anything that is not such a frame is `Nonsense`, and sizes are
checked before anything is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_HEAD = re.compile(rb"(?:[!-9;-~]+: [ -~]*\r\n)*\r\n")
_LENGTH = re.compile(rb"(?:^|\r\n)content-length: ([0-9]{1,12})\r\n", re.IGNORECASE)
_MOST_HEAD = 256


class Nonsense(Exception):
    """The bytes are not a frame, or a frame is larger than permitted."""


class FrameReader:
    """Cuts a stream into the bodies of frames. Keeps at most one frame of `most` bytes and the bytes that arrived with
    it."""

    __slots__ = ("_buffer", "_most", "_wanted")

    def __init__(self, most: int) -> None:
        self._most = most
        self._buffer = bytearray()
        self._wanted: int | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Returns the bodies that these bytes complete. Raises Nonsense."""
        self._buffer += data
        while True:
            if self._wanted is None:
                self._wanted = self._head()
                if self._wanted is None:
                    return
            if len(self._buffer) < self._wanted:
                return
            body = bytes(self._buffer[: self._wanted])
            del self._buffer[: self._wanted]
            self._wanted = None
            yield body

    def _head(self) -> int | None:
        """Returns the size of the body that follows; None if the head is incomplete."""
        end = self._buffer.find(b"\r\n\r\n", 0, _MOST_HEAD)
        if end < 0:
            if len(self._buffer) >= _MOST_HEAD:
                raise Nonsense("a frame without a head")
            return None
        head = bytes(self._buffer[: end + 4])
        length = _LENGTH.search(head)
        if length is None or _HEAD.fullmatch(head) is None:
            raise Nonsense("a frame's head does not say its length")
        size = int(length[1])
        if size > self._most:
            raise Nonsense(f"a frame of {size} bytes")
        del self._buffer[: end + 4]
        return size


def frame(message: dict[str, Any]) -> bytes:
    """Returns a message as bytes."""
    body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body
