"""Scored rows to Parquet: the input's columns with their own types, and ours after them.

While the run lasts only verdicts are staged, each with the place of its row; at the end the input is read again and
both are joined. The parts of a verdict that have no fixed form are JSON texts, marked as such in the schema, so that
an output can be an input again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from rewarden.wire.json import VERDICT_FIELDS, dumps, loads
from rewarden_server.studies.rescore.arrow import JSON_MARK, load_pyarrow
from rewarden_server.studies.rescore.options import RescoreError, RescoreOptions
from rewarden_server.studies.rescore.parquet import SUFFIXES, open_parquet, partition_of, read_batches
from rewarden_server.studies.rescore.read import Inputs, is_parquet

PLACE = "@"
"""The key in a staged row of [file of the input, row of the file from 0]."""

_GROUP_ROWS = 65_536
_GROUP_BYTES = 64 * 1024**2
_UNTRUE = (b"huggingface",)  # metadata that list the columns, and would leave ours out

_TEXTS = ("status", "reason", "fault", "feedback", "exclude_reason", "id", "group", "data_source")
_NUMBERS = ("score", "queue_s", "run_s")
_TRUTHS = ("passed", "exclude", "retryable", "cached")


def is_parquet_target(target: Path) -> bool:
    """Returns whether an output is to be Parquet, by its name."""
    return target.suffix in SUFFIXES


def place_of(file: int, row: int) -> bytes:
    """Returns the bytes that stand for the input's own columns in a staged row."""
    return dumps({PLACE: [file, row]})


@dataclass(frozen=True, slots=True)
class _Shape:
    """An output's schema, and which of its columns are ours."""

    schema: Any
    ours: frozenset[str]


class ParquetPacker:
    """Joins staged rows with the input. `options`: of the rescore whose columns are added; None: none are. `one`: all
    files of the input go into one output."""

    def __init__(self, options: RescoreOptions | None, inputs: Inputs, *, one: bool) -> None:
        self._options = options
        self._inputs = inputs
        self._one = one

    def check(self, target: int) -> None:
        """Raises RescoreError if the output's input is not Parquet, or files for one output differ in columns."""
        first: Any = None
        for file in self._files(target):
            path, name = self._inputs.files[file], self._inputs.names[file]
            if not is_parquet(path):
                raise RescoreError(
                    f"a Parquet output needs Parquet inputs, and {name!r} is not one; name the output *.jsonl"
                )
            try:
                with contextlib.closing(open_parquet(path)) as opened:
                    schema = opened.schema_arrow
            except (OSError, ValueError) as error:
                raise RescoreError(
                    f"{name!r} cannot be read, so a Parquet output has no columns: {error}; name the output *.jsonl"
                ) from None
            if first is not None and not schema.equals(first):
                raise RescoreError(
                    f"the columns of {name!r} are not those of {self._inputs.names[0]!r}, so one Parquet file "
                    "cannot hold both: name a directory or a *.jsonl file as output"
                )
            first = schema

    def pack(self, staged: Path, packed: Path, target: int) -> None:
        """Write an output. The same rows make the same bytes."""
        pa = load_pyarrow()
        from pyarrow.parquet import ParquetWriter

        files = self._files(target)
        with contextlib.closing(open_parquet(self._inputs.files[files[0]])) as opened:
            shape = self._shape(pa, opened.schema_arrow, staged, files)
        with staged.open("rb") as rows, packed.open("wb") as out:
            with ParquetWriter(out, shape.schema, compression="zstd") as writer:
                for table in _gathered(pa, self._tables(pa, shape, _Staged(rows))):
                    writer.write_table(table, row_group_size=len(table))
            out.flush()
            os.fsync(out.fileno())

    def _files(self, target: int) -> range:
        return range(len(self._inputs.files)) if self._one else range(target, target + 1)

    def _shape(self, pa: Any, schema: Any, staged: Path, files: range) -> _Shape:
        ours = {} if self._options is None else self._ours(pa, self._options, staged)
        fields = [field for field in schema if field.name not in ours]
        if self._one:  # files that are mirrored keep their folders, and so the columns that these name
            named = {name for file in files for name in partition_of(self._inputs.names[file])}
            fields += [pa.field(name, pa.string()) for name in sorted(named - {*schema.names, *ours})]
        fields += [pa.field(name, kind) for name, kind in ours.items()]
        metadata = {key: value for key, value in (schema.metadata or {}).items() if not ours or key not in _UNTRUE}
        return _Shape(pa.schema(fields, metadata=metadata), frozenset(ours))

    @staticmethod
    def _ours(pa: Any, options: RescoreOptions, staged: Path) -> dict[str, Any]:
        score, verdict = pa.float64(), verdict_type(pa, options.fields)
        lists = pa.list_(score), pa.list_(verdict)
        one = ((options.score_column, score), (options.verdict_column, verdict))
        several = ((options.score_column + "s", lists[0]), (options.verdict_column + "s", lists[1]))
        with staged.open("rb") as rows:
            many = {several[0][0] in loads(line) for line in rows}
        return dict((one if False in many or not many else ()) + (several if True in many else ()))

    def _tables(self, pa: Any, shape: _Shape, staged: _Staged) -> Iterator[Any]:
        """Small tables: of each batch of the input the rows that were staged, with our columns."""
        while (place := staged.next) is not None:
            file, first = place
            name = self._inputs.names[file]
            with contextlib.closing(open_parquet(self._inputs.files[file])) as opened:
                for begin, end, batch in read_batches(opened, first):
                    found = staged.take(file, end)
                    if not found:
                        continue
                    if isinstance(batch, Exception):
                        raise OSError(f"{name} can no longer be read: {batch}")
                    rows = pa.Table.from_batches([batch]).take([row - begin for row, _ in found])
                    values = [value for _, value in found]
                    yield pa.table(_columns(pa, shape, rows, values, partition_of(name)), schema=shape.schema)
            if staged.next is not None and staged.next[0] == file:
                raise OSError(f"{name} has fewer rows than before; start over with --force")


