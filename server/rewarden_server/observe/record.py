"""Records of judged samples, for a later replay: every unscored or flagged one, and a share of the rest.

`rewarden serve --record DIR` writes them. `rewarden explain FILE` judges them again, under this version or another, and
prints the differences. Records contain samples' texts, so they are written only to the folder that the operator names.
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
"""The size at which a file of records is closed and the next one started."""


@dataclass(frozen=True, slots=True)
class Record:
    """A sample with its header (use, progress, shared values) and the JSON form of its verdict."""

    header: Batch
    sample: Sample
    verdict: Mapping[str, Any]


class Recorder:
    """Writes records. share: of the scored samples without a flag, the part that is kept."""

    def __init__(
        self, folder: Path, share: float = 0.01, seed: int | None = None, max_bytes: int = 10 * 1024**3
    ) -> None:
        """max_bytes: the total size of the folder's records; starting a new file deletes the oldest ones."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._share = share
        self._max_bytes = max_bytes
        self._failed = False
        self._random = random.Random(seed)
        self._file: BinaryIO | None = None
        self._number = 0

    def add(self, header: Batch, sample: Sample | BadSample, verdict: Verdict, *, always: bool = False) -> None:
        """Writes a record of this verdict if it is one to keep. `always`: for the members of group verifiers, whose
        verdicts cannot be replayed without their siblings.

        Never raises if a disk is full or gone: what cannot be written is lost, and the log says so once.
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
        """Closes the current file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> BinaryIO:
        if self._file is None:
            stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
            self._number += 1
            path = self._folder / f"records-{stamp}-{os.getpid()}-{self._number:06}.jsonl"
            self._make_room()
            # Readable by the server's user alone: records contain the text of samples.
            self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")
        return self._file

    def _drop(self) -> None:
        """Abandons a file that cannot be written, with the records that it did not take."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()

    def _make_room(self) -> None:
        """Deletes the oldest files until the next one fits into the size limit."""
        files = sorted(self._folder.glob("records-*.jsonl"))
        size = sum(path.stat().st_size for path in files)
        for path in files:
            if size + ROTATE_BYTES <= self._max_bytes:
                return
            size -= path.stat().st_size
            path.unlink()


def _slim(header: Batch, sample: Sample) -> Batch:
    """Returns the header with only those shared values that this sample needs."""
    keys = (sample.prompt_key, sample.reference_key)
    shared = {key: header.shared[key] for key in keys if key is not None and key in header.shared}
    return replace(header, samples=(), shared=shared, deadline_s=None, group_deadline_s=None, expect={}, fields=None)


def record_of(row: Mapping[str, Any]) -> Record:
    """Returns the record in a row of JSON. Raises ValueError, KeyError or TypeError if it is not a record of ours."""
    sample = sample_from_json(row["sample"])
    if isinstance(sample, BadSample):
        raise ValueError(sample.message)
    return Record(header_from_json(row["header"]), sample, row["verdict"])


def read_records(path: Path) -> Iterator[Record]:
    """Returns the records of a file. Raises ValueError with the line's number for a truncated or foreign one."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield record_of(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}:{number}: not a record: {error}") from error
