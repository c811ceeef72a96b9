"""The order in which lines are scored: as they stand, checked or not, or with the members of each group together.

Verifiers of groups need each group whole. Either its rows stand together in the input, which is checked before any
work, or they are brought together by a sort on disk; both in constant memory.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.read import START, Inputs, Line, Place, read_lines
from rewarden_server.studies.rescore.sort import ExternalSort

GroupOf = Callable[[Line], str | None]
"""The name of a line's group; None for a line without one, or one that cannot be read."""

Cookie = tuple[int, ...]
"""The place to go on reading, JSON-ready; its meaning is the order's own."""

_KEY = 16
_ROW = struct.Struct(">Q")
_LINE = struct.Struct("<IQ?")
_SHOWN = 80


class Order(Protocol):
    """A way through the input."""

    def lines(self, start: Cookie | None) -> Iterator[tuple[Line, Cookie]]:
        """The lines after a cookie (None: all), each with the cookie after it."""

    def share(self, cookie: Cookie) -> float:
        """Returns the share of the input that lies before the cookie, from 0 to 1."""


class AsItStands:
    """The input's own order."""

    def __init__(self, inputs: Inputs, limit: int) -> None:
        self._inputs = inputs
        self._limit = limit
        sizes = inputs.sizes()
        self._before = [sum(sizes[:index]) for index in range(len(sizes) + 1)]

    def lines(self, start: Cookie | None) -> Iterator[tuple[Line, Cookie]]:
        """See `Order`."""
        return read_lines(self._inputs, START if start is None else Place(*start), self._limit)

    def share(self, cookie: Cookie) -> float:
        """See `Order`: by bytes on disk."""
        total = self._before[-1]
        place = Place(*cookie)
        return min(1.0, (self._before[place.file] + place.packed) / total) if total else 1.0


class Sorted:
    """Groups together, within a group in the input's order; lines without a group stand by themselves."""

    def __init__(self, folder: Path, memory_mb: int) -> None:
        self._sort = ExternalSort(folder, _KEY + _ROW.size, memory_mb)
        self._count = folder / "count"

    def prepare(self, lines: Iterator[tuple[Line, Cookie]], group_of: GroupOf) -> None:
        """Sort, unless an earlier run has done so."""
        if self._sort.complete:
            return
        rows = 0
        for line, _ in lines:
            rows += 1
            group = None if line.fault is not None else group_of(line)
            key = digest(f"@{line.row}" if group is None else f"={group}")
            payload = _LINE.pack(line.file, line.number, line.fault is not None)
            fault = b"" if line.fault is None else line.fault.encode()
            self._sort.add(key + _ROW.pack(line.row), payload + struct.pack("<I", len(fault)) + fault + line.data)
        self._count.write_text(str(rows))
        self._sort.close()

    def lines(self, start: Cookie | None) -> Iterator[tuple[Line, Cookie]]:
        """See `Order`. A cookie is the number of lines before it."""
        skip = 0 if start is None else start[0]
        for position, (key, payload) in enumerate(self._sort, 1):
            if position <= skip:
                continue
            file, number, faulty = _LINE.unpack_from(payload)
            (length,) = struct.unpack_from("<I", payload, _LINE.size)
            data = payload[_LINE.size + 4 :]
            (row,) = _ROW.unpack_from(key, _KEY)
            fault = data[:length].decode() if faulty else None
            yield Line(file, number, row, data[length:], fault), (position,)

    def share(self, cookie: Cookie) -> float:
        """See `Order`: by lines."""
        total = int(self._count.read_text())
        return cookie[0] / total if total else 1.0


def check_contiguous(
    lines: Iterator[tuple[Line, Cookie]], group_of: GroupOf, names: tuple[str, ...], folder: Path, memory_mb: int
) -> None:
    """Raises RescoreError, naming the first group that comes again after another one, and `--sort`."""
    starts = ExternalSort(folder, _KEY + _ROW.size, memory_mb)
    last: str | None = None
    for line, _ in lines:
        if line.fault is not None:
            continue
        group = group_of(line)
        if group is not None and group != last:
            payload = _LINE.pack(line.file, line.number, False) + group[:_SHOWN].encode("utf-8", "replace")
            starts.add(digest(f"={group}") + _ROW.pack(line.row), payload)
        last = group
    starts.close()
    found: tuple[int, bytes, bytes] | None = None
    before, before_payload = b"", b""
    for key, payload in starts:
        (row,) = _ROW.unpack_from(key, _KEY)
        if key[:_KEY] == before and (found is None or row < found[0]):
            found = (row, before_payload, payload)
        before, before_payload = key[:_KEY], payload
    if found is not None:
        first, again = (_LINE.unpack_from(payload) for payload in found[1:])
        name = found[1][_LINE.size :].decode()
        raise RescoreError(
            f"the rows of group {name!r} are not adjacent ({names[first[0]]}:{first[1]}, {names[again[0]]}:{again[1]}) "
            "and a verifier judges groups: add --sort to bring groups together, or name a column that tells them "
            "apart with --group"
        )


def digest(name: str) -> bytes:
    """Sixteen bytes that stand for a name."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_KEY).digest()
