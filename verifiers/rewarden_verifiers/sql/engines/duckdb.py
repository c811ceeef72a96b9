"""DuckDB, in this process.

A database has one instance in each worker, with a locked configuration: no files, no extensions, no network, no Python
variables, one thread, nothing spilled to disk. Each session is a separate connection, and each statement a separate
read-only transaction: DuckDB itself rejects all writes, including `WITH x AS (DELETE …)`.

The cost of a query is the number of rows that its operators read and passed on.
"""

from __future__ import annotations

import contextlib
import json
import marshal
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import duckdb
from duckdb import DuckDBPyConnection, ExpectedResultType, StatementType

from rewarden_verifiers.contract import Expired, Watch
from rewarden_verifiers.sql.databases import Database
from rewarden_verifiers.sql.engines.engine import (
    GRACE_S,
    Caps,
    Cell,
    DatabaseFailed,
    FailureReason,
    QueryFailed,
    ResultSet,
    Schema,
    check_file,
    schema_of,
)
from rewarden_verifiers.sql.engines.lookout import lookout
from rewarden_verifiers.sql.make import MAKE_BYTES, Insert, make_cpu_s, statements_of

_OPENING: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "async_threads": 0,  # the library's own threads would not survive a fork, and take 8 MiB each
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
}
_LOCKING = (
    "SET TimeZone = 'UTC'",
    "SET python_enable_replacements = false",  # otherwise `SELECT * FROM gold` reads our variable of that name
    "SET allowed_configs = ['memory_limit', 'enable_profiling', 'tracked_metrics']",  # ours; statements must not SET
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_PROFILING = (
    "SET enable_profiling = 'no_output'",
    "SET tracked_metrics = ['query.total_rows_scanned', 'query.total_intermediate_rows']",
)
_READING = frozenset({StatementType.SELECT, StatementType.MULTI})
"""MULTI is the result of PIVOT: a temporary type, and a SELECT. The type stays in the connection, which is then
closed."""
_WRITING = frozenset({StatementType.INSERT, StatementType.UPDATE, StatementType.DELETE, StatementType.MERGE_INTO})

_LOOK_S = 0.01
_LOOK_MAKING_S = 0.1
_IDLE = 0.05
"""Below this share of a core, a statement waits instead of working (`pg_sleep`)."""
_CHUNK = 2048
_BATCH = 4096
"""Values in one INSERT."""
_MESSAGE = 500
_MIB = 1024**2
_NESTED = frozenset({"list", "array", "struct", "map", "union", "tuple"})


def open(database: Database, *, scratch: str | None = None, copy: bool = False) -> DuckdbSession:
    """See `Engine.open`. Needs no server. A copy is held in memory."""
    return DuckdbSession(database, _Instance(database, copy=True) if copy else _shared(database))


class _Instance:
    """One database, opened and locked. `trusted` becomes false after an error inside DuckDB, which leaves it
    unusable."""

    def __init__(self, database: Database, *, copy: bool) -> None:
        self.key = database.key
        self.copy = copy
        self.trusted = True
        self.connections: set[DuckDBPyConnection] = set()
        self._limit: int | None = None
        try:
            self.root = _open(database, copy=copy)
        except (duckdb.Error, TypeError, ValueError, OverflowError) as error:
            raise DatabaseFailed(_text(error), ours=database.ours) from None
        # The memory of the tables must not count against a statement.
        memory = "SELECT coalesce(sum(memory_usage_bytes), 0) FROM duckdb_memory()"
        self.held = int(self.root.execute(memory).fetchall()[0][0])

    def connect(self) -> DuckDBPyConnection:
        """Opens another connection."""
        connection = self.root.cursor()
        for setting in _PROFILING:
            connection.execute(setting)
        self.connections.add(connection)
        return connection

    def bound(self, memory_mb: int) -> None:
        """Sets the limits of statements."""
        if memory_mb != self._limit:
            self.root.execute(f"SET memory_limit = '{memory_mb * _MIB + self.held}B'")
            self._limit = memory_mb

    def leave(self, connection: DuckDBPyConnection) -> None:
        """Closes a connection; the last one closes the instance."""
        self.connections.discard(connection)
        connection.close()
        if not self.connections:
            self.end()

    def end(self) -> None:
        """Closes it."""
        self.trusted = False
        if _INSTANCES.get(self.key) is self:
            del _INSTANCES[self.key]
        for connection in (*self.connections, self.root):
            connection.close()
        self.connections.clear()


_INSTANCES: dict[str, _Instance] = {}
"""The open databases, by their keys. Each stays open as long as a session uses it."""


def _shared(database: Database) -> _Instance:
    if database.key not in _INSTANCES:
        _INSTANCES[database.key] = _Instance(database, copy=False)
    return _INSTANCES[database.key]


def _open(database: Database, *, copy: bool) -> DuckDBPyConnection:
    file = database.file
    if file is not None:
        check_file(database, file)
        if os.path.exists(file + ".wal"):
            # `stat` does not cover it, so the answers could change while kept results stay.
            raise DatabaseFailed(
                "its file has changes in a file next to it (.wal); open it and run CHECKPOINT", ours=True
            )
        if not copy:
            return _locked(duckdb.connect(file, read_only=True, config=_OPENING))
    connection = duckdb.connect(":memory:", config=_OPENING)
    try:
        if file is None:
            with _making(_locked(connection), database):
                _make(connection, database)
            return connection
        place = os.path.abspath(file).replace("'", "''")
        connection.execute(f"ATTACH '{place}' AS source (READ_ONLY)")
        connection.execute("COPY FROM DATABASE source TO memory")
        connection.execute("DETACH source")
        return _locked(connection)
    except BaseException:
        connection.close()
        raise


def _locked(connection: DuckDBPyConnection) -> DuckDBPyConnection:
    for setting in _LOCKING:
        connection.execute(setting)
    return connection


@contextlib.contextmanager
def _making(connection: DuckDBPyConnection, database: Database) -> Iterator[None]:
    """Limits a script: an insert from an endless recursion would fill the memory."""
    late = threading.Event()
    limit_s = make_cpu_s(database)
    until = time.process_time() + limit_s

    def watch(done: threading.Event) -> None:
        while not done.wait(_LOOK_MAKING_S):
            if time.process_time() > until:
                late.set()
                connection.interrupt()

    if database.script_file is None:
        connection.execute(f"SET memory_limit = '{MAKE_BYTES}B'")
    try:
        with lookout(watch):
            yield
    except duckdb.Error:
        if late.is_set():
            raise DatabaseFailed(f"its script ran for more than {limit_s:g} s", ours=database.ours) from None
        raise


def _make(connection: DuckDBPyConnection, database: Database) -> None:
    for statement in statements_of(database, "duckdb"):
        if isinstance(statement, Insert):
            most = max(1, _BATCH // max(1, statement.width))
            for start in range(0, len(statement.rows), most):
                rows = statement.rows[start : start + most]
                connection.execute(statement.batch(len(rows)), [value for row in rows for value in row])
        else:
            connection.execute(statement)
    with contextlib.suppress(duckdb.TransactionException):
        connection.commit()  # if the script began a transaction and did not end it


class DuckdbSession:
    """See `Session`."""

    def __init__(self, database: Database, instance: _Instance) -> None:
        self._database = database
        self._instance = instance
        self._connection = instance.connect()

    def query(self, statement: str, caps: Caps, watch: Watch) -> ResultSet:
        """See `Session.query`. On a copy it also runs writing statements that return rows (RETURNING)."""
        if not self._instance.trusted and not self._instance.copy:
            self._instance = _shared(self._database)
            self._connection = self._instance.connect()
        self._instance.bound(caps.memory_mb)
        run = _Run(self._connection, caps, watch, writable=self._instance.copy)
        try:
            with watch.limit(cpu_s=run.limit_s + GRACE_S), lookout(run.watch):
                return run.result(statement)
        except QueryFailed:
            raise
        except duckdb.Error as error:
            if isinstance(error, (duckdb.FatalException, duckdb.InternalException)):
                self._instance.end()
            if run.ended is not None:
                if caps.goes_on(watch):
                    raise Expired from None
                raise QueryFailed("time_limit", run.ended) from None
            raise QueryFailed(_reason(error), _text(error)) from None
        except MemoryError:
            raise QueryFailed("memory_limit", f"it needs more than {caps.memory_mb} MiB") from None
        except (ValueError, OverflowError, RuntimeError) as error:
            # A value that Python cannot represent.
            raise QueryFailed("runtime_error", _text(error)) from None
        finally:
            self._settle(fresh=run.leaves)

    def write(self, statement: str, caps: Caps, watch: Watch) -> int | None:
        """See `Session.write`."""
        found = self.query(statement, caps, watch)
        return int(found.rows[0][0]) if found.columns == ("Count",) and len(found.rows) == 1 else None

    def _settle(self, *, fresh: bool) -> None:
        """Ends the transaction, and also the connection if the statement left state in it."""
        if not self._instance.trusted:
            return
        if not self._instance.copy:
            with contextlib.suppress(duckdb.Error):
                self._connection.rollback()
        if fresh:
            before, self._connection = self._connection, self._instance.connect()
            self._instance.leave(before)

    def schema(self) -> Schema:
        """See `Session.schema`. Tables outside `main` are named `schema.table`."""
        keys: dict[tuple[str, str], set[str]] = {}
        points: dict[tuple[str, str], tuple[str, str]] = {}
        for name, kind, columns, other, others in self._connection.execute(_CONSTRAINTS).fetchall():
            if kind == "FOREIGN KEY":
                for column, target in zip(columns, others, strict=True):
                    points[name, column] = (other, target)
            elif kind == "PRIMARY KEY" or len(columns) == 1:
                keys.setdefault((name, kind), set()).update(columns)
        return schema_of(
            (
                name,
                column,
                kind,
                not nullable,
                column in keys.get((name, "PRIMARY KEY"), ()),
                column in keys.get((name, "UNIQUE"), ()),
                *points.get((name, column), (None, None)),
            )
            for name, column, kind, nullable in self._connection.execute(_COLUMNS).fetchall()
        )

    @property
    def held(self) -> int:
        """See `Session.held`. Sessions share an instance, which counts with each of them."""
        return self._instance.held

    def close(self) -> None:
        """See `Session.close`."""
        if self._instance.trusted:
            self._instance.leave(self._connection)


_NAME = "CASE schema_name WHEN 'main' THEN table_name ELSE schema_name || '.' || table_name END"
_CONSTRAINTS = (
    f"SELECT {_NAME}, constraint_type, constraint_column_names, referenced_table, referenced_column_names"
    " FROM duckdb_constraints()"
)
_COLUMNS = (
    f"SELECT {_NAME}, column_name, data_type, is_nullable FROM duckdb_columns() WHERE NOT internal"
    " ORDER BY table_oid, column_index"
)


class _Run:
    """A running statement: its clock and its limits.

    ended: the reason once its time is over. leaves: whether it leaves state in the connection.
    """

    def __init__(self, connection: DuckDBPyConnection, caps: Caps, watch: Watch, *, writable: bool) -> None:
        self._connection = connection
        self._caps = caps
        self._writable = writable
        self.limit_s = caps.seconds(watch)
        self.ended: str | None = None
        self.leaves = False

    def watch(self, done: threading.Event) -> None:
        """Interrupts the statement from a thread when its time is over: nothing else can interrupt DuckDB's loops."""
        cpu, wall = time.process_time(), time.monotonic()
        pause = self.limit_s
        while not done.wait(pause):
            used, passed = time.process_time() - cpu, time.monotonic() - wall
            if used >= self.limit_s:
                self.ended = f"it ran for more than {self._caps.time_s:g} s of CPU time"
            elif used < _IDLE * passed:
                self.ended = f"it waited for more than {self._caps.time_s:g} s"
            if self.ended is not None:
                self._connection.interrupt()  # repeatedly: an interrupt between two steps is lost
            pause = max(_LOOK_S, self.limit_s - used)

    def result(self, text: str) -> ResultSet:
        """Runs the statement. Raises QueryFailed, duckdb.Error, MemoryError, and the exceptions of values that Python
        cannot represent."""
        statements = self._connection.extract_statements(text)
        if len(statements) != 1:
            raise QueryFailed("forbidden", f"there are {len(statements)} statements; there must be one")
        kind = statements[0].type
        if kind not in _READING and not (self._writable and kind in _WRITING):
            raise QueryFailed("forbidden", f"not permitted: {kind.name.lower()}")
        self.leaves = kind == StatementType.MULTI
        if not self._writable:
            self._connection.execute("BEGIN TRANSACTION READ ONLY")
        self._connection.execute(statements[0])
        description = self._connection.description or []
        gives = ExpectedResultType.QUERY_RESULT in statements[0].expected_result_type or kind in _READING
        nested = [place for place, item in enumerate(description) if item[1].id in _NESTED]
        rows: list[tuple[Cell, ...]] = []
        size = 0
        while gives or description:
            chunk = self._connection.fetchmany(min(_CHUNK, self._caps.rows + 1 - len(rows)))
            if not chunk:
                break
            rows += [_plain_row(row, nested) for row in chunk] if nested else chunk
            size += _held(chunk)
            if (over := self._caps.exceeded(len(rows), size)) is not None:
                raise QueryFailed(*over)
        return ResultSet(tuple(str(item[0]) for item in description), rows, self._cost())

    def _cost(self) -> float | None:
        try:
            told = json.loads(self._connection.get_profiling_information())["query"]
            return float(told["total_rows_scanned"] + told["total_intermediate_rows"])
        except (duckdb.Error, ValueError, KeyError):
            return None


def _held(rows: Any) -> int:
    try:
        return len(marshal.dumps(rows))  # there is no faster way to count the size of cells
    except ValueError:
        return sum(map(_size, rows))  # including dates, decimals and the like


def _size(cells: Any) -> int:
    size = 16 * len(cells)
    for cell in cells:
        if isinstance(cell, (str, bytes)):
            size += len(cell)
        elif isinstance(cell, (list, tuple)):
            size += _size(cell)
        elif isinstance(cell, dict):
            size += _size(tuple(cell)) + _size(tuple(cell.values()))
    return size


def _plain_row(row: tuple[Any, ...], nested: list[int]) -> tuple[Cell, ...]:
    cells = list(row)
    for place in nested:
        cells[place] = _plain(cells[place])
    return tuple(cells)


def _plain(cell: Any) -> Cell:
    """Converts tuples to lists: arrays of fixed length arrive as tuples, and lists as lists."""
    if isinstance(cell, (list, tuple)):
        return [_plain(item) for item in cell]
    if isinstance(cell, dict):
        return {key: _plain(value) for key, value in cell.items()}
    return cell


def _reason(error: duckdb.Error) -> FailureReason:
    if isinstance(error, duckdb.OutOfMemoryException):
        return "memory_limit"
    if isinstance(error, (duckdb.ParserException, duckdb.SyntaxException)):
        return "syntax_error"
    words = str(error)
    if isinstance(error, duckdb.PermissionException) or "read-only mode" in words or "has been locked" in words:
        return "forbidden"
    return "runtime_error"


def _text(error: Exception) -> str:
    return str(error).strip()[:_MESSAGE] or type(error).__name__
