"""Archives that the server keeps under the caller's names: one bounded file, shared by its workers."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rewarden_verifiers.state_folder import state_folder

MOST_TEXTS = 1_000
MOST_CHARACTERS = 200_000
"""Per archive: the oldest texts are dropped first."""
MOST_ARCHIVES = 500
"""Per server: the least recently extended archive is dropped first. Attack: requests that each name a new archive."""

_WAIT_S = 5.0
"""Seconds that a worker waits for another one to finish writing."""

_TABLE = """
CREATE TABLE IF NOT EXISTS texts (
    number INTEGER PRIMARY KEY AUTOINCREMENT, archive TEXT NOT NULL, sample TEXT NOT NULL, digest TEXT NOT NULL,
    text TEXT NOT NULL, UNIQUE (archive, sample, digest)
)
"""


@dataclass(frozen=True, slots=True)
class Keeper:
    """The file of all archives. All methods block, and raise sqlite3.Error if the file cannot be used."""

    folder: Path = field(default_factory=lambda: state_folder("archives"))

    def texts(self, archive: str, sample: str, text: str) -> list[str]:
        """Returns the texts of an archive, oldest first. An equal text of the same sample is left out: this is a
        retry.
        """
        with self._open() as file:
            rows = file.execute(
                "SELECT text FROM texts WHERE archive = ? AND NOT (sample = ? AND digest = ?) ORDER BY number",
                (archive, sample, _digest(text)),
            )
            return [row[0] for row in rows]

    def add(self, archive: str, sample: str, text: str) -> None:
        """Adds a text, once for each sample, and deletes the oldest texts beyond the limits."""
        with self._open() as file:
            file.execute("BEGIN IMMEDIATE")
            file.execute(
                "INSERT OR IGNORE INTO texts (archive, sample, digest, text) VALUES (?, ?, ?, ?)",
                (archive, sample, _digest(text), text),
            )
            sizes = file.execute(
                "SELECT number, length(text) FROM texts WHERE archive = ? ORDER BY number DESC", (archive,)
            ).fetchall()
            characters = 0
            for place, (number, size) in enumerate(sizes):
                characters += size
                if place >= MOST_TEXTS or characters > MOST_CHARACTERS:
                    file.execute("DELETE FROM texts WHERE archive = ? AND number <= ?", (archive, number))
                    break
            file.execute(
                "DELETE FROM texts WHERE archive IN (SELECT archive FROM texts GROUP BY archive "
                "ORDER BY max(number) DESC LIMIT -1 OFFSET ?)",
                (MOST_ARCHIVES,),
            )
            file.execute("COMMIT")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise sqlite3.OperationalError(str(error)) from error
        path = self.folder / "texts.sqlite3"
        with closing(sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None)) as file:
            file.execute("PRAGMA journal_mode = WAL")
            file.execute(_TABLE)
            yield file


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
