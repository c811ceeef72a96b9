"""The journal of a run: what is done, so that a run that was killed goes on where it was.

One record a line: eight hex digits of CRC-32, a space, JSON. Four kinds:

    {"header": {…}}                    the first: input, options, fingerprints
    {"v": [unit, {index: {…}}]}        verdicts of a unit's samples, as soon as they are there, in any order
    {"checkpoint": {…}}                the output up to here is on disk; verdicts of earlier units are not needed again
    {"finished": true}                 all is written; only renaming may be left

Verdicts reach the kernel at once, so a kill loses none; checkpoints are synced, so a power cut loses only what came
after the last. A torn or damaged line ends the journal: what follows is done again. The journal is written anew
when it has grown, with what is still needed, so its size stays bounded.
"""

from __future__ import annotations

import fcntl
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewarden.errors import RewardenError
from rewarden.wire.json import dumps, loads
from rewarden_server.folder_sync import sync_folder
from rewarden_server.studies.rescore.options import RescoreError

COMPACT_BYTES = 32 * 1024**2

Verdicts = dict[int, dict[str, Any]]
"""The verdicts of one unit, by the samples' places in it."""

_Known = Mapping[int, bytes]


@dataclass(slots=True)
class Recovered:
    """The facts that a journal holds of the run that was broken off."""

    header: Mapping[str, Any]
    checkpoint: Mapping[str, Any] | None = None
    verdicts: dict[int, Verdicts] = field(default_factory=dict)
    finished: bool = False


class Journal:
    """Writes records. Made by `create` or `reopen`."""

    def __init__(self, path: Path, descriptor: int, size: int, header: Mapping[str, Any]) -> None:
        self._path = path
        self._descriptor = descriptor
        self._size = size
        self._header = header
        self._waiting = bytearray()
        self._compact_at = COMPACT_BYTES

    @classmethod
    def create(cls, path: Path, header: Mapping[str, Any]) -> Journal:
        """A new journal; its header is on disk when this returns."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        journal = cls(path, descriptor, 0, header)
        journal._append({"header": header})
        journal.flush()
        journal.sync()
        sync_folder(path.parent)
        return journal

    @classmethod
    def reopen(cls, path: Path) -> tuple[Journal, Recovered]:
        """A journal that was broken off, and what it holds; a torn end is cut away.

        Raises RescoreError when not even its header can be read.
        """
        recovered, good = _recover(path)
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        os.ftruncate(descriptor, good)
        os.lseek(descriptor, 0, os.SEEK_END)
        return cls(path, descriptor, good, recovered.header), recovered

    def verdicts(self, unit: int, verdicts: _Known) -> None:
        """Verdicts of a unit, as JSON texts, to be found again all or none; `flush` hands them to the kernel."""
        each = b",".join(b'"%d":%b' % item for item in verdicts.items())
        self._append_text(b'{"v":[%d,{%b}]}' % (unit, each))

    def flush(self) -> None:
        """Hand what was noted to the kernel: from here on a kill of this process loses none of it."""
        while self._waiting:
            written = os.write(self._descriptor, self._waiting)
            del self._waiting[:written]

    def sync(self) -> None:
        """Wait until what was flushed is on disk. May run on another thread than the rest."""
        os.fsync(self._descriptor)

    def checkpoint(self, state: Mapping[str, Any]) -> None:
        """Everything before this state is on disk already; `sync` makes this record durable too."""
        self._append({"checkpoint": state})
        self.flush()

    def finished(self) -> None:
        """The output is complete."""
        self._append({"finished": True})
        self.flush()
        self.sync()

    @property
    def grown(self) -> bool:
        """Returns whether it is time for `compact`."""
        return self._size >= self._compact_at

    def compact(self, state: Mapping[str, Any], outstanding: Iterable[tuple[int, _Known]]) -> None:
        """Write the journal anew: a checkpoint, and the verdicts of units that it does not cover."""
        self.flush()
        fresh = self._path.with_name(self._path.name + ".new")
        fresh.unlink(missing_ok=True)
        other = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        os.close(self._descriptor)
        self._descriptor, self._size = other, 0
        self._append({"header": self._header})
        self._append({"checkpoint": state})
        for unit, verdicts in outstanding:
            self.verdicts(unit, verdicts)
        self.flush()
        self.sync()
        fresh.rename(self._path)
        sync_folder(self._path.parent)
        self._compact_at = max(COMPACT_BYTES, 2 * self._size)

    def close(self) -> None:
        """Hand over what is left."""
        self.flush()
        os.close(self._descriptor)

    def _append(self, record: Mapping[str, Any]) -> None:
        self._append_text(dumps(record))

    def _append_text(self, data: bytes) -> None:
        line = b"%08x %b\n" % (zlib.crc32(data), data)
        self._waiting += line
        self._size += len(line)


def read_header(path: Path) -> Mapping[str, Any] | None:
    """The header of a journal, or None when the run was killed before it stood."""
    for record, _ in _records(path):
        header = record.get("header")
        return header if isinstance(header, dict) else None
    return None


def _recover(path: Path) -> tuple[Recovered, int]:
    found: Recovered | None = None
    good = 0
    for record, end in _records(path):
        if found is None:
            if "header" not in record:
                break
            found = Recovered(record["header"])
        elif "v" in record:
            unit, verdicts = record["v"]
            found.verdicts.setdefault(unit, {}).update((int(index), verdict) for index, verdict in verdicts.items())
        elif "checkpoint" in record:
            found.checkpoint = record["checkpoint"]
            done = record["checkpoint"]["units"]
            found.verdicts = {unit: known for unit, known in found.verdicts.items() if unit >= done}
        elif "finished" in record:
            found.finished = True
        good = end
    if found is None:
        raise RescoreError(f"the journal {str(path)!r} is damaged at its beginning; start over with --force")
    return found, good


def _records(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """The whole records from the beginning, each with the byte after it; ends at the first that is not whole."""
    end = 0
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n") or line[8:9] != b" ":
                return
            data = line[9:-1]
            if line[:8] != b"%08x" % zlib.crc32(data):
                return
            try:
                record = loads(data)
            except RewardenError:
                return
            end += len(line)
            yield record, end


def hold(folder: Path) -> int:
    """Take the lock of a run's folder, which keeps a second run away; closing the descriptor gives it back.

    Raises RescoreError when another run holds it.
    """
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise RescoreError(f"another run is working in {str(folder)!r}") from None
    return descriptor
