"""Files to lines: JSON lines, plain, gzip or zstd, and files of rows (Parquet, Arrow, lists in JSON, CSV, logs of
Inspect); one, several, directories.

Memory stays constant: no file is read whole but a log of Inspect in JSON, and a line over the limit is passed over, not
held.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rewarden_server.studies.rescore import hub
from rewarden_server.studies.rescore.arrow import load_pyarrow
from rewarden_server.studies.rescore.arrow_stream import arrow_rows, belongs_to_dataset, is_arrow
from rewarden_server.studies.rescore.file_row import FileRow
from rewarden_server.studies.rescore.inspect_log import inspect_rollouts, is_inspect
from rewarden_server.studies.rescore.json_list import is_list, list_rows
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.parquet import MAGIC, SUFFIXES, parquet_rows, partition_of
from rewarden_server.studies.rescore.separated import is_separated, separated_rows
from rewarden_server.studies.rescore.unpacked import DAMAGES, unpacked

_NAME = re.compile(r"\.((jsonl|ndjson)(\.gz|\.zst|\.zstd)?|parquet|parq|pq)$")
_OTHER_NAME = re.compile(r"\.((json|csv|tsv)(\.gz|\.zst|\.zstd)?|arrow|feather|eval)$")
_OURS = re.compile(r"\.(rejected|check)\.jsonl$")
_HEAD = 64 * 1024
LONGEST_LINE = 64 * 1024**2
"""Bytes of the longest line that is read, unless a command has its own limit."""
_SHOWN = 1000
"""Bytes of an overlong line that are kept for the report."""

WORK_SUFFIX = ".rescore"
"""The folder beside the output that holds all of an unfinished run."""


class Place(NamedTuple):
    """The place to go on reading: the file, the unpacked byte and the number of lines before it, and rows so far.

    Of files of rows, `offset` counts rows. `packed` is how many bytes of the file on disk were read, for progress.
    """

    file: int = 0
    offset: int = 0
    lines: int = 0
    rows: int = 0
    packed: int = 0


START = Place()


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank, or a row. `number` counts from 1 in its file, `row` from 0 over the input.

    `fault` is why the line cannot be read, where it cannot; `data` is then what is known of it.
    """

    file: int
    number: int
    row: int
    data: bytes
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files of an input. `root` is the one file, or the folder that holds them all."""

    root: Path
    files: tuple[Path, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The files' names as users know them: relative to the directory."""
        if self.root.is_dir():
            return tuple(path.relative_to(self.root).as_posix() for path in self.files)
        return (self.root.name,)

    def sizes(self) -> list[int]:
        """The files' sizes in bytes on disk."""
        return [path.stat().st_size for path in self.files]

    def identity(self) -> list[dict[str, Any]]:
        """Returns the identity of each file: name, size, time of change, hash of its head."""
        found = []
        for name, path in zip(self.names, self.files, strict=True):
            with path.open("rb") as file:
                head = hashlib.blake2b(file.read(_HEAD), digest_size=16).hexdigest()
            status = path.stat()
            found.append({"name": name, "size": status.st_size, "mtime_ns": status.st_mtime_ns, "head": head})
        return found


def is_parquet(path: Path) -> bool:
    """Returns whether a file is named or begins as Parquet is."""
    if path.suffix in SUFFIXES:
        return True
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def find_inputs(paths: Path | Sequence[Path]) -> Inputs:
    """The input's files: as given, those of a directory in natural order (`2.jsonl` before `10.jsonl`).

    Raises RescoreError when there is none, or one is Parquet and pyarrow is missing.
    """
    each = [hub.download(path) if hub.is_hub_name(path) else path for path in _listed(paths)]
    files = list(dict.fromkeys(file for path in each for file in _files(path)))
    if any(is_parquet(file) or is_arrow(file) for file in files):
        load_pyarrow()
    if len(each) == 1:
        return Inputs(each[0], tuple(files))
    root = Path(os.path.commonpath([path.absolute() for path in files]))
    return Inputs(root if len(files) > 1 else root.parent, tuple(path.absolute() for path in files))


def _listed(paths: Path | Sequence[Path]) -> list[Path]:
    return [paths] if isinstance(paths, Path) else list(paths)


