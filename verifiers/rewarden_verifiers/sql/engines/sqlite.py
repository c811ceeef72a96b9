"""SQLite, through APSW, whose wheels contain the library: the same version on every machine.

A file is opened read-only and immutable, so that SQLite does not even take a lock next to it. While a statement is
compiled, an authorizer rejects everything that does not read, whatever the statement looks like. The clock is read
between steps of the virtual machine; the number of steps is also the cost of a query.
"""

from __future__ import annotations

import contextlib
import gc
import marshal
import os
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from rewarden_verifiers.contract import Expired, Watch
from rewarden_verifiers.sql.databases import Database
from rewarden_verifiers.sql.engines.engine import (
    GRACE_S,
    Caps,
    Column,
    DatabaseFailed,
    FailureReason,
    QueryFailed,
    ResultSet,
    Schema,
    check_file,
)
from rewarden_verifiers.sql.engines.functions import SQLITE
from rewarden_verifiers.sql.kept import Kept
from rewarden_verifiers.sql.make import MAKE_BYTES, Insert, make_cpu_s, quoted, statements_of

_STEPS = 2000
"""Steps of the virtual machine between two readings of the clock: well under a millisecond."""

_READING = frozenset({apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_RECURSIVE})
_WRITING = _READING | {apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE, apsw.SQLITE_TRANSACTION}
_MESSAGE = 500
_CHUNK = 1024
_VIRTUAL = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage = 0"
_BROKEN = (apsw.NotADBError, apsw.CorruptError, apsw.IOError, apsw.CantOpenError)
"""Errors of a file that is not a database, or not a complete one: no statement is to blame."""
_SCHEMA = (
    "SELECT name FROM pragma_table_list JOIN sqlite_schema USING (name) WHERE schema = 'main'"
    " AND pragma_table_list.type <> 'shadow' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY sqlite_schema.rowid"
)

_OPEN = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOMUTEX


def open(database: Database, *, scratch: str | None = None, copy: bool = False) -> SqliteSession:
    """See `Engine.open`. Needs no server. A copy is held in memory."""
    held = 0
    if database.file is not None:
        connection = _open_file(database, database.file, copy=copy)
    else:
        connection = apsw.Connection(":memory:")
        image = _image(database)
        held = len(image)
        connection.deserialize("main", image)
    try:
        return SqliteSession(connection, writable=copy, ours=database.ours, held=held)
    except apsw.Error as error:
        connection.close()
        raise DatabaseFailed(_text(error), ours=database.ours) from None


_IMAGES: Kept[bytes] = Kept(64 * 1024**2, len)
"""Made databases, as bytes: a script runs once in each worker, and not once for each session."""


def _image(database: Database) -> bytes:
    if database.image is not None:
        return database.image
    found = _IMAGES.get(database.key)
    if found is None:
        connection = apsw.Connection(":memory:")
        try:
            with _making(connection, database):
                _make(connection, database)
            found = connection.serialize("main")
        except (apsw.Error, TypeError, ValueError, OverflowError) as error:
            raise DatabaseFailed(f"it cannot be made: {_text(error)}", ours=database.ours) from None
        finally:
            connection.close(True)
        _IMAGES.put(database.key, found)
    return found


def _open_file(database: Database, file: str, *, copy: bool) -> apsw.Connection:
    check_file(database, file)
    for behind in ("-wal", "-journal"):
        # Immutable means that these are not read: their content would be missing from every answer.
        if _holds_changes(file + behind):
            raise DatabaseFailed(
                f"its file has changes in a file next to it ({behind}); run: sqlite3 FILE 'PRAGMA journal_mode=DELETE'",
                ours=True,
            )
    try:
        connection = apsw.Connection(f"file:{quote(os.path.abspath(file))}?mode=ro&immutable=1", flags=_OPEN)
        if copy:
            image = connection.serialize("main")
            connection.close()
            connection = apsw.Connection(":memory:")
            connection.deserialize("main", image)
        return connection
    except apsw.Error as error:
        raise DatabaseFailed(_text(error), ours=True) from None


