"""Length-prefixed frames on a stream socket. What a worker sends is untrusted: sizes are bounded."""

from __future__ import annotations

import struct

_HEADER = struct.Struct("<I")
MAX_FRAME = 512 * 1024**2


def pack(payload: bytes) -> bytes:
    """Returns a frame around a payload."""
    return _HEADER.pack(len(payload)) + payload


class FrameReader:
    """Cuts a byte stream into payloads. Raises ValueError for a frame over `limit`: the peer must not be trusted any
    more."""

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._buffer = bytearray()
        self._limit = limit

    def feed(self, data: bytes) -> list[bytes]:
        """Returns the payloads that are complete."""
        buffer = self._buffer
        buffer += data
        found: list[bytes] = []
        at = 0
        while len(buffer) - at >= 4:
            (size,) = _HEADER.unpack_from(buffer, at)
            if size > self._limit:
                raise ValueError(f"a frame of {size} bytes is over the limit of {self._limit}")
            if len(buffer) - at - 4 < size:
                break
            found.append(bytes(buffer[at + 4 : at + 4 + size]))
            at += 4 + size
        if at:
            del buffer[:at]
        return found