def _files(path: Path) -> list[Path]:
    """A file, or those in a directory. Files of other kinds lie beside rollouts for many reasons (metrics in CSV,
    settings in JSON): they count only if there is nothing else.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise RescoreError(f"there is no file or directory {str(path)!r}")
    each = [file for file in path.rglob("*") if file.is_file() and not _is_hidden(file.relative_to(path).parts)]
    found = [file for file in each if _NAME.search(file.name) and not _OURS.search(file.name)]
    found = found or [file for file in each if _OTHER_NAME.search(file.name) and _holds_rows(file)]
    if not found:
        raise RescoreError(
            f"{str(path)!r} holds no *.jsonl, *.ndjson (also .gz, .zst), *.parquet, *.arrow, *.csv or *.tsv files, no "
            "lists in *.json and no logs of Inspect"
        )
    return sorted(found, key=lambda file: _natural(file.relative_to(path).as_posix()))


def _is_hidden(parts: Sequence[str]) -> bool:
    return any(part.startswith(".") or part.endswith(WORK_SUFFIX) for part in parts)


def _holds_rows(file: Path) -> bool:
    if is_arrow(file):
        return belongs_to_dataset(file)
    return is_separated(file) or is_list(file) or is_inspect(file)


def _natural(name: str) -> list[Any]:
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in re.split(r"(\d+)", name)]


def read_lines(inputs: Inputs, start: Place = START, limit: int = LONGEST_LINE) -> Iterator[tuple[Line, Place]]:
    """The lines from a place on, each with the place after it. Lines of more than `limit` bytes are faults.

    A compressed file that breaks off is a fault too, after the last whole line; the next file follows. So is a row
    group of Parquet that is damaged; the next group follows.
    """
    rows = start.rows
    for index in range(start.file, len(inputs.files)):
        here = start if index == start.file else Place(index, rows=rows)
        path = inputs.files[index]
        found = _file_rows(path, inputs.names[index], here.offset, limit)
        lines = _file_lines(path, here, limit) if found is None else _row_lines(path, found, here)
        for line, place in lines:
            rows = place.rows
            yield line, place


def holds_lines(path: Path) -> bool:
    """Returns whether a file holds JSON lines, which an output copies byte for byte."""
    return not (is_parquet(path) or is_arrow(path) or is_separated(path) or is_inspect(path) or is_list(path))


def _file_rows(path: Path, name: str, first: int, limit: int) -> Iterator[FileRow] | None:
    """The rows of a file that holds rows, from the row `first` on; None for a file of lines."""
    if is_parquet(path):
        return parquet_rows(path, first, limit, partition_of(name))
    if is_arrow(path):
        return arrow_rows(path, first, limit)
    if is_separated(path):
        return separated_rows(path, first, limit)
    if is_inspect(path):
        return inspect_rollouts(path, first, limit)
    return list_rows(path, first, limit) if is_list(path) else None


def _file_lines(path: Path, here: Place, limit: int) -> Iterator[tuple[Line, Place]]:
    index, offset, lines, rows, _ = here
    with path.open("rb") as raw, contextlib.closing(unpacked(raw)) as stream:
        try:
            _skip(stream, offset, packed=stream is not raw)
            while True:
                data = stream.readline(limit + 1)
                if not data:
                    return
                length, fault = len(data), None
                if length > limit and not data.endswith(b"\n"):
                    length += _pass_over(stream)
                    data, fault = data[:_SHOWN], f"the line has {length} bytes; the limit is {limit}"
                if offset == 0:
                    data = data.removeprefix(b"\xef\xbb\xbf")
                offset += length
                lines += 1
                data = data.strip(b" \t\r\n")
                if data:
                    place = Place(index, offset, lines, rows + 1, raw.tell())
                    yield Line(index, lines, rows, data, fault), place
                    rows += 1
        except DAMAGES as error:
            fault = f"the compressed file is truncated or damaged after line {lines}: {error}"
            yield Line(index, lines + 1, rows, b"", fault), Place(index + 1, rows=rows + 1)


def _row_lines(path: Path, each: Iterator[FileRow], here: Place) -> Iterator[tuple[Line, Place]]:
    size, rows = path.stat().st_size, here.rows
    for found in each:
        place = Place(here.file, found.after, found.after, rows + 1, int(size * found.share))
        yield Line(here.file, found.row + 1, rows, found.data, found.fault), place
        rows += 1


def _skip(stream: BinaryIO, offset: int, *, packed: bool) -> None:
    if not packed:
        stream.seek(offset)
        return
    while offset:
        piece = stream.read(min(offset, 1024**2))
        if not piece:
            return
        offset -= len(piece)


def _pass_over(stream: BinaryIO) -> int:
    """Read to the end of the line; how many bytes that were."""
    length = 0
    while True:
        piece = stream.readline(1024**2)
        length += len(piece)
        if not piece or piece.endswith(b"\n"):
            return length