def _holds_changes(file: str) -> bool:
    """Returns whether a journal has content: one that was kept after its use (PERSIST, TRUNCATE) begins with zeros."""
    try:
        with Path(file).open("rb") as opened:
            return any(opened.read(28))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _making(connection: apsw.Connection, database: Database) -> Iterator[None]:
    """Limits a script: an insert from an endless recursion would fill the memory."""
    until = time.process_time() + make_cpu_s(database)
    if database.script_file is None:
        apsw.hard_heap_limit(apsw.memory_used() + MAKE_BYTES)
    connection.set_progress_handler(lambda: time.process_time() > until, _STEPS)
    try:
        yield
    except apsw.InterruptError:
        raise DatabaseFailed(
            f"it cannot be made: its script ran for more than {make_cpu_s(database):g} s", ours=database.ours
        ) from None
    except (apsw.NoMemError, apsw.FullError, MemoryError):
        raise DatabaseFailed(f"it cannot be made: it holds more than {MAKE_BYTES} bytes", ours=database.ours) from None
    finally:
        apsw.hard_heap_limit(0)
        connection.set_progress_handler(None)


def _make(connection: apsw.Connection, database: Database) -> None:
    connection.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
    connection.execute("PRAGMA temp_store = MEMORY")  # counted, and not a file that fills the disk
    connection.authorizer = _may_make
    for statement in statements_of(database, "sqlite"):  # dumps begin and commit a transaction of their own
        if isinstance(statement, Insert):
            connection.executemany(statement.text, statement.rows)
        else:
            connection.execute(statement)
    connection.authorizer = None
    if not connection.get_autocommit():
        connection.execute("COMMIT")


def _may_make(action: int, first: str | None, second: str | None, base: str | None, trigger: str | None) -> int:
    """Returns whether a script that makes a database may perform an action: all that stay within the database."""
    if action in (apsw.SQLITE_ATTACH, apsw.SQLITE_DETACH, apsw.SQLITE_CREATE_VTABLE):
        return int(apsw.SQLITE_DENY)
    if action == apsw.SQLITE_PRAGMA and (first or "").lower().startswith(("temp_store", "hard_heap", "soft_heap")):
        return int(apsw.SQLITE_DENY)
    if action == apsw.SQLITE_FUNCTION and (second or "").lower() in ("load_extension", "fts3_tokenizer"):
        return int(apsw.SQLITE_DENY)
    return int(apsw.SQLITE_OK)


