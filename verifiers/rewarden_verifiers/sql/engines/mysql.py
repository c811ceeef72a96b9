"""MySQL and MariaDB, over a connection to a server.

Each statement runs in a read-only transaction, in a session that is reset afterwards, and is sent as a single
statement. The server stops it at its limit (MariaDB: `max_statement_time`; MySQL: `max_execution_time`); if the server
does not, its connection is killed over another one. A server does not notice that a client has died before it has a row
for it: the statement of a killed process runs until its limit, and no longer.

The cost of a query (`ResultSet.cost`) is the number of rows that it requested from the storage engine
(`Handler_read_%`): exact, and independent of the machine's load.

Set in every session: UTC, utf8mb4, and the default `sql_mode` of the server's kind. MySQL's contains
ONLY_FULL_GROUP_BY. MariaDB's does not, because MariaDB does not recognise columns that depend on a key, and rejects
queries that MySQL runs. ANSI_QUOTES is off. MariaDB limits a session's memory (`max_session_mem_used`), MySQL the size
of temporary tables in memory.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import pymysql

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
from rewarden_verifiers.sql.engines.mysql_scratch import MysqlScratch
from rewarden_verifiers.sql.engines.mysql_wire import Wire, number, said
from rewarden_verifiers.sql.engines.scratch import Copy
from rewarden_verifiers.sql.engines.served import Late, Run, check_unicode, ours, uncopied, unserved

_HARMLESS = frozenset({"USAGE", "SHOW DATABASES"})
"""Privileges on all databases that an account may have: any other one allows it to read passwords or files, or to end
the sessions of others."""

_COLUMNS = """
SELECT c.TABLE_NAME, c.COLUMN_NAME, c.COLUMN_TYPE, c.IS_NULLABLE = 'NO', c.COLUMN_KEY = 'PRI', c.COLUMN_KEY = 'UNI',
    MAX(k.REFERENCED_TABLE_NAME), MAX(k.REFERENCED_COLUMN_NAME)
FROM information_schema.COLUMNS c
LEFT JOIN information_schema.KEY_COLUMN_USAGE k
    ON k.TABLE_SCHEMA = c.TABLE_SCHEMA AND k.TABLE_NAME = c.TABLE_NAME AND k.COLUMN_NAME = c.COLUMN_NAME
    AND k.REFERENCED_TABLE_NAME IS NOT NULL
