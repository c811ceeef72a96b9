"""Arrow's own files to rows: folders that `datasets` saves, its cache, Feather."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rewarden_server.studies.rescore.arrow import load_pyarrow, rows_of
from rewarden_server.studies.rescore.file_row import FileRow, file_row

SUFFIXES = (".arrow", ".feather")
_FILE_MAGIC = b"ARROW1"
_BATCH_ROWS = 128


def is_arrow(path: Path) -> bool:
    """Returns whether a file is named as Arrow's are."""
    return path.suffix in SUFFIXES


def belongs_to_dataset(path: Path) -> bool:
    """Returns whether an Arrow file is part of the data set in its folder: caches lie beside a `state.json` too, which
    names the parts.
    """
    state = path.with_name("state.json")
    try:
        parts = json.loads(state.read_bytes())["_data_files"]
        return path.name in {part["filename"] for part in parts}
    except (OSError, ValueError, KeyError, TypeError):
        return True


def arrow_rows(path: Path, first: int, limit: int) -> Iterator[FileRow]:
    """The rows from the row `first` on. What cannot be read, and what follows it, is one fault."""
    pa = load_pyarrow()
    size = max(path.stat().st_size, 1)
    row = 0
    try:
        with path.open("rb") as file, contextlib.closing(pa.PythonFile(file, mode="r")) as source:
            for batch in _batches(pa, file, source):
                if row + len(batch) <= first:
                    row += len(batch)
                    continue
                for begin in range(0, len(batch), _BATCH_ROWS):
                    for values in rows_of(batch.slice(begin, _BATCH_ROWS)):
                        if row >= first:
                            yield file_row(row, min(1.0, file.tell() / size), values, limit)
                        row += 1
    except (OSError, ValueError, NotImplementedError) as error:
        if row >= first:
            yield FileRow(row, row + 1, 1.0, b"", f"the Arrow file cannot be read after row {row}: {error}")


def _batches(pa: Any, file: Any, source: Any) -> Iterator[Any]:
    whole = file.read(len(_FILE_MAGIC)) == _FILE_MAGIC
    file.seek(0)
    if not whole:
        yield from pa.ipc.open_stream(source)
        return
    opened = pa.ipc.open_file(source)
    yield from (opened.get_batch(index) for index in range(opened.num_record_batches))
