"""An external merge sort: any number of records in constant memory, by a key of bytes of one length."""

from __future__ import annotations

import heapq
import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

_LENGTH = struct.Struct("<I")
_OVERHEAD = 160  # what Python keeps for a record besides its bytes
_FAN_IN = 64
_BUFFER = 128 * 1024
_COMPLETE = "complete"


class ExternalSort:
    """Take records with `add`, end with `close`, iterate as often as you like: by key, equal keys as they came.

    A sort that was closed can be opened again in its folder (`complete` is then true) and needs no records.
    """

    def __init__(self, folder: Path, key_size: int, memory_mb: int = 64) -> None:
        self._folder = folder
        self._key_size = key_size
        self._limit = memory_mb * 1024**2
        self._held: list[tuple[bytes, bytes]] = []
        self._held_bytes = 0
        self._runs: list[Path] = []
        self._made = 0
        self.complete = (folder / _COMPLETE).exists()
        if self.complete:
            self._runs = sorted(folder.glob("*.run"))
            return
        folder.mkdir(parents=True, exist_ok=True)
        for stale in folder.glob("*.run"):
            stale.unlink()

    def add(self, key: bytes, payload: bytes) -> None:
        """One record. Raises ValueError for a key of another length."""
        if len(key) != self._key_size:
            raise ValueError(f"the key has {len(key)} bytes, not {self._key_size}")
        self._held.append((key, payload))
        self._held_bytes += len(key) + len(payload) + _OVERHEAD
        if self._held_bytes >= self._limit:
            self._spill()

    def close(self) -> None:
        """No more records come."""
        if self._held:
            self._spill()
        while len(self._runs) > _FAN_IN:
            first, self._runs = self._runs[:_FAN_IN], self._runs[_FAN_IN:]
            # The merged run takes the first place, so that equal keys keep their order.
            self._runs.insert(0, self._write(self._merge(first), first[0].with_suffix(".merged")))
            for run in first:
                run.unlink()
            self._runs[0] = self._runs[0].rename(first[0])
        (self._folder / _COMPLETE).touch()
        self.complete = True

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return self._merge(self._runs)

    def _spill(self) -> None:
        self._held.sort(key=itemgetter(0))
        self._runs.append(self._write(iter(self._held), self._folder / f"{self._made:08d}.run"))
        self._made += 1
        self._held = []
        self._held_bytes = 0

    @staticmethod
    def _write(records: Iterator[tuple[bytes, bytes]], path: Path) -> Path:
        with path.open("wb", buffering=_BUFFER) as file:
            for key, payload in records:
                file.write(key)
                file.write(_LENGTH.pack(len(payload)))
                file.write(payload)
            file.flush()
            os.fsync(file.fileno())  # a sort that says it is complete must be so after a power cut too
        return path

    def _merge(self, runs: list[Path]) -> Iterator[tuple[bytes, bytes]]:
        with ExitStack() as stack:
            files = [stack.enter_context(run.open("rb", buffering=_BUFFER)) for run in runs]
            yield from heapq.merge(*map(self._read, files), key=itemgetter(0))

    def _read(self, file: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
        while key := file.read(self._key_size):
            (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
            payload = file.read(length)
            if len(payload) != length:
                raise OSError(f"{file.name} is truncated; start over with --force")
            yield key, payload
