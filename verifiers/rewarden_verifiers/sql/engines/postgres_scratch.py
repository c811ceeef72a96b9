"""Databases made on a PostgreSQL server: by whoever comes first, whole or not at all, kept for all who come after.

`rewarden_<key>` is read; `rewarden_t_<key>` is never connected to, because PostgreSQL copies only what nobody uses;
`rewarden_copy_…` is thrown away. While one is made, or a copy is in use, its name is locked by a connection, so that
what killed processes left behind is told from what is in use, and dropped by the next who makes one.
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
    """A server on which databases may be made. dsn: for a role that may create databases.

    Raises DatabaseFailed where a script does not run, psycopg.Error where the server fails.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def database(self, database: Database) -> str:
        """The name of a made database; it is made where it is not there yet."""
        return self._made(database, scratch.name_of(database))

    def copy(self, database: Database) -> scratch.Copy:
        """A copy of a made database."""
        template = self._made(database, scratch.name_of(database).replace("_", "_t_", 1))
        admin = self._connect()  # as long as it is open, it holds the copy's name
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
        _drop(admin, making)  # nobody makes it: its name was free
        # The collation is the same wherever a database is made.
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
        """Drop what killed processes left, and what is beyond the number that is kept."""
        left = admin.execute("SELECT datname FROM pg_database WHERE datname ~ '^rewarden_(copy|making)_'").fetchall()
        for (name,) in left:
            holder = name.replace("_making_", "_", 1)  # a copy's own name, but of one under way that which it will have
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
            # One that is in use is not dropped: PostgreSQL refuses.
            with contextlib.suppress(psycopg.errors.ObjectInUse, psycopg.errors.InvalidCatalogName):
                _run(admin, "DROP DATABASE IF EXISTS {}", row[0])


def _step(connection: psycopg.Connection, step: str | script.Copied) -> None:
    if isinstance(step, script.Copied):
        with connection.cursor().copy(step.text.encode("utf-8", "surrogateescape")) as copy:
            copy.write(step.data.encode("utf-8", "surrogateescape"))
    else:
        # `binary` for the extended protocol, which takes one statement: the server may see two where `steps` saw one.
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
    """Note when it was used last, in the comment on it. Another may just have dropped it, or note the same."""
    with contextlib.suppress(psycopg.errors.InvalidCatalogName, psycopg.errors.InternalError):
        admin.execute(
            sql.SQL("COMMENT ON DATABASE {} IS {}").format(sql.Identifier(name), sql.Literal(f"{time.time():017.3f}"))
        )


def _drop(admin: psycopg.Connection, name: str) -> None:
    _run(admin, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)


def _run(admin: psycopg.Connection, text: LiteralString, *names: str) -> None:
    """A statement with names of databases in its places, `{}`."""
    admin.execute(sql.SQL(text).format(*map(sql.Identifier, names)))
