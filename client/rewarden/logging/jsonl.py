"""Reports as JSON lines: for programs, for `jq`, and for use without a tracker."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path

from rewarden.errors import InvalidRequest
from rewarden.logging.place import place_of
from rewarden.logging.report import Report
from rewarden.logging.rows import COLUMNS


class Jsonl:
    """Appends a line per report. The file is opened for each one, so several processes can share it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        path = Path(place_of(self._path)).absolute()
        there = next(place for place in (path, *path.parents) if place.exists())
        if not self._path or path.is_dir() or not os.access(there, os.W_OK):
            raise InvalidRequest(f"logging to a file: {self._path!r} cannot be written")

    def write(self, report: Report) -> None:
        """See `Sink`."""
        path = Path(place_of(self._path))
        path.parent.mkdir(parents=True, exist_ok=True)
        line = {
            "step": report.step,
            "time": round(time.time(), 3),
            "process": f"{socket.gethostname()}:{os.getpid()}",
            "metrics": report.metrics,
            "tables": {
                name: [dict(zip(COLUMNS, row.cells, strict=True)) for row in rows]
                for name, rows in report.tables.items()
            },
        }
        data = json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"
        with open(path, "ab", buffering=0) as file:  # one write call, at the end: lines of two processes do not mix
            file.write(data.encode())

    def close(self) -> None:
        """See `Sink`."""


def to_jsonl(path: str | os.PathLike[str]) -> Jsonl:
    """A file of lines `{"step", "time", "process", "metrics": {name: number}, "tables": {name: [row, …]}}`.

    `{host}`, `{pid}` and `{rank}` in the path are replaced by those of the writing process. Raises InvalidRequest.
    """
    return Jsonl(path)
