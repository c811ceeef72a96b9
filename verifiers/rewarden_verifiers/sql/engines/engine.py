"""The interface of all engines: open a database, run one statement within limits, and return the result or the reason
why there is none.

An engine receives statements that `guard` has passed, and ensures by its own means that they can do no harm: read-only
connections, authorizers, roles, time-outs in the server.
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
    """The limits of one statement.

    time_s: seconds of CPU on embedded engines, of the server's wall clock on the others. rows, bytes: of the result.
    memory_mb: for sorting, grouping and joining, if the engine can limit it.
    """

    time_s: float = 5.0
    rows: int = 100_000
    bytes: int = 64 * 1024**2
    memory_mb: int = 256

    def seconds(self, watch: Watch) -> float:
        """Returns the seconds that a statement has in this place: on a fast worker, less than its limit."""
        return self.time_s if watch.quick_s is None else min(self.time_s, watch.quick_s)

    def goes_on(self, watch: Watch) -> bool:
        """Returns whether a statement that has used its `seconds` starts again on a slow worker, because it has not
        reached its limit."""
        return watch.quick_s is not None and watch.quick_s < self.time_s

    def exceeded(self, rows: int, size: int) -> tuple[FailureReason, str] | None:
        """Returns the reason and the message for a result of this many rows and bytes, or None if it is within the
        limits."""
        if rows > self.rows:
            return "rows_limit", f"it gives more than {self.rows} rows"
        return ("bytes_limit", f"its rows hold more than {self.bytes} bytes") if size > self.bytes else None


@dataclass(slots=True)
class ResultSet:
    """The result of a query: names of columns as the engine gives them, and rows in the engine's order.

    cost: the engine's work, in a unit that does not depend on the machine's load (SQLite: steps of its virtual machine;
    others: see the engine); None if the engine does not report it.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, with the type as declared, and the table and column that a foreign key references."""

    name: str
    type: str
    not_null: bool = False
    primary_key: bool = False
    unique: bool = False
    references: tuple[str, str] | None = None


Schema = Mapping[str, tuple[Column, ...]]
"""Tables and views by name."""


def schema_of(rows: Iterable[tuple[Any, ...]]) -> Schema:
    """Returns a schema from rows of (table, column, type, not null, primary key, unique, referenced table or None, its
    column)."""
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
    """A statement without a result. `message` is the engine's own, shortened; `reason` is its kind."""

    def __init__(self, reason: FailureReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class DatabaseFailed(Exception):
    """A database is not available: its file is missing or changed, its server does not answer, its script does not run.

    `ours`: whether the fault is the server's (its catalogue, its database servers) and not that of the database's
    sender.
    """

    def __init__(self, message: str, *, ours: bool) -> None:
        super().__init__(message)
        self.message = message
        self.ours = ours


def check_file(database: Database, file: str) -> None:
    """Raises DatabaseFailed if a database's file is missing, or has changed since it was registered."""
    try:
        found = os.stat(file)
    except OSError as error:
        raise DatabaseFailed(f"{os.path.basename(file)}: {error.strerror}", ours=True) from None
    if database.changed(found):
        raise DatabaseFailed("its file has changed since the server read the catalogue; restart the server", ours=True)


class Session(Protocol):
    """A connection to one database. Used for one statement at a time; after an exception it is closed, not reused."""

    def query(self, statement: str, caps: Caps, watch: Watch) -> ResultSet:
        """Runs one read-only statement. Raises QueryFailed, and Expired if `watch.quick_s` was reached."""

    def write(self, statement: str, caps: Caps, watch: Watch) -> int | None:
        """Runs one writing statement and returns the number of changed rows, if the engine reports it. Only on a
        throw-away copy.

        Raises QueryFailed, Expired.
        """

    def schema(self) -> Schema:
        """Returns the tables and views, in the order in which they were made if the engine keeps it."""

    @property
    def held(self) -> int:
        """The bytes of this process's memory that the database takes while the session is open."""

    def close(self) -> None:
        """Ends the connection, and drops its throw-away copy if it has one. Never raises."""


class Engine(Protocol):
    """A kind of database: a module of this package. Its name is also sqlglot's name of the dialect."""

    def open(self, database: Database, *, scratch: str | None = None, copy: bool = False) -> Session:
        """Opens a new read-only connection, or with `copy` a connection to a throw-away copy that can be written.

        scratch: the address of a server (`[sql] postgres`, `[sql] mysql`) on which databases that arrive as scripts or
        tables can be made. Raises DatabaseFailed.
        """
