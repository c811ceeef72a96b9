"""Files to lines: JSON lines, plain, gzip or zstd, and Parquet (their first bytes tell); one, several, directories.

Memory stays constant: no file is read whole, and a line over the limit is passed over, not held.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import zstandard

from rewarden_server.studies.rescore.arrow import load_pyarrow
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.parquet import MAGIC, SUFFIXES, parquet_rows, partition_of

_NAME = re.compile(r"\.((jsonl|ndjson)(\.gz|\.zst|\.zstd)?|parquet|parq|pq)$")
_OURS = re.compile(r"\.rejected\.jsonl$")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_HEAD = 64 * 1024
_ZSTD_PIECE = 4096
"""Compressed bytes that are unpacked at a time: a hostile file makes at most some 100 MB of them."""
LONGEST_LINE = 64 * 1024**2
"""Bytes of the longest line that is read, unless a command has its own limit."""
_SHOWN = 1000
"""Bytes of an overlong line that are kept for the report."""

WORK_SUFFIX = ".rescore"
"""The folder beside the output that holds all of an unfinished run."""


class Place(NamedTuple):
    """The place to go on reading: the file, the unpacked byte and the number of lines before it, and rows so far.

    Of Parquet, `offset` counts rows. `packed` is how many bytes of the file on disk were read, for progress.
    """

    file: int = 0
    offset: int = 0
    lines: int = 0
    rows: int = 0
    packed: int = 0


START = Place()


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank, or a row of Parquet. `number` counts from 1 in its file, `row` from 0 over the input.

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
    each = [paths] if isinstance(paths, Path) else list(paths)
    files = list(dict.fromkeys(file for path in each for file in _files(path)))
    if any(map(is_parquet, files)):
        load_pyarrow()
    if len(each) == 1:
        return Inputs(each[0], tuple(files))
    root = Path(os.path.commonpath([path.absolute() for path in files]))
    return Inputs(root if len(files) > 1 else root.parent, tuple(path.absolute() for path in files))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise RescoreError(f"there is no file or directory {str(path)!r}")
    found = []
    for file in path.rglob("*"):
        parts = file.relative_to(path).parts
        if not _NAME.search(file.name) or _OURS.search(file.name) or not file.is_file():
            continue
        if any(part.startswith(".") or part.endswith(WORK_SUFFIX) for part in parts):
            continue
        found.append(file)
    if not found:
        raise RescoreError(f"{str(path)!r} holds no *.jsonl, *.ndjson (also .gz, .zst) or *.parquet files")
    return sorted(found, key=lambda file: _natural(file.relative_to(path).as_posix()))


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
        if is_parquet(path):
            found = _parquet_lines(path, inputs.names[index], here, limit)
        else:
            found = _file_lines(path, here, limit)
        for line, place in found:
            rows = place.rows
            yield line, place


def _file_lines(path: Path, here: Place, limit: int) -> Iterator[tuple[Line, Place]]:
    index, offset, lines, rows, _ = here
    with path.open("rb") as raw, contextlib.closing(_unpacked(raw)) as stream:
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
        except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
            fault = f"the compressed file is truncated or damaged after line {lines}: {error}"
            yield Line(index, lines + 1, rows, b"", fault), Place(index + 1, rows=rows + 1)


def _parquet_lines(path: Path, name: str, here: Place, limit: int) -> Iterator[tuple[Line, Place]]:
    size, rows = path.stat().st_size, here.rows
    for found in parquet_rows(path, here.offset, limit, partition_of(name)):
        place = Place(here.file, found.after, found.after, rows + 1, int(size * found.share))
        yield Line(here.file, found.row + 1, rows, found.data, found.fault), place
        rows += 1


def _unpacked(raw: BinaryIO) -> BinaryIO:
    head = raw.read(4)
    raw.seek(0)
    if head.startswith(_GZIP):
        return gzip.GzipFile(fileobj=raw, mode="rb")  # type: ignore[return-value]
    if head.startswith(_ZSTD):
        return io.BufferedReader(_Zstd(raw), 256 * 1024)
    return raw


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


class _Zstd(io.RawIOBase):
    """Unpacks all frames of a file. Unlike the library's reader it notices a frame that breaks off."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._frame: Any = None
        self._packed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._ready:
            if not self._packed:
                self._packed = self._raw.read(_ZSTD_PIECE)
                if not self._packed:
                    if self._frame is not None:
                        raise EOFError("the last zstd frame is incomplete")
                    return 0
            if self._frame is None:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._ready = memoryview(self._frame.decompress(self._packed))
            self._packed = b""
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        size = min(len(target), len(self._ready))
        target[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size
