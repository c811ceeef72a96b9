"""Parquet files to lines: each row as the JSON object that a line would hold, in constant memory.

Pages are read as they are needed and a few rows are held at a time. A row group that is damaged is a fault, and the
next one is read; so is a row that cannot be said in JSON.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rewarden_server.studies.rescore.arrow import load_pyarrow, rows_of
from rewarden_server.studies.rescore.file_row import FileRow, file_row

MAGIC = b"PAR1"
SUFFIXES = (".parquet", ".pq", ".parq")
_BATCH_ROWS = 128
_PAGE_BUFFER = 1024**2
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


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


def parquet_rows(path: Path, first: int, limit: int, partition: Mapping[str, str | None]) -> Iterator[FileRow]:
    """The rows from the row `first` on; `partition` are columns that the file's folders name.

    A row of more than `limit` bytes is a fault. What the file holds never raises.
    """
    try:
        opened = open_parquet(path)
    except (OSError, ValueError) as error:
        if first == 0:  # else it was told already
            yield FileRow(0, 1, 1.0, b"", f"the Parquet file cannot be read: {error}")
        return
    with contextlib.closing(opened) as file:
        total = file.metadata.num_rows
        for begin, end, batch in read_batches(file, first):
            if isinstance(batch, Exception):
                yield FileRow(begin, end, end / total, b"", f"rows {begin + 1} to {end} cannot be read: {batch}")
                continue
            for row, values in enumerate(rows_of(batch), begin):
                if row >= first:
                    yield file_row(row, (row + 1) / total, {**partition, **values}, limit)


def partition_of(name: str) -> dict[str, str | None]:
    """Columns named by a file's folders, as Hive writes them: `lang=en/step=10/part-0.parquet`."""
    found: dict[str, str | None] = {}
    for folder in name.split("/")[:-1]:
        column, equals, value = folder.partition("=")
        if equals and column:
            found[unquote(column)] = None if value == _NO_VALUE else unquote(value)
    return found
