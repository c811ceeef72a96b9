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
from dataclasses import dataclass

import psycopg
from psycopg import sql

from rewarden_verifiers.sql.databases import Database
from rewarden_verifiers.sql.engines import scratch, script
from rewarden_verifiers.sql.engines.postgres_wire import connect_arguments, said
from rewarden_verifiers.sql.make import Insert, statements_of

_LOCK = "hashtextextended(%s, 0)"


@dataclass(frozen=True)
class Copy:
    """A throw-away database, and the connection that holds its name."""

    name: str
    admin: psycopg.Connection

    def drop(self) -> None:
        """Drop it. Never raises."""
        with contextlib.suppress(psycopg.Error):
            _drop(self.admin, self.name)
        with contextlib.suppress(psycopg.Error):
            self.admin.close()


class PostgresScratch:
    """A server on which databases may be made. dsn: for a role that may create databases.

    Raises DatabaseFailed where a script does not run, psycopg.Error where the server fails.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def database(self, database: Database) -> str:
        """The name of a made database; it is made where it is not there yet."""
        return self._made(database, scratch.name_of(database))

    def copy(self, database: Database) -> Copy:
        """A copy of a made database."""
        template = self._made(database, scratch.name_of(database).replace("_", "_t_", 1))
        admin = self._connect()
        name = f"rewarden_copy_{secrets.token_hex(8)}"
        try:
            admin.execute(f"SELECT pg_advisory_lock({_LOCK})", (name,))
            made = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
            admin.execute(made)
        except BaseException:
            admin.close()
            raise
        return Copy(name, admin)

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
        admin.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C'").format(
                sql.Identifier(making)
            )
        )
        try:
            with self._connect(making) as connection:
                self._fill(admin, connection, database, making)
            admin.execute(
                sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(making), sql.Identifier(name))
            )
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                _drop(admin, making)
            raise

    def _fill(self, admin: psycopg.Connection, connection: psycopg.Connection, database: Database, making: str) -> None:
        with _bounded(admin, connection, database, making) as limit:
            try:
                _set_timeout(connection, limit.left_s)
                with connection.transaction():
                    for statement in statements_of(database, "postgres"):
                        if isinstance(statement, Insert):
                            connection.cursor().executemany(statement.text, statement.rows)
                            continue
                        for step in script.steps(statement, "postgres", trusted=scratch.trusted(database)):
                            _step(connection, step)
                            if limit.left_s <= 0:
                                raise psycopg.errors.QueryCanceled
                connection.execute("ANALYZE")
            except script.Refused as refused:
                raise scratch.not_made(database, str(refused)) from None
            except UnicodeEncodeError:
                raise scratch.not_made(database, "its script is not Unicode") from None
            except psycopg.errors.QueryCanceled:
                raise scratch.not_made(database, limit.why) from None
            except psycopg.Error as error:
                if connection.closed and limit.ended is None:
                    raise
                raise scratch.not_made(database, said(error)) from None
            if limit.full():
                raise scratch.not_made(database, limit.why)

    def _clear(self, admin: psycopg.Connection) -> None:
        """Drop what killed processes left, and what is beyond the number that is kept."""
        names = [row[0] for row in admin.execute(r"SELECT datname FROM pg_database WHERE datname LIKE 'rewarden\_%'")]
        for name in names:
            if name.startswith("rewarden_copy_"):
                holder = name
            elif name.startswith("rewarden_making_"):
                holder = name.replace("_making_", "_", 1)
            else:
                continue
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
                admin.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(row[0])))


class _Limit:
    """The time and the space that making one database may take."""

    def __init__(
        self, admin: psycopg.Connection, connection: psycopg.Connection, database: Database, name: str
    ) -> None:
        self._admin = admin
        self._connection = connection
        self._trusted = scratch.trusted(database)
        self._name = name
        self._seconds = scratch.make_seconds(database)
        self._until = time.monotonic() + self._seconds
        self._done = threading.Event()
        self.ended: str | None = None

    @property
    def left_s(self) -> float:
        """Seconds left."""
        return self._until - time.monotonic()

    @property
    def why(self) -> str:
        """Returns what ended it."""
        return self.ended or f"its script ran for more than {self._seconds:g} s"

    def full(self) -> bool:
        """Returns whether it holds more than it may."""
        if self._trusted:
            return False
        row = self._admin.execute("SELECT pg_database_size(%s)", (self._name,)).fetchone()
        if row is not None and row[0] > scratch.MAKE_BYTES:
            self.ended = f"it holds more than {scratch.MAKE_BYTES} bytes"
        return self.ended is not None

    def watch(self) -> None:
        """Cancel what runs when it fills too much, until `stop`."""
        while not self._done.wait(scratch.LOOK_S):
            with contextlib.suppress(psycopg.Error):
                if self.full():
                    self._connection.cancel_safe(timeout=2.0)

    def stop(self) -> None:
        """End `watch`."""
        self._done.set()


@contextlib.contextmanager
def _bounded(
    admin: psycopg.Connection, connection: psycopg.Connection, database: Database, name: str
) -> Iterator[_Limit]:
    limit = _Limit(admin, connection, database, name)
    thread = threading.Thread(target=limit.watch, daemon=True)
    thread.start()
    try:
        yield limit
    finally:
        limit.stop()
        thread.join()


def _step(connection: psycopg.Connection, step: str | script.Copied) -> None:
    if isinstance(step, script.Copied):
        with connection.cursor().copy(step.text.encode("utf-8", "surrogateescape")) as copy:
            copy.write(step.data.encode("utf-8", "surrogateescape"))
    else:
        # `binary` for the extended protocol, which takes one statement: the server may see two where `steps` saw one.
        connection.execute(step.encode("utf-8", "surrogateescape"), binary=True)


def _set_timeout(connection: psycopg.Connection, seconds: float) -> None:
    connection.execute(f"SET statement_timeout = {max(1, int(seconds * 1000))}")


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
    admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
