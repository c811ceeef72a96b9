"""Outcomes by the content of the judged work: in memory, and in a file if one is configured. The cache that several
servers share is in `cache_redis.py`.

Keys are digests over the fingerprint, the parameters and every argument that the verifier reads, so an entry can never
be stale. Never stored: errors, outcomes at a limit of the machine, and outcomes of `stateful` verifiers.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewarden.errors import RequestError
from rewarden.types import Outcome
from rewarden.wire.json import dumps, loads, outcome_from_json, outcome_to_json
from rewarden_server.engine.observer import Observer
from rewarden_server.observe.logs import get_logger
from rewarden_verifiers.canonical import canonical
from rewarden_verifiers.contract import VerifierSpec

_PASSING_FLAGS = frozenset({"too_expensive", "killed_worker", "time_dependent"})
"""Flags of outcomes that can change with time: reached limits, a query for the date."""


def content_key(fingerprint: str, op: str, arguments: Mapping[str, Any], reference_key: bytes | None = None) -> bytes:
    """Returns the digest of a piece of work. Digests are equal if and only if fingerprint, operation and arguments are.

    `reference_key`: the digest of the reference, if it is already known.
    """
    digest = hashlib.blake2b(digest_size=20)
    digest.update(fingerprint.encode())
    digest.update(op.encode())
    for name, value in arguments.items():
        if name == "params":  # part of the fingerprint
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
    """Returns whether an outcome can be stored."""
    return (
        outcome.status != "error"
        and spec.determinism != "stateful"
        and not (outcome.flags and _PASSING_FLAGS.intersection(outcome.flags))
    )


class Cache:
    """Least recently used outcomes, bounded in entries and bytes."""

    def __init__(self, entries: int, size: int, folder: Path | None = None, observer: Observer | None = None) -> None:
        self._observer = observer or Observer()
        self._entries = entries
        self._limit = size
        self._size = 0
        self._memory: OrderedDict[bytes, tuple[Outcome, int]] = OrderedDict()
        self._disk = _Disk(folder, self._observer) if folder is not None else None

    def get(self, key: bytes) -> Outcome | None:
        """Returns the outcome stored under a key, or None."""
        found = self._memory.get(key)
        if found is not None:
            self._memory.move_to_end(key)
            self._observer.cache_hit("memory")
            return found[0]
        if self._disk is not None:
            found_there = self._disk.get(key)
            if found_there is not None:
                self._remember(key, *found_there)
                self._observer.cache_hit("file")
                return found_there[0]
        return None

    def put(self, key: bytes, outcome: Outcome, size: int) -> None:
        """Stores an outcome; `size` is its approximate size in bytes."""
        self._remember(key, outcome, size)
        if self._disk is not None:
            self._disk.put(key, dumps(outcome_to_json(outcome)))

    def close(self) -> None:
        """Writes pending entries."""
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
    """One SQLite file, written in transactions of many entries. A torn transaction loses entries and never mixes them
    up.

    The engine works without the cache: an entry that cannot be read or stored, because of a full disk, a damaged file
    or another writer, counts as unknown, and the observer is notified.
    """

    _BATCH = 256
    _BUSY_S = 0.05
    """The time that the loop waits for another process that writes."""

    def __init__(self, folder: Path, observer: Observer) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / "outcomes.sqlite"
        _keep_to_us(path)
        self._base = sqlite3.connect(path, timeout=5.0, isolation_level=None, check_same_thread=False)
        self._base.execute("PRAGMA journal_mode=WAL")
        self._base.execute("PRAGMA synchronous=NORMAL")
        self._base.execute("CREATE TABLE IF NOT EXISTS outcomes (key BLOB PRIMARY KEY, outcome BLOB) WITHOUT ROWID")
        self._base.execute(f"PRAGMA busy_timeout={int(1000 * self._BUSY_S)}")
        self._pending: dict[bytes, bytes] = {}
        self._observer = observer
        self._log = get_logger("cache")
        self._fails = False

    def get(self, key: bytes) -> tuple[Outcome, int] | None:
        """Returns an outcome and its size in bytes."""
        data = self._pending.get(key)
        try:
            if data is None:
                row = self._base.execute("SELECT outcome FROM outcomes WHERE key = ?", (key,)).fetchone()
                if row is None:
                    return None
                data = bytes(row[0])
            return outcome_from_json(loads(data)), len(data)
        except (sqlite3.Error, ValueError, TypeError, RequestError) as error:
            self._failed(error)
            return None

    def put(self, key: bytes, data: bytes) -> None:
        self._pending[key] = data
        if len(self._pending) >= self._BATCH:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._base.close()

    def _flush(self) -> None:
        pending, self._pending = self._pending, {}
        try:
            self._base.execute("BEGIN IMMEDIATE")
            try:
                self._base.executemany("INSERT OR REPLACE INTO outcomes VALUES (?, ?)", pending.items())
                self._base.execute("COMMIT")
            except BaseException:
                if self._base.in_transaction:  # a full disk has already ended it
                    self._base.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            self._failed(error)
        else:
            self._fails = False

    def _failed(self, error: Exception) -> None:
        self._observer.cache_failed("file")
        if not self._fails:
            self._log.warning("the cache's file cannot be used", kind=type(error).__name__)
        self._fails = True


def _keep_to_us(path: Path) -> None:
    """Makes the database unreadable for other users, because outcomes quote responses. SQLite gives its other files the
    same mode. Access that was granted to a group is kept."""
    for file in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
        with contextlib.suppress(FileNotFoundError, PermissionError):  # owned by another user
            file.chmod(file.stat().st_mode & 0o770)
    if not path.exists():
        path.touch(mode=0o600)
