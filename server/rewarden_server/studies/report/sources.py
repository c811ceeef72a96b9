"""Files of every shape that holds rollouts, as files of rows that a report reads: rescored files and rollouts as they
are, the server's records, and logs of Inspect with the verdicts of its own scorers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rewarden.wire.json import sample_to_json
from rewarden_server.observe.record import read_records
from rewarden_server.studies.rescore.inspect_log import inspect_rows, is_inspect
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.read import find_inputs, read_lines
from rewarden_server.studies.rescore.units import parse

_RECORD = {"header", "sample", "verdict"}


def as_rows(paths: Sequence[Path], folder: Path) -> list[Path]:
    """The files of the paths; what are not rows already is written as rows into the folder. Raises RescoreError."""
    made: list[Path] = []
    for file in (file for path in paths for file in _files(path)):
        rows = _rows(file)
        if rows is None:
            made.append(file)
            continue
        target = folder / f"{len(made)}" / f"{file.stem}.jsonl"
        target.parent.mkdir(parents=True)
        with target.open("w", encoding="utf-8") as out:
            for row in rows:
                out.write(json.dumps(row) + "\n")
        made.append(target)
    return made


def _files(path: Path) -> Iterable[Path]:
    """A file, or those in a folder: logs of Inspect there, and what a rescore finds."""
    if not path.is_dir():
        return find_inputs(path).files
    logs = sorted(file for file in path.rglob("*") if file.suffix in (".eval", ".json") and file.is_file())
    logs = [file for file in logs if is_inspect(file)]
    try:
        return dict.fromkeys((*find_inputs(path).files, *logs))
    except RescoreError:
        if logs:
            return logs
        raise


def _rows(file: Path) -> Iterator[Mapping[str, Any]] | None:
    """The rows of a file; None if it holds rows itself."""
    if file.suffix in (".eval", ".json") and is_inspect(file):
        return inspect_rows(file)
    first = next(
        (row for line, _ in islice(read_lines(find_inputs(file)), 1) if isinstance(row := parse(line), dict)), {}
    )
    return _recorded(file) if first.keys() >= _RECORD else None


def _recorded(file: Path) -> Iterator[Mapping[str, Any]]:
    try:
        for record in read_records(file):
            sample, shared = sample_to_json(record.sample), record.header.shared
            for name in ("prompt", "reference"):
                key = sample.pop(f"{name}_key", None)
                if key in shared:
                    sample[name] = shared[key]
            yield {**sample, "verdict": record.verdict}
    except ValueError as error:
        raise RescoreError(str(error)) from None
