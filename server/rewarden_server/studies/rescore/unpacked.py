"""Files that are compressed with gzip or zstd, read as if they were not; their first bytes tell."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import Any, BinaryIO

import zstandard

DAMAGES = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)
"""The errors by which a compressed file shows that it is truncated or damaged."""

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_ZSTD_PIECE = 4096
"""Compressed bytes that are unpacked at a time: a hostile file makes at most some 100 MB of them."""


def unpacked(raw: BinaryIO) -> BinaryIO:
    """A stream of the file's content: the file itself if it is not compressed."""
    head = raw.read(4)
    raw.seek(0)
    if head.startswith(_GZIP):
        return gzip.GzipFile(fileobj=raw, mode="rb")  # type: ignore[return-value]
    if head.startswith(_ZSTD):
        return io.BufferedReader(_Zstd(raw), 256 * 1024)
    return raw


class _Zstd(io.RawIOBase):
    """Unpacks all frames of a file. Unlike the library's reader it notices a frame that breaks off."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._frame: Any = None
        self._packed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._ready:
            if not self._packed:
                self._packed = self._raw.read(_ZSTD_PIECE)
                if not self._packed:
                    if self._frame is not None:
                        raise EOFError("the last zstd frame is incomplete")
                    return 0
            if self._frame is None:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._ready = memoryview(self._frame.decompress(self._packed))
            self._packed = b""
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        size = min(len(target), len(self._ready))
        target[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size
