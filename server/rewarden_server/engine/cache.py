"""Outcomes by the content of what was judged: in memory, and in a file where one is configured.

Keys are digests over the fingerprint, the parameters and every argument that the verifier reads, so an entry can
never be stale. Never stored: errors, outcomes at a limit of the machine, and what `stateful` verifiers say.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewarden.types import Outcome
from rewarden.wire.json import dumps, loads, outcome_from_json, outcome_to_json
from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.fingerprint import canonical

_PASSING_FLAGS = frozenset({"too_expensive", "killed_worker", "time_dependent"})
"""Flags of outcomes that another moment may change: limits reached, a query that asks for the date."""


def content_key(fingerprint: str, op: str, arguments: Mapping[str, Any], reference_key: bytes | None = None) -> bytes:
    """The digest of a piece of work. Equal exactly when fingerprint, operation and arguments are. `reference_key`: the
    digest of the reference, where it is known already."""
    digest = hashlib.blake2b(digest_size=20)
    digest.update(fingerprint.encode())
    digest.update(op.encode())
    for name, value in arguments.items():
        if name == "params":  # in the fingerprint
            continue
        if name == "reference" and reference_key is not None:
            digest.update(b"\0reference:k")
            digest.update(reference_key)
            continue
        if isinstance(value, str):
            data = value.encode("utf-8", "surrogatepass")
            digest.update(f"\0{name}:s{len(data)}:".encode())
            digest.update(data)
        else:
            data = canonical(value).encode()
            digest.update(f"\0{name}:j{len(data)}:".encode())
            digest.update(data)
    return digest.digest()


def cacheable(spec: VerifierSpec, outcome: Outcome) -> bool:
    """Whether an outcome says something lasting."""
    return (
        outcome.status != "error"
        and spec.determinism != "stateful"
        and not (outcome.flags and _PASSING_FLAGS.intersection(outcome.flags))
    )


class Cache:
    """Least recently used outcomes, bounded in entries and bytes."""

    def __init__(self, entries: int, size: int, folder: Path | None = None) -> None:
        self._entries = entries
        self._limit = size
        self._size = 0
        self._memory: OrderedDict[bytes, tuple[Outcome, int]] = OrderedDict()
        self._disk = _Disk(folder) if folder is not None else None

    def get(self, key: bytes) -> Outcome | None:
        """The outcome stored under a key, or None."""
        found = self._memory.get(key)
        if found is not None:
            self._memory.move_to_end(key)
            return found[0]
        if self._disk is not None:
            data = self._disk.get(key)
            if data is not None:
                outcome = outcome_from_json(loads(data))
                self._remember(key, outcome, len(data))
                return outcome
        return None

    def put(self, key: bytes, outcome: Outcome, size: int) -> None:
        """Store an outcome; `size` is about what it weighs, in bytes."""
        self._remember(key, outcome, size)
        if self._disk is not None:
            self._disk.put(key, dumps(outcome_to_json(outcome)))

    def close(self) -> None:
        """Write what is still to be written."""
        if self._disk is not None:
            self._disk.close()

    def __len__(self) -> int:
        return len(self._memory)

    def _remember(self, key: bytes, outcome: Outcome, size: int) -> None:
        size += 512
        old = self._memory.pop(key, None)
        if old is not None:
            self._size -= old[1]
        self._memory[key] = (outcome, size)
        self._size += size
        while self._memory and (len(self._memory) > self._entries or self._size > self._limit):
            _, (_, freed) = self._memory.popitem(last=False)
            self._size -= freed


class _Disk:
    """One SQLite file, written in transactions of many entries; a torn one loses entries, never mixes them up."""

    _BATCH = 256

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._base = sqlite3.connect(folder / "outcomes.sqlite", isolation_level=None, check_same_thread=False)
        self._base.execute("PRAGMA journal_mode=WAL")
        self._base.execute("PRAGMA synchronous=NORMAL")
        self._base.execute("CREATE TABLE IF NOT EXISTS outcomes (key BLOB PRIMARY KEY, outcome BLOB) WITHOUT ROWID")
        self._pending: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        if key in self._pending:
            return self._pending[key]
        row = self._base.execute("SELECT outcome FROM outcomes WHERE key = ?", (key,)).fetchone()
        return bytes(row[0]) if row is not None else None

    def put(self, key: bytes, data: bytes) -> None:
        self._pending[key] = data
        if len(self._pending) >= self._BATCH:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._base.close()

    def _flush(self) -> None:
        self._base.execute("BEGIN IMMEDIATE")
        self._base.executemany("INSERT OR REPLACE INTO outcomes VALUES (?, ?)", self._pending.items())
        self._base.execute("COMMIT")
        self._pending.clear()
