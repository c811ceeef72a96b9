"""Open sessions, kept by the worker: opening a session costs more than most statements.

The reference and the answers never share a session. Any exception closes all of them, because an interrupted session is
not trusted again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from rewarden.errors import InvalidSample, SampleError
from rewarden_verifiers.contract import Unwatched, Watch
from rewarden_verifiers.sql.databases import Database, EngineName
from rewarden_verifiers.sql.engines import engine_named
from rewarden_verifiers.sql.engines.engine import DatabaseFailed, QueryFailed, Session
from rewarden_verifiers.sql.engines.scratch import WAIT_S, make_seconds
from rewarden_verifiers.sql.make import make_cpu_s

Side = Literal["reference", "answer"]
_SERVED = ("postgres", "mysql")
_Key = tuple[EngineName, str, Side]

MOST = 64
"""The maximum number of sessions that a worker keeps open."""
MOST_SERVED = 4
"""The maximum number of these to servers: by default, PostgreSQL and MySQL accept about a hundred connections from all
workers together.
"""
MOST_HELD = 256 * 1024**2
"""The maximum memory of kept sessions in bytes, for databases that were made. Statements need room, too."""
_OPEN_S = 10.0
"""Seconds to open a database, in addition to its script's, before the process is killed."""
_QUICK_OPEN_S = 5.0
"""The same if other samples wait for this process; a slower database is opened where none wait."""

MOST_COPIED = 256 * 1024**2
"""The maximum size in bytes of a file that is copied to memory as a throw-away copy."""


class DatabaseUnavailable(SampleError):
    """One of the server's own databases is unavailable: its file is missing or changed, or its server does not
    respond.
    """

    reason = "database_unavailable"
    retryable = True


class Connections:
    """Sessions by database and side. The least recently used one is closed first."""

    def __init__(self) -> None:
        self._open: dict[_Key, Session] = {}

    @contextmanager
    def session(
        self, database: Database, side: Side, servers: Mapping[str, str], watch: Watch | None = None
    ) -> Iterator[Session]:
        """A read-only session. Raises SampleError if the database is unavailable."""
        key = (database.engine, database.key, side)
        session = self._open.pop(key, None)
        if session is not None and _changed(database):
            # The file was opened as immutable, so after a change its answers mix old and new pages. That is nobody's
            # fault here.
            session.close()
            session = None
        if session is None:
            session = open_session(database, servers, watch)
        try:
            yield session
        except QueryFailed as failed:
            if failed.reason in ("syntax_error", "runtime_error", "forbidden"):
                self._keep(key, session)  # the statement ended by itself, so the session is intact
            else:
                session.close()
            raise
        except DatabaseFailed as failed:
            session.close()
            raise _unavailable(database, failed) from None
        except BaseException:
            session.close()
            raise
        self._keep(key, session)

    def _keep(self, key: _Key, session: Session) -> None:
        self._open[key] = session
        while (oldest := self._surplus()) is not None:
            self._open.pop(oldest).close()

    def _surplus(self) -> _Key | None:
        """Returns the session to close if there are too many, or None."""
        served = [key for key in self._open if key[0] in _SERVED]
        if len(served) > MOST_SERVED:
            return served[0]
        held = sum(session.held for session in self._open.values())
        over = len(self._open) > MOST or (len(self._open) > 1 and held > MOST_HELD)
        return next(iter(self._open)) if over else None

    def close(self) -> None:
        """Closes all sessions."""
        while self._open:
            self._open.popitem()[1].close()


def open_session(
    database: Database, servers: Mapping[str, str], watch: Watch | None = None, *, copy: bool = False
) -> Session:
    """Opens a session; with `copy`, to a throw-away copy that can be written. Raises SampleError."""
    if copy and database.stat is not None and database.stat[0] > MOST_COPIED:
        raise DatabaseUnavailable(f"database {database.id!r}: its file is too large to be copied for a write")
    engine, scratch = engine_named(database.engine), servers.get(database.engine)
    watch = watch or Unwatched()
    try:
        # Opening a database is not the response's doing, so it does not count against it.
        with watch.preparing(), watch.limit(cpu_s=make_cpu_s(database) + _OPEN_S, wall_s=_patience_s(database, watch)):
            return engine.open(database, scratch=scratch, copy=copy)
    except DatabaseFailed as failed:
        raise _unavailable(database, failed) from None


def _patience_s(database: Database, watch: Watch) -> float | None:
    """Seconds to wait for a server; None if the database is not on one."""
    if database.engine not in _SERVED:
        return None
    return _QUICK_OPEN_S if watch.quick_s is not None else make_seconds(database) + WAIT_S + _OPEN_S


def _changed(database: Database) -> bool:
    if database.file is None or database.stat is None:
        return False
    try:
        return database.changed(os.stat(database.file))
    except OSError:
        return True


def _unavailable(database: Database, failed: DatabaseFailed) -> SampleError:
    if failed.ours:
        return DatabaseUnavailable(f"database {database.id!r}: {failed.message}")
    return InvalidSample(f"reference.database: {failed.message}", path="reference.database")