class SqliteSession:
    """See `Session`. On a copy, `query` also runs writing statements that return rows (RETURNING)."""

    def __init__(self, connection: apsw.Connection, *, writable: bool, ours: bool, held: int = 0) -> None:
        self._connection = connection
        self.held = held
        self._ours = ours
        self._permitted = _WRITING if writable else _READING
        self._refused: str | None = None
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)
        connection.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
        connection.limit(apsw.SQLITE_LIMIT_WORKER_THREADS, 0)
        # A sort that does not fit becomes `memory_limit`, and not a file that fills the disk.
        connection.execute("PRAGMA temp_store = MEMORY")
        if writable:
            connection.execute("PRAGMA foreign_keys = ON")
        # A virtual table prepares its own statements, including writing ones, when it is first named.
        for name in [str(name) for (name,) in connection.execute(_VIRTUAL)]:
            with contextlib.suppress(apsw.SQLError):
                connection.execute(f"SELECT 1 FROM {quoted(name, 'sqlite')} LIMIT 0")
        if not writable:
            connection.execute("PRAGMA query_only = ON")
        connection.authorizer = self._may

    def _may(self, action: int, first: str | None, second: str | None, base: str | None, trigger: str | None) -> int:
        if action in self._permitted:
            return int(apsw.SQLITE_OK)
        if action == apsw.SQLITE_FUNCTION and (second or "").lower() in SQLITE:
            return int(apsw.SQLITE_OK)
        if action == apsw.SQLITE_PRAGMA and (first, second) == ("data_version", None):
            return int(apsw.SQLITE_OK)  # FTS5 needs it for every read
        name = str(apsw.mapping_authorizer_function[action]).removeprefix("SQLITE_").lower()
        self._refused = " ".join(filter(None, (name, first, second)))
        return int(apsw.SQLITE_DENY)

    def query(self, statement: str, caps: Caps, watch: Watch) -> ResultSet:
        """See `Session.query`."""
        try:
            return self._run(statement, caps, watch)
        except UnicodeDecodeError:
            if self._permitted is not _READING:
                raise QueryFailed("runtime_error", "it returns texts that are not UTF-8") from None
            try:
                return self._run(statement, caps, watch, undecodable=True)
            except UnicodeDecodeError:
                raise DatabaseFailed("a name in it is not UTF-8", ours=self._ours) from None

    def write(self, statement: str, caps: Caps, watch: Watch) -> int | None:
        """See `Session.write`."""
        self._run(statement, caps, watch)
        return self._connection.changes()

    def _run(self, statement: str, caps: Caps, watch: Watch, *, undecodable: bool = False) -> ResultSet:
        run = _Run(self._connection, caps, watch)
        self._refused = None
        try:
            with watch.limit(cpu_s=run.limit_s + GRACE_S), _uncollected():
                return run.undecodable(statement) if undecodable else run.result(statement)
        except apsw.Error as error:
            if run.ended == "time_limit" and caps.goes_on(watch):
                raise Expired from None
            if run.ended is not None:
                raise QueryFailed(run.ended, run.message) from None
            if isinstance(error, _BROKEN) and getattr(error, "extendedresult", 0) != apsw.SQLITE_IOERR_NOMEM:
                raise DatabaseFailed(_text(error), ours=self._ours) from None
            if self._refused is not None:
                raise QueryFailed("forbidden", f"not permitted: {self._refused}") from None
            raise QueryFailed(_reason(error), _text(error)) from None
        except MemoryError:
            raise QueryFailed("memory_limit", f"it needs more than {caps.memory_mb} MiB") from None
        finally:
            run.end()

    def schema(self) -> Schema:
        """See `Session.schema`."""
        with _unguarded(self._connection):
            names = [str(name) for (name,) in self._connection.execute(_SCHEMA)]
            return {name: tuple(_columns(self._connection, name)) for name in names}

    def close(self) -> None:
        """See `Session.close`."""
        self._connection.close(True)


