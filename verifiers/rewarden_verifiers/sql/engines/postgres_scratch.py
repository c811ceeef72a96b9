"""Databases made on a PostgreSQL server: by the first process that needs them, completely or not at all, and kept for
later ones.

`rewarden_<key>` is read. `rewarden_t_<key>` never has connections, because PostgreSQL copies only unused databases.
`rewarden_copy_…` is thrown away. While a database is being made, or a copy is in use, a connection holds a lock on its
name. Databases that killed processes left behind have no lock, and are dropped by the next process that makes one.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Iterator
from typing import LiteralString

import psycopg
from psycopg import sql

from rewarden_verifiers.sql.databases import Database
from rewarden_verifiers.sql.engines import scratch, script
from rewarden_verifiers.sql.engines.lookout import lookout
from rewarden_verifiers.sql.engines.postgres_wire import connect_arguments, said
from rewarden_verifiers.sql.make import Insert, statements_of

_LOCK = "hashtextextended(%s, 0)"


class PostgresScratch:
    """A server on which databases can be made. dsn: for a role that can create databases.

    Raises DatabaseFailed if a script does not run, psycopg.Error if the server fails.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def database(self, database: Database) -> str:
        """Returns the name of a made database, and makes it if necessary."""
        return self._made(database, scratch.name_of(database))

    def copy(self, database: Database) -> scratch.Copy:
        """Makes a copy of a made database."""
        template = self._made(database, scratch.name_of(database).replace("_", "_t_", 1))
        admin = self._connect()  # while open, it holds the lock on the copy's name
        name = f"rewarden_copy_{secrets.token_hex(8)}"

        def drop() -> None:
            with contextlib.suppress(psycopg.Error):
                _drop(admin, name)
            with contextlib.suppress(psycopg.Error):
                admin.close()

        try:
            admin.execute(f"SELECT pg_advisory_lock({_LOCK})", (name,))
            _run(admin, "CREATE DATABASE {} TEMPLATE {}", name, template)
        except BaseException:
            admin.close()
            raise
        return scratch.Copy(name, drop)

    def _connect(self, name: str | None = None) -> psycopg.Connection:
        given = connect_arguments(self._dsn, name)
        given["options"] += " -c default_transaction_read_only=off"
        return psycopg.connect(**given, autocommit=True)

    def _made(self, database: Database, name: str) -> str:
        with self._connect() as admin:
            if not _there(admin, name):
                with _held(admin, name):
                    if not _there(admin, name):
                        self._clear(admin)
                        self._make(admin, database, name)
            _touch(admin, name)
        return name

    def _make(self, admin: psycopg.Connection, database: Database, name: str) -> None:
        making = name.replace("_", "_making_", 1)
        _drop(admin, making)  # no process is making it: its name was free
        # The collation is the same for every made database.
        _run(admin, "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C'", making)
        try:
            with self._connect(making) as connection:
                self._fill(admin, connection, database, making)
            _run(admin, "ALTER DATABASE {} RENAME TO {}", making, name)
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                _drop(admin, making)
            raise

    def _fill(self, admin: psycopg.Connection, connection: psycopg.Connection, database: Database, making: str) -> None:
        def size() -> int:
            found: int = admin.execute("SELECT pg_database_size(%s)", (making,)).fetchall()[0][0]
            return found

        def watch(done: threading.Event) -> None:
            while not done.wait(scratch.LOOK_S):
                with contextlib.suppress(psycopg.Error):
                    if limit.full():
                        connection.cancel_safe(timeout=2.0)

        limit = scratch.Limit(database, size)
        with lookout(watch):
            try:
                connection.execute(f"SET statement_timeout = {max(1, int(limit.left_s * 1000))}")
                with connection.transaction():
                    for statement in statements_of(database, "postgres"):
                        if isinstance(statement, Insert):
                            connection.cursor().executemany(statement.text, statement.rows)
                            continue
                        for step in script.steps(statement, "postgres", trusted=database.ours):
                            _step(connection, step)
                            if limit.left_s <= 0:
                                raise psycopg.errors.QueryCanceled
                connection.execute("ANALYZE")
            except script.Refused as refused:
                raise scratch.not_made(database, str(refused)) from None
            except UnicodeEncodeError:
                raise scratch.not_made(database, "its script is not Unicode") from None
            except psycopg.errors.QueryCanceled:
                raise scratch.not_made(database, limit.ended or limit.late) from None
            except psycopg.Error as error:
                if connection.closed and limit.ended is None:
                    raise
                raise scratch.not_made(database, said(error)) from None
            limit.full()
            if limit.ended is not None:
                raise scratch.not_made(database, limit.ended)

    def _clear(self, admin: psycopg.Connection) -> None:
        """Drops databases of killed processes, and databases beyond the number that is kept."""
        left = admin.execute("SELECT datname FROM pg_database WHERE datname ~ '^rewarden_(copy|making)_'").fetchall()
        for (name,) in left:
            holder = name.replace("_making_", "_", 1)  # a copy's own name, or the future name of one that is being made
            got = admin.execute(f"SELECT pg_try_advisory_lock({_LOCK})", (holder,)).fetchone()
            if got is not None and got[0]:
                with contextlib.suppress(psycopg.errors.ObjectInUse, psycopg.errors.InvalidCatalogName):
                    _drop(admin, name)
                admin.execute(f"SELECT pg_advisory_unlock({_LOCK})", (holder,))
        kept = admin.execute(
            r"""
            SELECT datname FROM pg_database WHERE datname ~ '^rewarden_(t_)?[0-9a-f]{24}$'
            ORDER BY shobj_description(oid, 'pg_database') DESC NULLS LAST OFFSET %s
            """,
            (scratch.KEPT - 1,),
        )
        for row in kept.fetchall():
            # PostgreSQL refuses to drop a database that is in use.
            with contextlib.suppress(psycopg.errors.ObjectInUse, psycopg.errors.InvalidCatalogName):
                _run(admin, "DROP DATABASE IF EXISTS {}", row[0])


