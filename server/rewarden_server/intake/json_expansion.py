"""The size that a JSON text expands to, estimated before it is parsed.

Attack: `{},` over and over. 256 MiB of it, compressed to 256 KiB, are 89 million objects: 8 GiB, allocated while
nothing else in the process can run, and only then does the number of samples turn out to be too large.
"""

from __future__ import annotations

import re
from typing import Any

from rewarden.errors import TooLarge
from rewarden.wire.json import loads
from rewarden_server.intake.settings import LimitSettings

_NESTING, _TEXT = 4, 1
"""The weights of an object or array, and of a text: an object takes about 200 bytes of memory, a short text about
50."""

_LEAST, _BYTES = 2**22, 8
"""The maximum weight of a JSON text: a constant, or one for each so many bytes of the largest body, whichever is more.
By default that is 8 million objects and arrays, or 33 million texts: 64 objects for each of `limits.max_samples`, a
thousand rows of four texts for each of 4096 samples. Numbers have no weight: token ids are many, and take at most ten
times their size in the text."""

_REST = rb'(?:[^"\\]{1,4096}+|\\.){0,1024}(")?'
"""A part of a string, up to its end if that comes first. Attack: a string of 256 MiB, scanned in one go."""

_WEIGHED = re.compile(rb'[\[{]|"' + _REST, re.DOTALL)
_WITHIN = re.compile(_REST, re.DOTALL)


def read_json(data: bytes | bytearray, limits: LimitSettings) -> Any:
    """Returns the value of a JSON text, as `loads` makes it. Raises TooLarge, before it allocates anything, if the text
    would become too many objects and texts; InvalidRequest."""
    most = max(_LEAST, limits.max_body_bytes // _BYTES)
    if _at_most(data) > most:
        _weigh(data, most)
    return loads(data)


def _at_most(data: bytes | bytearray) -> int:
    """An upper bound that costs next to nothing. Characters within texts, such as LaTeX's braces, count too."""
    if len(data) <= _LEAST // _NESTING:  # whatever they are, they weigh at most this
        return 0
    return _NESTING * (data.count(b"{") + data.count(b"[")) + _TEXT * data.count(b'"') // 2


def _weigh(data: bytes | bytearray, most: int) -> None:
    """Weighs everything outside of texts. Raises TooLarge beyond the limit."""
    weight, quote = 0, ord('"')
    at: int | None = 0
    while at is not None:
        start, at = at, None
        for found in _WEIGHED.finditer(data, start):
            text = data[found.start()] == quote
            weight += _TEXT if text else _NESTING
            if weight > most:
                raise TooLarge(
                    f"the JSON has more than {most // _NESTING} objects and arrays, or {most // _TEXT} strings: send "
                    "several requests, or a stream (this limit grows with limits.max_body_bytes)",
                    limit="max_body_bytes",
                    most=most // _NESTING,
                )
            if text and found.lastindex is None:
                at = _end_of_text(data, found.end())
                break


def _end_of_text(data: bytes | bytearray, at: int) -> int | None:
    """Returns the end of the long string at `at`, or None if it does not end, which is not JSON."""
    while (found := _WITHIN.match(data, at)) is not None and found.end() > at:
        at = found.end()
        if found.lastindex is not None:
            return at
    return None