WHERE c.TABLE_SCHEMA = DATABASE()
GROUP BY c.TABLE_NAME, c.COLUMN_NAME, c.COLUMN_TYPE, c.IS_NULLABLE, c.COLUMN_KEY, c.ORDINAL_POSITION
ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION
"""


def open(database: Database, *, scratch: str | None = None, copy: bool = False) -> MysqlSession:
    """See `Engine.open`. A registered database on a server is not copied."""
    try:
        if database.dsn is not None:
            if copy:
                raise uncopied("mysqldump")
            address = database.dsn
            return MysqlSession(lambda: _permitted(Wire(address)))
        if scratch is None:
            raise unserved("mysql")
        server, maker = scratch, MysqlScratch(scratch)
        if not copy:
            return MysqlSession(lambda: _opened(maker, server, database))
        held = maker.copy(database)
        try:
            return MysqlSession(lambda: _permitted(Wire(server, held.name)), held)
        except BaseException:
            held.drop()
            raise
    except (pymysql.Error, Late) as error:
        raise DatabaseFailed(f"its server does not answer: {said(error)}", ours=True) from None


def _opened(maker: MysqlScratch, server: str, database: Database) -> Wire:
    with maker.database(database) as name:
        return _permitted(Wire(server, name))


def _permitted(wire: Wire) -> Wire:
    """Raises DatabaseFailed for an account with more privileges than necessary."""
    for (grant,) in wire.rows("SHOW GRANTS"):
        found = re.match(r"GRANT (.*) ON \*\.\* TO ", grant)
        if found is not None and not _HARMLESS.issuperset(found[1].split(", ")):
            # FILE reads and writes files (LOAD_FILE, INTO OUTFILE); PROCESS and SUPER show and end the sessions of
            # others.
            wire.close()
            raise DatabaseFailed(
                "its account has rights on all databases of its server; make one that has not: CREATE USER rewarden "
                "IDENTIFIED BY '…'; GRANT SELECT, SHOW VIEW ON <the database>.* TO rewarden (for [sql] mysql: "
                r"GRANT ALL PRIVILEGES ON `rewarden\_%`.* TO rewarden)",
                ours=True,
            )
    return wire


class MysqlSession:
    """See `Session`."""

    held = 0
    """See `Session.held`. The data is on the server."""

    def __init__(self, connect: Callable[[], Wire], copy: Copy | None = None) -> None:
        self._connect = connect
        self._wire = connect()
        self._copy = copy

    def query(self, statement: str, caps: Caps, watch: Watch) -> ResultSet:
        """See `Session.query`."""
        script.check(statement, "mysql")
        _check(statement)
        run = Run(caps, watch)
        with _ours():
            self._begin(run, "READ ONLY, WITH CONSISTENT SNAPSHOT")
            before = self._reads()
        with self._timed(run):
            result = self._fetch(run, statement)
        with _ours():
            result.cost = self._reads() - before
        self._reset()
        return result

    def write(self, statement: str, caps: Caps, watch: Watch) -> int | None:
        """See `Session.write`."""
        if self._copy is None:
            raise QueryFailed("forbidden", "only a copy may be written")
        script.check(statement, "mysql", write=True)
        _check(statement)
        run = Run(caps, watch)
        with _ours():
            self._begin(run, "READ WRITE")
        with self._timed(run):
            touched = self._wire.run(statement, run.until)
        with _ours():
            self._wire.run("COMMIT")
        self._reset()
        return touched

    def schema(self) -> Schema:
        """See `Session.schema`. Ordered by name, because MySQL does not record the order in which tables were made."""
        return schema_of(self._wire.rows(_COLUMNS))

    def close(self) -> None:
        """See `Session.close`."""
        self._wire.close()
        if self._copy is not None:
            self._copy.drop()

    def _begin(self, run: Run, mode: str) -> None:
        if self._wire.closed():
            # The server may have ended an idle connection, or restarted: no answer is to blame.
            self._wire.close()
            self._wire = self._connect()
        memory = run.caps.memory_mb * 1024**2
        if self._wire.mariadb:
            # With MariaDB's default, a recursion is silently cut off after 1000 steps, which would make a wrong result.
            limits = f"max_statement_time = {run.limit_s:.6f}, max_session_mem_used = {memory}"
            limits += ", max_recursive_iterations = 4294967295"
        else:
            limits = f"max_execution_time = {max(1, math.ceil(run.limit_s * 1000))}"
        self._wire.run(f"SET {limits}, tmp_table_size = {memory}, max_heap_table_size = {memory}")
        self._wire.run(f"START TRANSACTION {mode}")

    def _reads(self) -> float:
        return float(sum(int(row[1]) for row in self._wire.rows("SHOW SESSION STATUS LIKE 'Handler_read%'")))

    def _fetch(self, run: Run, statement: str) -> ResultSet:
        rows: list[tuple[Any, ...]] = []
        columns: tuple[str, ...] = ()
        size = 0
        for names, part, _ in self._wire.stream(statement, run.until):
            columns = names
            rows += part
            size += sum(16 * len(row) + sum(len(cell) for cell in row if type(cell) in (str, bytes)) for row in part)
            if (over := run.caps.exceeded(len(rows), size)) is not None:
                raise QueryFailed(*over)
        return ResultSet(columns, rows)

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
                self._wire.end()
            raise run.late() from None
        except pymysql.Error as error:
            failed = _failure(error, run)
            if isinstance(failed, QueryFailed) and failed.reason in ("syntax_error", "runtime_error", "forbidden"):
                self._reset()
            raise failed from None
        except BaseException:
            with contextlib.suppress(pymysql.Error):
                self._wire.end()
            raise

    def _reset(self) -> None:
        """Removes the state of the last statement; the connection is replaced if the server does not reset the session.

        The statement has ended by then, and its result stands, however slow the server is afterwards.
        """
        try:
            self._wire.reset()
        except (Late, pymysql.Error):
            self._wire.close()


def _ours() -> contextlib.AbstractContextManager[None]:
    return ours((pymysql.Error,), said)


def _check(statement: str) -> None:
    """Raises QueryFailed for a statement that must not be sent to a server."""
    if script.names_scratch(statement):
        raise QueryFailed("forbidden", "it names a database other than the one being queried")
    check_unicode(statement)


_LATE = (1969, 3024, 1907)
_SYNTAX = (1064, 1149)
_FORBIDDEN = (1044, 1045, 1142, 1143, 1227, 1370, 1792, 1290, 1235)
_MEMORY = (1037, 1038, 1041, 1114, 3170)
_OURS = (3, 1021, 1030, 1034, 1035, 1040, 1053, 1152, 1158, 1159, 1160, 1161, 1203, 1205, 1213, 1226, 1317, 1927, 4031)
"""Errors that no query has caused: a full disk, broken tables, a server that stops, too many connections."""


def _failure(error: pymysql.Error, run: Run) -> BaseException:
    code = number(error)
    if code in _LATE:
        return run.late()
    if code in _OURS or code == 0 or 2000 <= code < 3000 or isinstance(error, pymysql.InterfaceError):
        return DatabaseFailed(f"its server failed: {said(error)}", ours=True)
    reason: FailureReason = "runtime_error"
    if code in _SYNTAX:
        reason = "syntax_error"
    elif code in _MEMORY or (code == 1290 and "mem" in said(error)):
        reason = "memory_limit"
    elif code in _FORBIDDEN:
        reason = "forbidden"
    return QueryFailed(reason, said(error))
