"""Parquet files to lines: each row as the JSON object that a line would hold, in constant memory.

Pages are read as they are needed and a few rows are held at a time. A row group that is damaged is a fault, and the
next one is read; so is a row that cannot be said in JSON.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec

from rewarden_server.studies.rescore.arrow import load_pyarrow, rows_of

MAGIC = b"PAR1"
SUFFIXES = (".parquet", ".pq", ".parq")
_BATCH_ROWS = 128
_PAGE_BUFFER = 1024**2
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class ParquetRow:
    """A row: its place in the file (from 0), its JSON object, or why there is none.

    `after`: how many rows lie before the next one; of a damaged row group there is one fault, and `after` lies behind
    the group. `share`: of the file's rows, from 0 to 1, that lie before the next one.
    """

    row: int
    after: int
    share: float
    data: bytes
    fault: str | None = None


def open_parquet(path: Path) -> Any:
    """A `pyarrow.parquet.ParquetFile` that reads page by page. Raises OSError or ValueError for what is none."""
    load_pyarrow()
    from pyarrow.parquet import ParquetFile

    return ParquetFile(path, pre_buffer=False, buffer_size=_PAGE_BUFFER, memory_map=False)


def read_batches(file: Any, first: int = 0) -> Iterator[tuple[int, int, Any]]:
    """(row of its beginning, rows behind its end, record batch), from the batch on that holds the row `first`.

    Instead of a batch there is the exception where a row group cannot be read (on).
    """
    begin = 0
    for group in range(file.metadata.num_row_groups):
        end = begin + file.metadata.row_group(group).num_rows
        if end > first:
            at = begin
            try:
                for batch in file.iter_batches(_BATCH_ROWS, row_groups=[group], use_threads=False):
                    at += len(batch)
                    if at > first:
                        yield at - len(batch), at, batch
            except (OSError, ValueError, NotImplementedError) as error:
                yield max(at, first), end, error
        begin = end


def parquet_rows(path: Path, first: int, limit: int, partition: Mapping[str, str | None]) -> Iterator[ParquetRow]:
    """The rows from the row `first` on; `partition` are columns that the file's folders name.

    A row of more than `limit` bytes is a fault. What the file holds never raises.
    """
    try:
        opened = open_parquet(path)
    except (OSError, ValueError) as error:
        if first == 0:  # else it was told already
            yield ParquetRow(0, 1, 1.0, b"", f"the Parquet file cannot be read: {error}")
        return
    with contextlib.closing(opened) as file:
        total = file.metadata.num_rows
        for begin, end, batch in read_batches(file, first):
            if isinstance(batch, Exception):
                yield ParquetRow(begin, end, end / total, b"", f"rows {begin + 1} to {end} cannot be read: {batch}")
                continue
            for row, values in enumerate(rows_of(batch), begin):
                if row >= first:
                    data, fault = _line({**partition, **values}, limit)
                    yield ParquetRow(row, row + 1, (row + 1) / total, data, fault)


def _line(values: Mapping[str, Any], limit: int) -> tuple[bytes, str | None]:
    try:
        data = _encode(values)
    except UnicodeEncodeError:
        bad = next(name for name, value in values.items() if not _sayable(value))
        shown = {name: value for name, value in values.items() if _sayable(value)}
        return _encode(shown), f"column {bad!r} holds a string that is not UTF-8"
    if len(data) > limit:
        return data[:1000], f"the row has {len(data)} bytes as JSON; the limit is {limit}"
    return data, None


def _sayable(value: Any) -> bool:
    try:
        _encode(value)
    except UnicodeEncodeError:
        return False
    return True


def partition_of(name: str) -> dict[str, str | None]:
    """Columns named by a file's folders, as Hive writes them: `lang=en/step=10/part-0.parquet`."""
    found: dict[str, str | None] = {}
    for folder in name.split("/")[:-1]:
        column, equals, value = folder.partition("=")
        if equals and column:
            found[unquote(column)] = None if value == _NO_VALUE else unquote(value)
    return found
