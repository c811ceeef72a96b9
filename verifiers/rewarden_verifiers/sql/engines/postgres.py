"""PostgreSQL, over a connection to a server.

Each statement runs in a separate read-only transaction, as the query of a cursor: the server itself rejects anything
that is not a query there. It is sent by the extended protocol, so that it cannot be two. The server stops it at its
limit; if the server does not, it is cancelled over another connection, and then its backend is terminated. If this
process dies, the server notices within `client_connection_check_interval`.

The cost of a query (`ResultSet.cost`) is the planner's total cost of its plan. It does not depend on the machine's
load, and for databases that are made here the planner's statistics are collected once, after the last row. Parallel
workers and JIT are off: a query has the CPU of one process. Memory is limited by `work_mem` for each sort and hash;
beyond it PostgreSQL writes temporary files, which a superuser can limit: `ALTER ROLE … SET temp_file_limit = '4GB'`.

Set in every session: UTC, ISO dates, and `search_path = public` unless the address sets another
(`?options=-c%20search_path%3D…`).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import psycopg

from rewarden_verifiers.contract import Watch
from rewarden_verifiers.sql.databases import Database
from rewarden_verifiers.sql.engines import script
from rewarden_verifiers.sql.engines.engine import (
    Caps,
    DatabaseFailed,
    FailureReason,
    QueryFailed,
    ResultSet,
    Schema,
    schema_of,
)
from rewarden_verifiers.sql.engines.postgres_scratch import PostgresScratch
from rewarden_verifiers.sql.engines.postgres_wire import Gone, Wire, said
from rewarden_verifiers.sql.engines.scratch import Copy
from rewarden_verifiers.sql.engines.served import LATE_S, Late, Run, check_unicode, ours, uncopied, unserved

_MESSAGE = 500
_WORK_MEM_MB = 64

_ROLE = """
SELECT rolsuper
    OR pg_has_role(oid, 'pg_read_server_files', 'MEMBER') OR pg_has_role(oid, 'pg_write_server_files', 'MEMBER')
    OR pg_has_role(oid, 'pg_execute_server_program', 'MEMBER') OR pg_has_role(oid, 'pg_signal_backend', 'MEMBER')
