"""A connection to MySQL or MariaDB with strict time-outs, and its values as Python objects."""

from __future__ import annotations

import contextlib
import json
import re
import select
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql
from pymysql.connections import MySQLResult
from pymysql.constants import COMMAND, FIELD_TYPE
from pymysql.converters import decoders

from rewarden_verifiers.sql.engines.engine import DatabaseFailed
from rewarden_verifiers.sql.engines.served import CONNECT_S, LATE_S, OWN_S, Late

_NO_SUCH_THREAD = 1094
_CHUNK = 64
_RESET_CONNECTION = 0x1F
"""COM_RESET_CONNECTION: a new session, without variables, prepared statements, locks and temporary tables."""

_MARIADB_MODE = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
_MYSQL_MODE = "ONLY_FULL_GROUP_BY,NO_ZERO_IN_DATE,NO_ZERO_DATE," + _MARIADB_MODE
_SETTINGS = (
    "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci, time_zone = '+00:00', sql_mode = '{mode}', lock_wait_timeout = 2, "
    "innodb_lock_wait_timeout = 2, group_concat_max_len = 1048576, wait_timeout = 28800, net_write_timeout = 60"
)


class Wire:
    """A connection for untrusted statements. dsn: its address; name: another database on the same server.

    Raises pymysql.Error for all failures; Late as documented.
    """

    def __init__(self, dsn: str, name: str | None = None) -> None:
        self._given = connect_arguments(dsn, name)
        self._connection = pymysql.connect(**self._given, autocommit=True, conv=_CONVERTERS)
        self.mariadb = "mariadb" in self._connection.get_server_info().lower()
        self._thread = self._connection.thread_id()
        self._settle()

    def run(self, text: str, until: float | None = None) -> int:
        """Runs one statement; returns the number of changed rows."""
        return max(touched for _, _, touched in self.stream(text, until))

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Returns the rows of one statement, all at once."""
        return [row for _, part, _ in self.stream(text) for row in part]

    def stream(
        self, text: str, until: float | None = None
    ) -> Iterator[tuple[tuple[str, ...], list[tuple[Any, ...]], int]]:
        """Yields the results of one statement as they arrive: the names of columns, some rows, and the number of
        changed rows.

        Raises Late if no more data has arrived when the time is up. Data that has arrived by then is read, however late
        this process gets to it: a busy machine is not the statement's fault. After any exception other than an error of
        the statement itself, the connection must be ended.
        """
        until = time.monotonic() + OWN_S if until is None else until
        result = MySQLResult(self._connection)
        try:
            self._patience(until)
            self._connection._execute_command(COMMAND.COM_QUERY, text.encode())
            result.init_unbuffered_query()
            columns = tuple(str(item[0]) for item in result.description or ())
            rows: list[tuple[Any, ...]] = []
            yield columns, rows, result.affected_rows if not columns else 0
            while result.unbuffered_active:
                row = result._read_rowdata_packet_unbuffered()
                if row is not None:
                    rows.append(row)
                if rows and (row is None or len(rows) >= _CHUNK):
                    yield columns, rows, 0
                    rows = []
                    self._patience(until)
        except pymysql.OperationalError as error:
            _forget(result)
            if number(error) in _LOST and time.monotonic() >= until:
                raise Late from None
            raise
        except BaseException:
            _forget(result)  # an error is the last part of a result
            raise

    def reset(self) -> None:
        """Removes all state of the last statement from the session."""
        self._patience(time.monotonic() + OWN_S)
        self._connection._execute_command(_RESET_CONNECTION, b"")
        self._connection._read_ok_packet()
        self._settle()

    def closed(self) -> bool:
        """Returns whether the server ended the connection: nothing else makes an idle one readable."""
        socket = self._connection._sock
        return socket is None or bool(select.select([socket], [], [], 0)[0])

    def end(self) -> None:
        """Ends the connection and its statement, over another connection, because a server examines a connection only
        when it has data to send.

        Raises pymysql.Error if the server does not accept that: then the server does not answer, and the statement is
        not late.
        """
        self._connection._force_close()
        with pymysql.connect(**self._given) as other, other.cursor() as cursor:
            try:
                cursor.execute(f"KILL CONNECTION {self._thread}")
            except pymysql.OperationalError as error:
                if number(error) != _NO_SUCH_THREAD:
                    raise

    def close(self) -> None:
        """Ends the connection. Never raises."""
        with contextlib.suppress(pymysql.Error):
            self._connection.close()

    def _settle(self) -> None:
        self.run(_SETTINGS.format(mode=_MARIADB_MODE if self.mariadb else _MYSQL_MODE))

    def _patience(self, until: float) -> None:
        # PyMySQL reads it only in its constructor, but each statement has a different one.
        self._connection._read_timeout = max(until - time.monotonic(), LATE_S)


def connect_arguments(dsn: str, name: str | None = None) -> dict[str, Any]:
    """Returns the arguments of `pymysql.connect` for `mysql://user:password@host:port/database?unix_socket=…&ssl_ca=…`.

    Raises DatabaseFailed.
    """
    parts = urlsplit(dsn)
    try:
        port = parts.port or 3306
    except ValueError:  # its message repeats the invalid port, which is a part of a password with a `/` or `#` in it
        raise DatabaseFailed(
            "its address cannot be read: mysql://USER:PASSWORD@HOST:PORT/NAME, special characters as %XX", ours=True
        ) from None
    given: dict[str, Any] = {
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "host": parts.hostname or "localhost",
        "port": port,
        "database": name or unquote(parts.path.lstrip("/")) or None,
        "charset": "utf8mb4",
        "connect_timeout": CONNECT_S,
        "read_timeout": OWN_S,
        # The server could request any of this machine's files.
        "local_infile": False,
    }
    for key, value in parse_qsl(parts.query):
        if key not in ("unix_socket", "ssl_ca", "ssl_cert", "ssl_key"):
            raise DatabaseFailed(f"its address has an option that is not known: {key!r}", ours=True)
        given[key] = value
    return given


def said(error: BaseException) -> str:
    """Returns the server's message."""
    if isinstance(error, pymysql.MySQLError) and len(error.args) > 1:
        # Our own name of the database is removed, because callers must not learn it.
        return re.sub(r"\brewarden_\w+\.", "", str(error.args[1]))[:500]
    return str(error)[:500] or type(error).__name__


def number(error: pymysql.Error) -> int:
    """Returns the error's number; 0 if it has none."""
    first = error.args[0] if error.args else 0
    return first if isinstance(first, int) else 0


_LOST = (2006, 2013)


def _forget(result: MySQLResult) -> None:
    """Otherwise PyMySQL reads on, in a destructor at the latest, until the end of rows that are not sent any more."""
    result.unbuffered_active = False
    result.connection = None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


_CONVERTERS = {
    **decoders,
    FIELD_TYPE.BIT: lambda value: int.from_bytes(value, "big"),
    FIELD_TYPE.JSON: _json,
}
