"""CSV and TSV to rows: one object for each record, by the names in the first. All values are texts."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from rewarden_server.studies.rescore.file_row import FileRow, file_row
from rewarden_server.studies.rescore.unpacked import DAMAGES, unpacked

_NAME = re.compile(r"\.(csv|tsv)(\.gz|\.zst|\.zstd)?$")


def is_separated(path: Path) -> bool:
    """Returns whether a file is named as CSV or TSV."""
    return _NAME.search(path.name) is not None


def separated_rows(path: Path, first: int, limit: int) -> Iterator[FileRow]:
    """The records from the record `first` on. One with too few or too many values is a fault; what cannot be read, and
    what follows it, is one.
    """
    size = max(path.stat().st_size, 1)
    found = _NAME.search(path.name)
    mark = "\t" if found is not None and found[1] == "tsv" else ","
    csv.field_size_limit(limit)
    with path.open("rb") as raw, contextlib.closing(unpacked(raw)) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        records = (record for record in csv.reader(text, delimiter=mark, strict=True) if record)
        row = 0
        try:
            names = next(records, [])
            for record in records:
                if row >= first and len(record) != len(names):
                    fault = f"the record has {len(record)} values for {len(names)} columns"
                    yield FileRow(row, row + 1, raw.tell() / size, mark.join(record).encode("utf-8", "replace"), fault)
                elif row >= first:
                    yield file_row(row, raw.tell() / size, dict(zip(names, record, strict=True)), limit)
                row += 1
        except (csv.Error, *DAMAGES) as error:
            if row >= first:
                yield FileRow(row, row + 1, 1.0, b"", f"the file cannot be read after record {row}: {error}")
