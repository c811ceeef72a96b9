"""The first rows of a trainer's data set: JSON lines, a JSON list, CSV, Parquet, or a folder of `datasets`."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from rewarden.errors import InvalidRequest

Row = dict[str, Any]


def read_rows(path: Path, most: int) -> list[Row]:
    """Returns at most so many rows. Raises InvalidRequest for a file that holds no rows, and OSError."""
    rows = list(itertools.islice(_rows(path), most))
    if not rows:
        raise InvalidRequest(f"{path}: has no rows")
    return rows


def _rows(path: Path) -> Iterator[Row]:
    if path.is_dir():
        return _of_folder(path)
    if path.suffix == ".parquet":
        return _of_parquet(path)
    if path.suffix == ".arrow":
        return _of_arrow(path)
    return _of_csv(path) if path.suffix == ".csv" else _of_json(path)


def _of_json(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as file:
        first = file.read(1)
        while first.isspace():
            first = file.read(1)
        file.seek(0)
        if first == "[":
            for place, value in enumerate(_parsed(file.read(), path, "a JSON list")):
                yield _row(value, f"{path}: row {place}")
            return
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield _row(_parsed(line, path, f"line {number}"), f"{path}:{number}")


def _parsed(text: str, path: Path, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"{path}: {what} is not valid JSON: {error}") from None


def _row(value: Any, where: str) -> Row:
    if not isinstance(value, dict):
        raise InvalidRequest(f"{where}: a row must be an object")
    return value


def _of_csv(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _of_parquet(path: Path) -> Iterator[Row]:
    for batch in _pyarrow("pyarrow.parquet").ParquetFile(path).iter_batches(batch_size=256):
        yield from batch.to_pylist()


def _of_arrow(path: Path) -> Iterator[Row]:
    with _pyarrow("pyarrow.ipc").open_stream(str(path)) as batches:
        for batch in batches:
            yield from batch.to_pylist()


def _of_folder(path: Path) -> Iterator[Row]:
    """Rows of `save_to_disk`: of the split `train` if there are several, or of Parquet files."""
    for pattern in ("*.arrow", "train/*.arrow", "*.parquet", "train*/*.parquet", "data/train*.parquet", "*/*.arrow"):
        if files := sorted(path.glob(pattern)):
            return itertools.chain.from_iterable(map(_rows, files))
    raise InvalidRequest(f"{path}: contains neither Arrow files (save_to_disk) nor Parquet files")


def _pyarrow(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise InvalidRequest("Parquet and Arrow files need pyarrow: pip install pyarrow (or give JSON lines)") from None
