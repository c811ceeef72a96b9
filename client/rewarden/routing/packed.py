"""JSON as data sets keep it in a text: plain, or packed as base64 of zlib. Never pickles."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

from rewarden.columns import only

MAX_BYTES = 256 * 1024**2
"""The largest size that a packed text may unpack to: the largest tests of public data sets have some 100 MB."""

_PIECE = 1024**2
_PICKLED = (
    "is compressed, but not JSON. A pickle is not read, because it can run code; store the tests as JSON, or as "
    "base64 of zlib-compressed JSON"
)


def read_json(value: Any) -> Any:
    """The JSON in a text, or in a list of one text; what is no text is as it should be. Raises ValueError."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]
    if isinstance(value, (bytes, str)):
        try:
            return json.loads(value, parse_constant=_refuse)
        except RecursionError:
            raise ValueError("is JSON that is nested too deeply") from None
        except ValueError as error:
            unpacked = _unpacked(value)
            if unpacked is None:
                raise ValueError(f"is not JSON: {error}") from None
        try:
            return json.loads(unpacked, parse_constant=_refuse)
        except (ValueError, RecursionError):
            raise ValueError(_PICKLED) from None
    return value


def check_size(value: Any, max_bytes: int) -> None:
    """Raises ValueError for a packed text that unpacks to more; it is counted piece by piece, and never held whole."""
    value = only(value)
    if not isinstance(value, (bytes, str)) or value[:1] in ("[", "{", b"[", b"{"):
        return
    try:
        rest = base64.b64decode(value, validate=True)
        reader, count = zlib.decompressobj(), 0
        while rest and not reader.eof:
            count += len(reader.decompress(rest, _PIECE))
            if count > max_bytes:
                raise ValueError(f"decompresses to more than {max_bytes / 1024**2:g} MiB")
            rest = reader.unconsumed_tail
    except (binascii.Error, zlib.error, UnicodeError):
        return  # not packed


def _unpacked(value: bytes | str) -> bytes | None:
    """Returns the bytes in base64 of zlib, or None where the value is something else. Raises ValueError for pickles,
    and for too many bytes."""
    try:
        packed = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    if packed[:1] == b"\x80":  # as pickles begin, and no zlib
        raise ValueError(_PICKLED)
    reader = zlib.decompressobj()
    try:
        data = reader.decompress(packed, MAX_BYTES)
    except zlib.error:
        return None
    if reader.unconsumed_tail:
        raise ValueError(f"decompresses to more than {MAX_BYTES // 1024**2} MiB")
    return data if reader.eof else None


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")
