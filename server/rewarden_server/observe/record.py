"""Records of what was judged: everything unscored or flagged, and a sample of the rest, to be replayed later.

`rewarden serve --record DIR` writes them; `rewarden explain FILE` judges them again, under this version or another,
and says what differs. Records hold samples' texts: they lie where the operator says, and nowhere else.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from rewarden.types import BadSample, Batch, Sample, Verdict
from rewarden.wire.json import (
    dumps,
    header_from_json,
    header_to_json,
    sample_from_json,
    sample_to_json,
    verdict_to_json,
)
from rewarden_server.observe.logs import get_logger

_log = get_logger("records")

ROTATE_BYTES = 64 * 1024**2
"""Size at which a file of records is closed and the next begun."""


@dataclass(frozen=True, slots=True)
class Record:
    """A sample with its header (use, progress, shared values) and the JSON form of its verdict."""

    header: Batch
    sample: Sample
    verdict: Mapping[str, Any]


class Recorder:
    """Writes records. `share` of what is scored without a flag is kept."""

    def __init__(
        self, folder: Path, share: float = 0.01, seed: int | None = None, max_bytes: int = 10 * 1024**3
    ) -> None:
        """max_bytes: of all records in the folder; the oldest files go when a new one is begun."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._share = share
        self._max_bytes = max_bytes
        self._failed = False
        self._random = random.Random(seed)
        self._file: BinaryIO | None = None
        self._number = 0

    def add(self, header: Batch, sample: Sample | BadSample, verdict: Verdict, *, always: bool = False) -> None:
        """Write a record of this verdict, if it is one to keep. `always`: for the members of group verifiers, whose
        verdicts cannot be replayed without their siblings.

        Never raises for a disk that is full or gone: what cannot be written is lost, and the log says so once.
        """
        if isinstance(sample, BadSample):
            return  # nothing of it could be read, so nothing can be replayed
        dull = verdict.status == "scored" and not verdict.flags and not always
        if dull and self._random.random() >= self._share:
            return
        row = {
            "time": time.time(),
            "header": header_to_json(_slim(header, sample)),
            "sample": sample_to_json(sample),
            "verdict": verdict_to_json(verdict),
        }
        try:
            file = self._open()
            file.write(dumps(row) + b"\n")
            file.flush()
            if file.tell() > ROTATE_BYTES:
                self.close()
        except OSError as error:  # a verdict must not wait for ever because the disk with its record is full
            self._drop()
            if not self._failed:
                _log.error("records cannot be written", folder=str(self._folder), error=error.strerror)
            self._failed = True
        else:
            self._failed = False

    def close(self) -> None:
        """Close the current file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> BinaryIO:
        if self._file is None:
            stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
            self._number += 1
            path = self._folder / f"records-{stamp}-{os.getpid()}-{self._number:06}.jsonl"
            self._make_room()
            # For the server's user alone: records hold what samples say.
            self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")
        return self._file

    def _drop(self) -> None:
        """Let go of a file that cannot be written, and of what it did not take."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()

    def _make_room(self) -> None:
        """Remove the oldest files where there are more bytes than may be, with room for the next."""
        files = sorted(self._folder.glob("records-*.jsonl"))
        size = sum(path.stat().st_size for path in files)
        for path in files:
            if size + ROTATE_BYTES <= self._max_bytes:
                return
            size -= path.stat().st_size
            path.unlink()


def _slim(header: Batch, sample: Sample) -> Batch:
    """The header with only what this sample needs of the shared table."""
    keys = (sample.prompt_key, sample.reference_key)
    shared = {key: header.shared[key] for key in keys if key is not None and key in header.shared}
    return replace(header, samples=(), shared=shared, deadline_s=None, group_deadline_s=None, expect={}, fields=None)


def record_of(row: Mapping[str, Any]) -> Record:
    """The record in a row of JSON. Raises ValueError, KeyError or TypeError for one that is foreign."""
    sample = sample_from_json(row["sample"])
    if isinstance(sample, BadSample):
        raise ValueError(sample.message)
    return Record(header_from_json(row["header"]), sample, row["verdict"])


def read_records(path: Path) -> Iterator[Record]:
    """The records of a file. Raises ValueError with the line's number for one that is torn or foreign."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield record_of(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}:{number}: not a record: {error}") from error
