"""The store's file: its tables, how it is opened, and what happens to a broken one.

SQLite in WAL mode: readers never wait for the writer, several servers on one machine may share the file, and a server
that is killed loses at most the last half second. A later schema will use another file name.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from rewarden_server.observe.logs import get_logger
from rewarden_server.runs.figures import SUMS
from rewarden_server.runs.place import TIME_S

NAME = "runs.v2.sqlite"

BROKEN = "broken"
"""The suffix of a broken file. Only the last one is kept."""

_BUSY_S = 5.0

_TABLES = f"""
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(8)))),
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    began REAL NOT NULL,
    latest REAL NOT NULL,
    verdicts INTEGER NOT NULL,
    scored INTEGER NOT NULL,
    positions INTEGER NOT NULL,
    position REAL NOT NULL,
    cost_usd REAL NOT NULL,
    last_step INTEGER,
    step_width INTEGER NOT NULL DEFAULT 1,
    time_width INTEGER NOT NULL DEFAULT {TIME_S},
    rollouts INTEGER NOT NULL DEFAULT 0,
    seq INTEGER NOT NULL DEFAULT 0,
    UNIQUE (key, name)
);
CREATE TABLE IF NOT EXISTS names (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (run, kind, name)
);
CREATE TABLE IF NOT EXISTS points (
    run INTEGER NOT NULL,
    by_step INTEGER NOT NULL,
    at INTEGER NOT NULL,
    source INTEGER NOT NULL,
    began REAL NOT NULL,
    seq INTEGER NOT NULL,
    {", ".join(f"{name} NOT NULL" for name in SUMS)},
    PRIMARY KEY (run, by_step, at, source)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS points_by_seq ON points (run, seq);
CREATE TABLE IF NOT EXISTS counts (
    run INTEGER NOT NULL,
    by_step INTEGER NOT NULL,
    at INTEGER NOT NULL,
    source INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    name INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (run, by_step, at, source, kind, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rollouts (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL,
    by_step INTEGER NOT NULL,
    at INTEGER NOT NULL,
    source INTEGER NOT NULL,
    time REAL NOT NULL,
    step INTEGER,
    status TEXT NOT NULL,
    passed INTEGER,
    position REAL,
    reason TEXT,
    flags TEXT NOT NULL,
    member TEXT,
    prompt BLOB,
    data BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS rollouts_by_place ON rollouts (run, by_step, at);
"""
"""names: of kinds in `figures.Kind`. counts: `name` is the number of a name, or of a bucket. rollouts: `flags` have a
space before and after each; `member`: the group; `prompt`: a digest; `data`: see `rollouts.py`."""

_log = get_logger("runs")


def open_for_writing(folder: Path) -> sqlite3.Connection:
    """Opens a connection that writes, creating the folder and the file. Raises OSError, sqlite3.Error.

    Readable by the server's user alone: rollouts contain the text of samples.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / NAME
    with _alone(folder):
        if not path.exists():
            _make(path)
        connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA journal_size_limit = {16 * 1024**2}")
            connection.execute("PRAGMA secure_delete = FAST")
            connection.executescript(_TABLES)
        except BaseException:
            connection.close()
            raise
    return connection


def _make(path: Path) -> None:
    """Creates the file with its tables, and only then gives it its name: a reader that finds the file finds the tables
    too."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)  # of a server that was killed
    os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.executescript(_TABLES)
    new.replace(path)


def open_for_reading(folder: Path) -> sqlite3.Connection:
    """Opens a connection that reads. Raises sqlite3.Error, also if there is no file."""
    path = (folder / NAME).absolute().as_uri()
    connection = sqlite3.connect(
        f"{path}?mode=ro", uri=True, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("SELECT number FROM runs LIMIT 1").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def identity(folder: Path) -> tuple[int, int] | None:
    """Returns the identity of the file, which differs from that of any other file of the same name; None if there is
    none."""
    try:
        found = os.stat(folder / NAME)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_broken(error: Exception) -> bool:
    """Returns whether an error says that the file is damaged, or not a database."""
    # Its subclasses report a disk, a lock or a defect of ours; the plain class reports the file.
    return type(error) is sqlite3.DatabaseError


def set_aside(folder: Path) -> None:
    """Moves a broken file away, replacing an earlier one, so that a new file is started. Raises OSError."""
    path = folder / NAME
    with _alone(folder):
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        path.replace(path.with_name(f"{path.name}.{BROKEN}"))
    _log.error("the store of runs is damaged; a new one was created", file=str(path), kept=f"{path.name}.{BROKEN}")


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keeps other servers from opening or moving the file at the same moment."""
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
