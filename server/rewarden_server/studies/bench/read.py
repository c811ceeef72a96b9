"""From the files of a published set to entries: JSON lines, JSON lists, Parquet, or a folder of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewarden_server.studies.bench.bench_set import BenchSet
from rewarden_server.studies.bench.entry import Entry, Result
from rewarden_server.studies.bench.row import FieldError, Row
from rewarden_server.studies.bench.sets import nearest
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.read import find_inputs, read_lines
from rewarden_server.studies.rescore.units import parse


@dataclass(frozen=True, slots=True)
class ReadSet:
    """The entries of the files, at most as many as requested. total: the number of all entries; repeated: rows that
    occur twice and count once."""

    entries: Sequence[Entry[Result]]
    total: int
    repeated: int


def read_set(chosen: BenchSet[Any], files: Sequence[Path], *, limit: int | None = None, seed: int = 0) -> ReadSet:
    """The entries; with a limit, that many drawn at random. Raises RescoreError, naming the row, the field and the
    nearest set."""
    inputs = find_inputs(list(files))
    entries: dict[str, Entry[Result]] = {}
    repeated = 0
    for line, _ in read_lines(inputs):
        file = inputs.names[line.file]
        values = parse(line)
        if isinstance(values, str):
            raise RescoreError(f"{file}:{line.number}: {values}")
        try:
            entry = chosen.entry(Row(values, file, line.number))
        except FieldError as error:
            other = nearest(values)
            raise RescoreError(f"{file}:{line.number}: {error}{_hint(chosen, other)}") from None
        # Names are unique within a part of a set, but not always across parts.
        key = f"{entry.subset}\n{entry.id}"
        if entries.get(key) == entry:
            repeated += 1
            continue
        if key in entries:
            entry = replace(entry, id=f"{entry.id}@{file}:{line.number}")
        entries[f"{entry.subset}\n{entry.id}"] = entry
    if not entries:
        raise RescoreError(f"{', '.join(map(str, files))} has no rows")
    found = list(entries.values())
    if limit is not None and len(found) > limit:
        found = [found[place] for place in sorted(random.Random(seed).sample(range(len(found)), limit))]
    return ReadSet(found, len(entries), repeated)


def _hint(chosen: BenchSet[Any], other: BenchSet[Any] | None) -> str:
    if other is not None and other is not chosen:
        return f"; this looks like a row of {other.title}: rewarden judge bench {other.name}"
    rest = "" if other is chosen else "; no set has rows like this one"
    return f". A row of {chosen.title} has {', '.join(chosen.fields)}{rest}"