def _step(connection: psycopg.Connection, step: str | script.Copied) -> None:
    if isinstance(step, script.Copied):
        with connection.cursor().copy(step.text.encode("utf-8", "surrogateescape")) as copy:
            copy.write(step.data.encode("utf-8", "surrogateescape"))
    else:
        # `binary` for the extended protocol, which accepts one statement: the server may see two where `steps` saw one.
        connection.execute(step.encode("utf-8", "surrogateescape"), binary=True)


@contextlib.contextmanager
def _held(admin: psycopg.Connection, name: str) -> Iterator[None]:
    admin.execute(f"SET lock_timeout = '{scratch.WAIT_S}s'")
    admin.execute(f"SELECT pg_advisory_lock({_LOCK})", (name,))
    try:
        yield
    finally:
        with contextlib.suppress(psycopg.Error):
            admin.execute(f"SELECT pg_advisory_unlock({_LOCK})", (name,))


def _there(admin: psycopg.Connection, name: str) -> bool:
    return admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone() is not None


def _touch(admin: psycopg.Connection, name: str) -> None:
    """Records the time of its last use in its comment. Another process may just have dropped it, or be recording the
    same."""
    with contextlib.suppress(psycopg.errors.InvalidCatalogName, psycopg.errors.InternalError):
        admin.execute(
            sql.SQL("COMMENT ON DATABASE {} IS {}").format(sql.Identifier(name), sql.Literal(f"{time.time():017.3f}"))
        )


def _drop(admin: psycopg.Connection, name: str) -> None:
    _run(admin, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)


def _run(admin: psycopg.Connection, text: LiteralString, *names: str) -> None:
    """Runs a statement, with names of databases in place of each `{}`."""
    admin.execute(sql.SQL(text).format(*map(sql.Identifier, names)))