FROM pg_roles WHERE rolname = current_user
"""
_COLUMNS = """
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
    coalesce(bool_or(k.contype = 'p'), false), coalesce(bool_or(k.contype = 'u' AND cardinality(k.conkey) = 1), false),
    max(CASE WHEN k.contype = 'f' THEN (SELECT r.relname::text FROM pg_class r WHERE r.oid = k.confrelid) END),
    max(CASE WHEN k.contype = 'f' THEN f.attname::text END)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = ANY (current_schemas(false))
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND a.attnum = ANY (k.conkey)
LEFT JOIN pg_attribute f ON f.attrelid = k.confrelid AND f.attnum = k.confkey[array_position(k.conkey, a.attnum)]
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f')
GROUP BY c.oid, c.relname, a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull
ORDER BY c.oid, a.attnum
"""


def open(database: Database, *, scratch: str | None = None, copy: bool = False) -> PostgresSession:
    """See `Engine.open`. A registered database on a server cannot be copied: PostgreSQL copies only databases without
    connections."""
    if database.dsn is not None:
        if copy:
            raise uncopied("pg_dump")
        return PostgresSession(_connect(database.dsn))
    if scratch is None:
        raise unserved("postgres")
    try:
        maker = PostgresScratch(scratch)
        if copy:
            held = maker.copy(database)
            try:
                return PostgresSession(_connect(scratch, held.name), held)
            except BaseException:
                held.drop()
                raise
        for _ in range(3):
            name = maker.database(database)
            # Another process may have dropped it meanwhile to make room.
            with contextlib.suppress(psycopg.errors.InvalidCatalogName):
                return PostgresSession(_connect(scratch, name))
    except (psycopg.Error, Gone) as error:
        raise DatabaseFailed(f"its server failed: {said(error)}", ours=True) from None
    raise DatabaseFailed("it is dropped as soon as it is made: raise the number that is kept", ours=True)


def _connect(dsn: str, name: str | None = None) -> Wire:
    try:
        wire = Wire(dsn, name)
    except psycopg.errors.InvalidCatalogName:
        if name is not None:
            raise
        raise DatabaseFailed("there is no such database on its server", ours=True) from None
    except psycopg.Error as error:
        raise DatabaseFailed(f"its server does not answer: {said(error)}", ours=True) from None
    if wire.version < 140_000:
        wire.close()
        raise DatabaseFailed("PostgreSQL 14 or later is needed, to notice that a client is gone", ours=True)
    powerful = wire.rows(_ROLE)
    if powerful and powerful[0][0]:
        # `COPY … TO PROGRAM` and pg_read_file would be one mistake in a guard away.
        wire.close()
        raise DatabaseFailed(
            "its role may read the server's files or end others' sessions; make one that may not: CREATE ROLE rewarden "
            "LOGIN PASSWORD '…'; GRANT pg_read_all_data TO rewarden (for [sql] postgres: ALTER ROLE rewarden CREATEDB)",
            ours=True,
        )
    return wire


class PostgresSession:
    """See `Session`."""

    held = 0
    """See `Session.held`. The data is on the server."""

    def __init__(self, wire: Wire, copy: Copy | None = None) -> None:
        self._wire = wire
        self._copy = copy

    def query(self, statement: str, caps: Caps, watch: Watch) -> ResultSet:
        """See `Session.query`."""
        script.check(statement, "postgres")
        _check(statement)
        run = Run(caps, watch)
        with _ours():
            self._begin(run, "ISOLATION LEVEL REPEATABLE READ READ ONLY")
        with self._timed(run):
            # On a separate line, so that a comment at the statement's end ends there.
            self._wire.one(f"DECLARE c NO SCROLL CURSOR FOR\n{statement}\n", run.until)
            result = self._fetch(run)
        with contextlib.suppress(Late, Gone, psycopg.Error):
            result.cost = self._cost(statement)
        self._clean()
        return result

    def write(self, statement: str, caps: Caps, watch: Watch) -> int | None:
        """See `Session.write`."""
        if self._copy is None:
            raise QueryFailed("forbidden", "only a copy may be written")
        script.check(statement, "postgres", write=True)
        _check(statement)
        run = Run(caps, watch)
        with _ours():
            self._begin(run, "READ WRITE")
        with self._timed(run):
            touched = self._wire.one(statement, run.until)
        self._commit(run)
        self._clean()
        return touched

    def schema(self) -> Schema:
        """See `Session.schema`."""
        return schema_of(self._wire.rows(_COLUMNS))

    def close(self) -> None:
        """See `Session.close`."""
        self._wire.close()
        if self._copy is not None:
            self._copy.drop()

    def _begin(self, run: Run, mode: str) -> None:
        milliseconds = max(1, math.ceil(run.limit_s * 1000))
        memory = f"{min(run.caps.memory_mb, _WORK_MEM_MB)}MB"
        self._wire.begin(f"BEGIN {mode}; SET LOCAL statement_timeout = {milliseconds}; SET LOCAL work_mem = '{memory}'")

    @contextlib.contextmanager
    def _timed(self, run: Run) -> Iterator[None]:
        """Runs only the judged statement: its time begins here.

        Raises QueryFailed, DatabaseFailed, Expired.
        """
        run.begin()
        try:
            with run.watched():
                yield
        except Late:
            with _ours():
                self._wire.cancel()
            raise run.late() from None
        except Gone as error:
            raise DatabaseFailed(f"its server failed: {said(error)}", ours=True) from None
        except UnicodeDecodeError:
            raise DatabaseFailed("it holds text that is not UTF-8", ours=True) from None
        except psycopg.Error as error:
            failed = _failure(error, run)
            if isinstance(failed, QueryFailed) and failed.reason in ("syntax_error", "runtime_error", "forbidden"):
                self._clean()
            raise failed from None

    def _commit(self, run: Run) -> None:
        """Lets the server stop the statement at its limit and check its deferred constraints: a violation is the
        statement's failure.

        Raises QueryFailed, DatabaseFailed, Expired.
        """
        with _ours():
            try:
                self._wire.simple("COMMIT", run.limit_s + LATE_S)
            except psycopg.Error as error:
                failed = _failure(error, run)
                self._clean()
                raise failed from None

    def _clean(self) -> None:
        """Removes the state of the last statement from the session, such as locks, seeds and settings. If the server
        does not do so, a new session replaces it.

        The statement has ended by then, and its result stands, however slow the server is afterwards.
        """
        try:
            self._wire.simple("ROLLBACK")
            self._wire.simple("DISCARD ALL")
        except (Late, Gone, psycopg.Error):
            self._wire.close()

    def _fetch(self, run: Run) -> ResultSet:
        rows: list[tuple[Any, ...]] = []
        columns: tuple[str, ...] = ()
        size = 0
        for names, part, held in self._wire.stream("FETCH FORWARD ALL FROM c", run.until):
            columns = names
            rows += part
            size += held
            if (over := run.caps.exceeded(len(rows), size)) is not None:
                self._wire.cancel()
                raise QueryFailed(*over)
        return ResultSet(columns, rows)

    def _cost(self, statement: str) -> float | None:
        plan = self._wire.rows(f"EXPLAIN (FORMAT JSON)\n{statement}\n")
        return float(plan[0][0][0]["Plan"]["Total Cost"])


def _ours() -> contextlib.AbstractContextManager[None]:
    return ours((Gone, psycopg.Error), said)


def _check(statement: str) -> None:
    """Raises QueryFailed for a statement that must not be sent to a server."""
    if "\0" in statement:
        raise QueryFailed("syntax_error", "a statement has no NUL")  # the server would not read anything after it
    check_unicode(statement)


_FORBIDDEN = ("42501", "25006")
_MEMORY = ("53200", "53400")
_OURS = ("08", "57P", "531", "533", "55P03", "40", "58", "XX001", "XX002", "25P", "F0", "28", "3D")
"""SQLSTATEs, or their prefixes, that no query has caused (PostgreSQL's manual, appendix A)."""


def _failure(error: psycopg.Error, run: Run) -> BaseException:
    state = error.sqlstate
    if state == "57014":
        return run.late()
    if state is None or state.startswith(_OURS):
        return DatabaseFailed(f"its server failed: {said(error)}", ours=True)
    reason: FailureReason = "runtime_error"
    if state == "42601":
        reason = "syntax_error"
    elif state in _FORBIDDEN:
        reason = "forbidden"
    elif state in _MEMORY:
        reason = "memory_limit"
    return QueryFailed(reason, said(error)[:_MESSAGE])
