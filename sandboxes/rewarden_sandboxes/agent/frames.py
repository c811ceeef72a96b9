"""Frames between host and supervisor: a JSON header, followed by the bytes that the header refers to.

`>IQ` (length of the header, length of the body), header, body. In a header, bytes are `[offset, length]` of the body.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any

PREFIX = struct.Struct(">IQ")
MAX_HEADER = 16 * 1024**2
MAX_BODY = 512 * 1024**2

WINDOW = 1 << 20
"""The flow control window of a session: bytes in flight in each direction that the reader has not acknowledged."""


class FrameError(Exception):
    """The other side sent something that is not a frame, or disconnected."""


class Body:
    """A frame's body, while it is built."""

    def __init__(self) -> None:
        self.parts: list[bytes | memoryview] = []
        self.size = 0

    def add(self, data: bytes | memoryview) -> list[int]:
        """Appends bytes. Returns their place, [offset, length]."""
        place = [self.size, len(data)]
        if data:
            self.parts.append(data)
            self.size += len(data)
        return place


def pack(header: dict[str, Any], body: Body | None = None) -> list[bytes | memoryview]:
    """Returns a frame, in pieces to write in order."""
    head = json.dumps(header, separators=(",", ":")).encode()
    size = body.size if body is not None else 0
    return [PREFIX.pack(len(head), size) + head, *(body.parts if body is not None else ())]


def check(head: int, size: int, max_body: int = MAX_BODY) -> None:
    """Raises FrameError for lengths that are too large."""
    if head > MAX_HEADER or size > max_body:
        raise FrameError(f"a frame of {head} + {size} bytes is too large")


def view(body: bytes, place: Sequence[int]) -> bytes:
    """Returns the bytes at a place. Raises FrameError for a place outside the body."""
    return body[_range(body, place)]


def window(body: bytes, place: Sequence[int]) -> memoryview:
    """The same, without a copy."""
    return memoryview(body)[_range(body, place)]


def _range(body: bytes, place: Sequence[int]) -> slice:
    offset, length = place
    if not (isinstance(offset, int) and isinstance(length, int)) or offset < 0 or length < 0:
        raise FrameError("a place must be [offset, length]")
    if offset + length > len(body):
        raise FrameError("a place lies outside of its body")
    return slice(offset, offset + length)


def receive(
    channel: socket.socket, announced: Callable[[int], None] = lambda size: None
) -> tuple[dict[str, Any], bytes]:
    """Reads the next frame from a blocking socket. Raises FrameError at its end. `announced` is called with the size of
    the body before the body is read.
    """
    head, size = PREFIX.unpack(_exactly(channel, PREFIX.size))
    check(head, size)
    announced(size)
    header = json.loads(_exactly(channel, head))
    return header, _exactly(channel, size)


def send(channel: socket.socket, header: dict[str, Any], body: Body | None = None) -> None:
    """Writes a frame to a blocking socket."""
    for part in pack(header, body):
        channel.sendall(part)


def _exactly(channel: socket.socket, size: int) -> bytes:
    if size == 0:
        return b""
    data = channel.recv(size, socket.MSG_WAITALL) if size < 1 << 20 else b""
    if len(data) == size:
        return data
    buffer = bytearray(data)
    while len(buffer) < size:
        part = channel.recv(min(size - len(buffer), 1 << 20))
        if not part:
            raise FrameError("the other side is gone")
        buffer += part
    return bytes(buffer)
