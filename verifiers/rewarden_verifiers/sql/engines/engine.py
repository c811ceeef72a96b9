"""Interface of all engines: open a database, run one statement within caps, and say what came out or why nothing did.

An engine is handed statements that `guard` has passed, and holds by its own means that they can do no harm: read-only
connections, authorizers, roles, time-outs on the server's side.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from rewarden_verifiers.contract import Watch
from rewarden_verifiers.sql.databases import Database

Cell = Any
"""None, bool, int, float, Decimal, str, bytes, date, time, datetime, timedelta, UUID; lists and dicts of these."""

FailureReason = Literal[
    "syntax_error", "runtime_error", "time_limit", "memory_limit", "rows_limit", "bytes_limit", "forbidden"
]

GRACE_S = 0.1
"""Seconds over its limit after which a statement that did not stop is killed together with its process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """The most that one statement may take.

    time_s: seconds of CPU on embedded engines, of the server's wall clock on the others. rows, bytes: of the result.
    memory_mb: for sorting, grouping and joining, where the engine can bound it.
    """

    time_s: float = 5.0
    rows: int = 100_000
    bytes: int = 64 * 1024**2
    memory_mb: int = 256

    def seconds(self, watch: Watch) -> float:
        """Returns what a statement has where it runs now: less, on a fast worker, than the limit."""
        return self.time_s if watch.quick_s is None else min(self.time_s, watch.quick_s)

    def goes_on(self, watch: Watch) -> bool:
        """Returns whether a statement that has used its `seconds` begins anew on a slow worker, its limit not
        reached.
        """
        return watch.quick_s is not None and watch.quick_s < self.time_s

    def exceeded(self, rows: int, size: int) -> tuple[FailureReason, str] | None:
        """The reason and the words for a result of so many rows and bytes, where that is too much."""
        if rows > self.rows:
            return "rows_limit", f"it gives more than {self.rows} rows"
        return ("bytes_limit", f"its rows hold more than {self.bytes} bytes") if size > self.bytes else None


@dataclass(slots=True)
class ResultSet:
    """The answer to a query: names of columns as the engine gives them, and rows in the engine's order.

    cost: how much the engine worked for it, in a unit of its own that does not depend on the machine's load (SQLite:
    steps of its virtual machine; others: see the engine); None where the engine does not tell.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, with the type as declared, and the table and column that a foreign key points to."""

    name: str
    type: str
    not_null: bool = False
    primary_key: bool = False
    unique: bool = False
    references: tuple[str, str] | None = None


Schema = Mapping[str, tuple[Column, ...]]
"""Tables and views by name."""


def schema_of(rows: Iterable[tuple[Any, ...]]) -> Schema:
    """Rows of (table, column, type, not null, primary key, unique, referenced table or None, its column) as one."""
    found: dict[str, list[Column]] = {}
    for table, name, kind, not_null, primary, unique, other, points in rows:
        column = Column(
            name=name,
            type=kind,
            not_null=bool(not_null),
            primary_key=bool(primary),
            unique=bool(unique),
            references=None if other is None else (other, points),
        )
        found.setdefault(table, []).append(column)
    return {table: tuple(columns) for table, columns in found.items()}


class QueryFailed(Exception):
    """A statement gave no result. `message` is the engine's own, bounded; `reason` says of which kind it is."""

    def __init__(self, reason: FailureReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class DatabaseFailed(Exception):
    """A database cannot be had: its file is gone or changed, its server does not answer, its script does not run.

    `ours`: whether it is the server's doing (its catalogue, its servers) rather than that of who sent the database.
    """

    def __init__(self, message: str, *, ours: bool) -> None:
        super().__init__(message)
        self.message = message
        self.ours = ours


def check_file(database: Database, file: str) -> None:
    """Raises DatabaseFailed where a database's file is gone, or is another than when it was registered."""
    try:
        found = os.stat(file)
    except OSError as error:
        raise DatabaseFailed(f"{os.path.basename(file)}: {error.strerror}", ours=True) from None
    if database.changed(found):
        raise DatabaseFailed("its file has changed since the server read the catalogue; restart the server", ours=True)


class Session(Protocol):
    """A connection to one database. Used for one statement at a time; after an exception it is closed, not reused."""

    def query(self, statement: str, caps: Caps, watch: Watch) -> ResultSet:
        """Run one statement that only reads. Raises QueryFailed, and Expired where `watch.quick_s` was reached."""

    def write(self, statement: str, caps: Caps, watch: Watch) -> int | None:
        """Run one statement that writes; the rows it touched, where the engine says so. Only on a throw-away copy.

        Raises QueryFailed, Expired.
        """

    def schema(self) -> Schema:
        """The tables and views, in the order in which they were made where the engine keeps it."""

    @property
    def held(self) -> int:
        """Bytes of this process's memory that the database takes as long as the session is open."""

    def close(self) -> None:
        """End the connection, and the throw-away copy if it is one. Never raises."""


class Engine(Protocol):
    """A kind of database: a module of this package. Its name is that of its dialect, to sqlglot too."""

    def open(self, database: Database, *, scratch: str | None = None, copy: bool = False) -> Session:
        """A new connection that can only read; with `copy` one to a throw-away copy that can be written.

        scratch: the address of a server (`[sql] postgres`, `[sql] mysql`) on which databases that come as scripts or
        tables may be made. Raises DatabaseFailed.
        """
