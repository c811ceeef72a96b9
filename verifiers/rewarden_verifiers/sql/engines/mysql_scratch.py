"""Databases made on a MySQL or MariaDB server: by the first process that needs them, completely or not at all, and kept
for later ones.

MySQL cannot rename a database, so `rewarden_0.made` lists the complete ones, and when each was last used. A process
that makes, opens or drops a database holds a lock on its name (GET_LOCK) meanwhile; a process that uses a copy holds
the lock on its name as long as it does. Databases that killed processes left behind have no lock, and are dropped by
the next process that makes one.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterator
from typing import Any

import pymysql
from pymysql.connections import Connection

from rewarden_verifiers.sql.databases import Database
from rewarden_verifiers.sql.engines import scratch, script
from rewarden_verifiers.sql.engines.lookout import lookout
from rewarden_verifiers.sql.engines.mysql_wire import connect_arguments, said
from rewarden_verifiers.sql.make import Insert, quoted, statements_of

_REGISTER = "rewarden_0"
_MODE = "STRICT_TRANS_TABLES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION"


class MysqlScratch:
    """A server on which databases can be made. dsn: for an account with all rights on `rewarden\\_%` databases.

    Raises DatabaseFailed if a script does not run, pymysql.Error if the server fails.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    @contextlib.contextmanager
    def database(self, database: Database) -> Iterator[str]:
        """Yields the name of a made database, and makes it if necessary. It is not dropped within the block."""
        name = scratch.name_of(database)
        with self._connect() as admin:
            _register(admin)
            with _held(admin, name):
                if not _run(admin, f"SELECT 1 FROM {_REGISTER}.made WHERE name = %s", name):
                    self._clear(admin)
                    self._make(admin, database, name)
                used = "INSERT INTO {}.made VALUES (%s, NOW(3)) ON DUPLICATE KEY UPDATE used = NOW(3)"
                _run(admin, used.format(_REGISTER), name)
                yield name

    def copy(self, database: Database) -> scratch.Copy:
        """Makes another database with the same content."""
        admin = self._connect()  # while open, it holds the lock on the copy's name
        name = f"rewarden_copy_{secrets.token_hex(8)}"

        def drop() -> None:
            with contextlib.suppress(pymysql.Error):
                _run(admin, f"DROP DATABASE IF EXISTS `{name}`")
            with contextlib.suppress(pymysql.Error):
                admin.close()

        try:
            _run(admin, "SELECT GET_LOCK(%s, 0)", name)
            _register(admin)
            self._clear(admin)
            self._make(admin, database, name)
        except BaseException:
            admin.close()
            raise
        return scratch.Copy(name, drop)

    def _connect(self, name: str | None = None, read_s: float = scratch.WAIT_S + 10) -> Connection:
        connection: Connection = pymysql.connect(**connect_arguments(self._dsn, name), autocommit=True)
        # Not earlier: a server that does not even send a greeting must not get as much time as one that works.
        connection._read_timeout = read_s
        return connection

    def _make(self, admin: Connection, database: Database, name: str) -> None:
        _run(admin, f"DROP DATABASE IF EXISTS `{name}`")  # no process is making it: its name was free
        _run(admin, f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
        try:
            with self._connect(name, scratch.make_seconds(database) + 10) as connection:
                self._fill(connection, database, name)
        except BaseException:
            with contextlib.suppress(pymysql.Error):
                _run(admin, f"DROP DATABASE IF EXISTS `{name}`")
            raise

    def _fill(self, connection: Connection, database: Database, name: str) -> None:
        with self._bounded(connection, database, name) as limit:
            try:
                _run(
                    connection,
                    f"SET NAMES utf8mb4, sql_mode = '{_MODE}', foreign_key_checks = 0, time_zone = '+00:00', "
                    "innodb_lock_wait_timeout = 10, lock_wait_timeout = 10",
                )
                for statement in statements_of(database, "mysql"):
                    if isinstance(statement, Insert):
                        with connection.cursor() as cursor:
                            cursor.executemany(statement.text, statement.rows)
                        continue
                    for step in script.steps(statement, "mysql", trusted=database.ours):
                        assert isinstance(step, str)
                        _run(connection, step.encode("utf-8", "surrogateescape"))
                        if limit.ended is not None:
                            break
                # Sizes and query plans depend on statistics that the server would otherwise collect some time later.
                for table, _ in _run(connection, "SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'"):
                    _run(connection, f"ANALYZE TABLE {quoted(table, 'mysql')}")
            except script.Refused as refused:
                raise scratch.not_made(database, str(refused)) from None
            except UnicodeEncodeError:
                raise scratch.not_made(database, "its script is not Unicode") from None
            except pymysql.Error as error:
                if limit.ended is None and isinstance(error, pymysql.InterfaceError):
                    raise
                raise scratch.not_made(database, limit.ended or said(error)) from None
        if limit.ended is not None:
            raise scratch.not_made(database, limit.ended)

    @contextlib.contextmanager
    def _bounded(self, connection: Connection, database: Database, name: str) -> Iterator[scratch.Limit]:
        with self._connect() as other:
            # A running CREATE TABLE … SELECT holds a lock that would delay the check of the size, and with it the
            # clock.
            _run(other, "SET lock_wait_timeout = 1")
            tables = "SELECT SUM(DATA_LENGTH + INDEX_LENGTH) FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s"
            limit = scratch.Limit(database, lambda: _run(other, tables, name)[0][0] or 0)

            def watch(done: threading.Event) -> None:
                while not done.wait(scratch.LOOK_S):
                    with contextlib.suppress(pymysql.Error):
                        if limit.over():
                            _run(other, f"KILL QUERY {connection.thread_id()}")

            with lookout(watch):
                yield limit
            limit.over()  # not earlier: two threads on one connection would receive each other's replies

    def _clear(self, admin: Connection) -> None:
        """Drops databases of killed processes, and databases beyond the number that is kept."""
        for (name,) in _run(admin, r"SHOW DATABASES LIKE 'rewarden\_copy\_%'"):
            if _run(admin, "SELECT IS_FREE_LOCK(%s)", name)[0][0]:
                _run(admin, f"DROP DATABASE IF EXISTS `{name}`")
        old = _run(admin, f"SELECT name FROM {_REGISTER}.made ORDER BY used DESC LIMIT {scratch.KEPT - 1}, 1000000")
        for (name,) in old:
            # Without waiting: holding two names while others wait for each would be a deadlock.
            if _run(admin, "SELECT GET_LOCK(%s, 0)", name)[0][0]:
                if not _run(admin, "SELECT 1 FROM information_schema.PROCESSLIST WHERE DB = %s", name):
                    _run(admin, f"DELETE FROM {_REGISTER}.made WHERE name = %s", name)
                    _run(admin, f"DROP DATABASE IF EXISTS `{name}`")
                _run(admin, "SELECT RELEASE_LOCK(%s)", name)


def _register(admin: Connection) -> None:
    _run(admin, f"CREATE DATABASE IF NOT EXISTS {_REGISTER}")
    columns = "name VARCHAR(64) PRIMARY KEY, used TIMESTAMP(3) NOT NULL"
    _run(admin, f"CREATE TABLE IF NOT EXISTS {_REGISTER}.made ({columns})")


@contextlib.contextmanager
def _held(admin: Connection, name: str) -> Iterator[None]:
    if not _run(admin, "SELECT GET_LOCK(%s, %s)", name, scratch.WAIT_S)[0][0]:
        raise pymysql.OperationalError(1205, "another makes the same database, and does not end")
    try:
        yield
    finally:
        with contextlib.suppress(pymysql.Error):
            _run(admin, "SELECT RELEASE_LOCK(%s)", name)


def _run(connection: Connection, text: str | bytes, *values: object) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(text, values or None)
        return list(cursor.fetchall())
