"""A row of a file that holds rows and not lines: Parquet, Arrow, CSV, a list in JSON, a log of Inspect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

_SHOWN = 1000
"""Bytes of an overlong row that are kept for the report."""

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row: its place in the file (from 0), its JSON object, or why there is none.

    `after`: how many rows lie before the next one; of a damaged part of the file there is one fault, and `after` lies
    behind the part. `share`: of the file, from 0 to 1, that lies before the next row.
    """

    row: int
    after: int
    share: float
    data: bytes
    fault: str | None = None


def file_row(row: int, share: float, values: Mapping[str, Any], limit: int) -> FileRow:
    """A row of these values. A row of more than `limit` bytes is a fault, and so is one that JSON cannot hold."""
    data, fault = _line(values, limit)
    return FileRow(row, row + 1, share, data, fault)


def _line(values: Mapping[str, Any], limit: int) -> tuple[bytes, str | None]:
    try:
        data = _encode(values)
    except UnicodeEncodeError:
        bad = next(name for name, value in values.items() if not _sayable(value))
        shown = {name: value for name, value in values.items() if _sayable(value)}
        return _encode(shown), f"column {bad!r} holds a string that is not UTF-8"
    if len(data) > limit:
        return data[:_SHOWN], f"the row has {len(data)} bytes as JSON; the limit is {limit}"
    return data, None


def _sayable(value: Any) -> bool:
    try:
        _encode(value)
    except UnicodeEncodeError:
        return False
    return True
