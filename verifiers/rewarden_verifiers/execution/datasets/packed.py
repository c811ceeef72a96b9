"""Reads fields that hold JSON in its published form: as text, or as base64 of zlib of JSON or of a pickled JSON text.

A pickle is a program, and is never run here. Only a pickle of a single string is accepted, and the string is read from
its opcodes; any other pickle is rejected.
"""

from __future__ import annotations

import base64
import binascii
import json
import pickletools
import zlib
from typing import Any

MAX_BYTES = 256 * 1024**2
"""The maximum unpacked size of a packed text. The largest tests of public data sets have about 100 MB."""

_TEXTS = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"})
_IDLE = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})
"""Opcodes that create no object."""


def read_json(text: str, max_bytes: int = MAX_BYTES) -> Any:
    """Returns the JSON in a text. max_bytes: the maximum unpacked size; 0 rejects packed texts. Raises ValueError, with
    a message that follows a field's name.
    """
    try:
        return _loads(text)
    except ValueError as error:
        packed = _unpacked(text, max_bytes) if max_bytes else None
        if packed is None:
            raise ValueError(f"is not JSON: {error}") from None
    return _loads(_text_of_pickle(packed) if packed[:1] == b"\x80" else packed)


def _loads(text: str | bytes) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("is JSON that is nested too deeply") from None


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _unpacked(text: str, max_bytes: int) -> bytes | None:
    """Returns the bytes if the text is base64 of zlib data, else None."""
    try:
        reader = zlib.decompressobj()
        data = reader.decompress(base64.b64decode(text, validate=True), max_bytes)
    except (binascii.Error, ValueError, zlib.error):
        return None
    if reader.unconsumed_tail:
        raise ValueError(f"decompresses to more than {max_bytes / 1024**2:g} MiB")
    return data if reader.eof else None


def _text_of_pickle(data: bytes) -> str:
    """Returns the text in a pickle of a single string. Raises ValueError for any other pickle.

    Attack: a pickle that runs code when it is loaded.
    """
    texts: list[str] = []
    try:
        for operation, argument, _ in pickletools.genops(data):
            if operation.name in _TEXTS:
                texts.append(str(argument))
            elif operation.name not in _IDLE:
                raise ValueError(operation.name)
        [text] = texts
    except ValueError:
        raise ValueError("is a pickle of something other than one text, which is not read: it can run code") from None
    return text