class _Run:
    """A running statement: its clock, its limits, and the reason for its end."""

    def __init__(self, connection: apsw.Connection, caps: Caps, watch: Watch) -> None:
        self._connection = connection
        self._caps = caps
        self.limit_s = caps.seconds(watch)
        self.ended: FailureReason | None = None
        self.message = ""
        self._steps: float | None = None
        self._columns: tuple[str, ...] | None = None
        self._until = time.process_time() + self.limit_s
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, min(caps.bytes, 2**30))
        apsw.hard_heap_limit(apsw.memory_used() + caps.memory_mb * 1024**2)
        connection.set_progress_handler(self._tick, _STEPS)
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._profile)

    def end(self) -> None:
        """Removes the handlers."""
        apsw.hard_heap_limit(0)
        self._connection.set_progress_handler(None)
        self._connection.trace_v2(0, None)

    def _tick(self) -> bool:
        if time.process_time() <= self._until:
            return False
        self._stop("time_limit", f"it ran for more than {self._caps.time_s:g} s of CPU time")
        return True

    def _stop(self, reason: FailureReason, message: str) -> None:
        self.ended, self.message = reason, message

    def _profile(self, event: Mapping[str, Any]) -> None:
        self._steps = float(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

    def _begins(self, cursor: apsw.Cursor, text: str, bindings: Any) -> bool:
        if self._columns is not None:
            self._stop("forbidden", "there is more than one statement")
            return False  # raises apsw.ExecTraceAbort
        self._columns = tuple(str(item[0]) for item in cursor.get_description())
        return True

    def result(self, statement: str) -> ResultSet:
        """Runs the statement. Raises apsw.Error, MemoryError, UnicodeDecodeError."""
        cursor = self._connection.cursor()
        cursor.exec_trace = self._begins
        rows: list[tuple[Any, ...]] = []
        size, count = 0, 1
        found = cursor.execute(statement, can_cache=False)
        # A few rows first: a single one can be as long as all are allowed to be together.
        while chunk := list(islice(found, min(count, self._caps.rows + 1 - len(rows)))):
            rows += chunk
            size += len(marshal.dumps(chunk))  # there is no faster way to count the size of cells
            count = min(2 * count, _CHUNK)
            if (over := self._caps.exceeded(len(rows), size)) is not None:
                self._stop(*over)
            if self.ended is not None:
                cursor.close(True)
                raise apsw.InterruptError(self.message)
        cursor.close()
        return ResultSet(self._columns or (), rows, self._steps)

    def undecodable(self, statement: str) -> ResultSet:
        """Runs the statement again for a database whose texts are not in its declared encoding (Spider's wta_1):
        invalid bytes become Python's escapes (`surrogateescape`)."""
        codec, errors = self._codec
        columns = self._columns_of(statement)
        names = [f"c{place}" for place in range(len(columns))]
        texts = ", ".join(
            f"typeof({name}), CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
            for name in names
        )
        self._columns = None
        found = self.result(f"WITH q({', '.join(names)}) AS MATERIALIZED (\n{statement}\n) SELECT {texts} FROM q")
        rows = [
            tuple(
                cell.decode(codec, errors) if kind == "text" and isinstance(cell, bytes) else cell
                for kind, cell in zip(row[::2], row[1::2], strict=True)
            )
            for row in found.rows
        ]
        return ResultSet(columns, rows, found.cost)

    @property
    def _codec(self) -> tuple[str, str]:
        """Returns the codec for a text that was cast to a BLOB."""
        with _unguarded(self._connection):
            encoding = str(self._connection.pragma("encoding"))
        if encoding == "UTF-8":
            return "utf-8", "surrogateescape"
        return ("utf-16-be" if encoding == "UTF-16be" else "utf-16-le"), "surrogatepass"

    def _columns_of(self, statement: str) -> tuple[str, ...]:
        cursor = self._connection.cursor()
        cursor.exec_trace = lambda cursor, text, bindings: self._begins(cursor, text, bindings) and False
        with contextlib.suppress(apsw.ExecTraceAbort):
            cursor.execute(statement, can_cache=False)
        return self._columns or ()


class _uncollected:
    """Turns garbage collection off meanwhile: rows have no cycles, and searching through all of them takes as long as
    fetching them."""

    def __enter__(self) -> None:
        self._was = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was:
            gc.enable()


@contextlib.contextmanager
def _unguarded(connection: apsw.Connection) -> Iterator[None]:
    """Runs our own statements, about the schema."""
    authorizer, connection.authorizer = connection.authorizer, None
    try:
        yield
    finally:
        connection.authorizer = authorizer


def _columns(connection: apsw.Connection, table: str) -> Iterator[Column]:
    target = quoted(table, "sqlite")
    points = {
        str(row[3]).lower(): (str(row[2]), str(row[4] or ""))
        for row in connection.execute(f"PRAGMA foreign_key_list({target})")
    }
    unique = set()
    for row in list(connection.execute(f"PRAGMA index_list({target})")):
        if row[2]:
            index = quoted(str(row[1]), "sqlite")
            members = [str(part[2]) for part in connection.execute(f"PRAGMA index_info({index})")]
            if len(members) == 1:
                unique.add(members[0])
    for row in connection.execute(f"PRAGMA table_info({target})"):
        name = str(row[1])
        yield Column(
            name=name,
            type=str(row[2]),
            not_null=bool(row[3]),
            primary_key=bool(row[5]),
            unique=name in unique,
            references=points.get(name.lower()),
        )


def _reason(error: apsw.Error) -> FailureReason:
    if isinstance(error, (apsw.NoMemError, apsw.IOError, apsw.FullError)):
        return "memory_limit"
    if isinstance(error, apsw.ReadOnlyError):
        return "forbidden"
    if isinstance(error, apsw.TooBigError):
        return "bytes_limit"
    message = str(error)
    if "syntax error" in message or "incomplete input" in message or "unrecognized token" in message:
        return "syntax_error"
    return "runtime_error"


def _text(error: Exception) -> str:
    return str(error).strip().removeprefix("SQLError: ")[:_MESSAGE] or type(error).__name__