class _Staged:
    """Reads staged rows, which stand in the input's order."""

    def __init__(self, rows: BinaryIO) -> None:
        self._rows = rows
        self._values: Mapping[str, Any] = {}
        self.next: tuple[int, int] | None = None
        self._read()

    def take(self, file: int, end: int) -> list[tuple[int, Mapping[str, Any]]]:
        """The rows of a file up to (and without) the row `end`."""
        found = []
        while self.next is not None and self.next[0] == file and self.next[1] < end:
            found.append((self.next[1], self._values))
            self._read()
        return found

    def _read(self) -> None:
        line = self._rows.readline()
        self._values = loads(line) if line else {}
        self.next = tuple(self._values[PLACE]) if line else None


def _columns(
    pa: Any, shape: _Shape, rows: Any, staged: Sequence[Mapping[str, Any]], folders: Mapping[str, str | None]
) -> list[Any]:
    made = []
    for field in shape.schema:
        if field.name in shape.ours:
            made.append(pa.array([_typed(value.get(field.name), field.type, pa) for value in staged], field.type))
        elif field.name in rows.column_names:
            made.append(rows.column(field.name))
        else:
            made.append(pa.array([folders.get(field.name)] * len(staged), field.type))
    return made


def _gathered(pa: Any, tables: Iterator[Any]) -> Iterator[Any]:
    """Tables of a size that makes good row groups."""
    held: list[Any] = []
    rows = size = 0
    for table in tables:
        held.append(table)
        rows += len(table)
        size += table.nbytes
        if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield pa.concat_tables(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.concat_tables(held)


def verdict_type(pa: Any, fields: Sequence[str]) -> Any:
    """The struct that a verdict of these fields is in Parquet."""
    kinds = {
        **dict.fromkeys(_TEXTS, pa.string()),
        **dict.fromkeys(_NUMBERS, pa.float64()),
        **dict.fromkeys(_TRUTHS, pa.bool_()),
        "index": pa.int64(),
        "range": pa.list_(pa.float64()),
        "flags": pa.list_(pa.string()),
        "verifier": pa.struct([(part, pa.string()) for part in ("name", "version", "fingerprint")]),
    }
    return pa.struct(
        [
            pa.field(name, kinds[name]) if name in kinds else pa.field(name, pa.string(), metadata=JSON_MARK)
            for name in VERDICT_FIELDS
            if name in fields or name == "status"
        ]
    )


def _typed(value: Any, kind: Any, pa: Any) -> Any:
    """A score, a verdict, or a list of them, as Arrow takes it: what has no fixed form becomes a JSON text."""
    if isinstance(value, list) and pa.types.is_list(kind):
        return [_typed(item, kind.value_type, pa) for item in value]
    if not isinstance(value, dict) or not pa.types.is_struct(kind):
        return value
    marked = {field.name for field in kind if field.metadata == JSON_MARK}
    return {name: _text(item) if name in marked else item for name, item in value.items()}


def _text(value: Any) -> str | None:
    return None if value is None else dumps(value).decode()
