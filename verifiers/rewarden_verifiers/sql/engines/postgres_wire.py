"""A connection to PostgreSQL with strict time-outs, and its values as Python objects."""

from __future__ import annotations

import contextlib
import json
import select
import time
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg import pq
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Loader, Transformer
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.datetime import (
    DateLoader,
    IntervalLoader,
    TimeLoader,
    TimestampLoader,
    TimestamptzLoader,
    TimetzLoader,
)

from rewarden_verifiers.sql.engines.engine import DatabaseFailed
from rewarden_verifiers.sql.engines.served import CONNECT_S, OWN_S, Late

_CHUNK = 32
"""Rows at a time: with cells of a megabyte each, the data read ahead stays small."""

_SETTINGS = {
    "default_transaction_read_only": "on",
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": "60s",
    "client_connection_check_interval": "100ms",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "cursor_tuple_fraction": "1",
    "TimeZone": "UTC",
    "DateStyle": "ISO,YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "bytea_output": "hex",
    "standard_conforming_strings": "on",
}


class Gone(Exception):
    """The server is gone, or ended the connection."""


class Wire:
    """A connection for untrusted statements. dsn: its address; name: another database on the same server.

    Raises psycopg.Error for all failures in the server; Late and Gone as documented.
    """

    def __init__(self, dsn: str, name: str | None = None) -> None:
        self._given = connect_arguments(dsn, name)
        self._connect()

    def _connect(self) -> None:
        self._connection = psycopg.connect(**self._given, autocommit=True, context=_ADAPTERS)
        self._pg = self._connection.pgconn

    @property
    def version(self) -> int:
        """The server's version, as 150004 for 15.4."""
        return self._pg.server_version

    def begin(self, text: str) -> None:
        """Runs our own first statements, on a new connection if the old one was closed meanwhile."""
        try:
            self.simple(text)
        except (Gone, psycopg.Error):
            if self._pg.status == pq.ConnStatus.OK and self._connection.info.transaction_status.name != "UNKNOWN":
                raise
            self.close()
            self._connect()
            self.simple(text)

    def simple(self, text: str, least_s: float = 0.0) -> None:
        """Runs our own statements. least_s: the seconds that they have at least."""
        self._pg.send_query(text.encode())
        self._drain(time.monotonic() + max(OWN_S, least_s))

    def one(self, text: str, until: float) -> int | None:
        """Runs one statement and returns the number of changed rows, if any. If it is late, the caller must call
        `cancel`."""
        self._pg.send_query_params(text.encode(), None)
        last = self._drain(until)
        return None if last is None else last.command_tuples

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Returns the rows of one statement of our own, all at once."""
        return [row for _, part, _ in self.stream(text, time.monotonic() + OWN_S) for row in part]

    def stream(self, text: str, until: float) -> Iterator[tuple[tuple[str, ...], list[tuple[Any, ...]], int]]:
        """Yields the results of one statement as they arrive: the names of columns, some rows, and their size in bytes.

        If it is late, the caller must call `cancel`.
        """
        self._pg.send_query_params(text.encode(), None)
        self._pg.set_chunked_rows_mode(_CHUNK)
        transformer = Transformer(self._connection)
        columns: tuple[str, ...] | None = None
        while (result := self._next(until)) is not None:
            if result.status == pq.ExecStatus.FATAL_ERROR:
                self._drain(until)
                raise psycopg.errors.error_from_result(result, encoding="utf-8")
            transformer.set_pgresult(result)
            if columns is None:
                columns = tuple((result.fname(place) or b"").decode() for place in range(result.nfields))
            rows = transformer.load_rows(0, result.ntuples, tuple)
            yield columns, rows, sum(map(_held, rows))

    def cancel(self) -> None:
        """Cancels the running statement, or terminates the backend if that fails. Afterwards the connection must be
        closed.

        Raises Gone if the server accepts neither: then the server does not answer, and the statement is not late.
        """
        try:
            self._connection.cancel_safe(timeout=1.0)
            with contextlib.suppress(Late, Gone):
                until = time.monotonic() + 0.05
                while self._next(until) is not None:
                    pass
                return
            with psycopg.connect(**{**self._given, "connect_timeout": 2}, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s)", (self._pg.backend_pid,))
        except psycopg.Error as error:
            raise Gone(said(error)) from None

    def close(self) -> None:
        """Ends the connection and its statement. Never raises."""
        if self._pg.status == pq.ConnStatus.OK and self._pg.transaction_status == pq.TransactionStatus.ACTIVE:
            with contextlib.suppress(Gone):
                self.cancel()
        with contextlib.suppress(psycopg.Error):
            self._connection.close()

    def _drain(self, until: float) -> pq.abc.PGresult | None:
        """Returns the last result. Raises the first error among the results after reading all of them."""
        last, failed = None, None
        while (result := self._next(until)) is not None:
            last = result
            if result.status == pq.ExecStatus.FATAL_ERROR and failed is None:
                failed = result
        if failed is not None:
            raise psycopg.errors.error_from_result(failed, encoding="utf-8")
        return last

    def _next(self, until: float) -> pq.abc.PGresult | None:
        """Returns the next result, or None after the last."""
        try:
            while self._pg.flush():
                self._wait(select.POLLIN | select.POLLOUT, until)
                self._pg.consume_input()
            while self._pg.is_busy():
                self._wait(select.POLLIN, until)
                self._pg.consume_input()
            return self._pg.get_result()
        except psycopg.OperationalError as error:
            raise Gone(str(error)) from None

    def _wait(self, events: int, until: float) -> None:
        poll = select.poll()
        poll.register(self._pg.socket, events)
        if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
            raise Late


def connect_arguments(dsn: str, name: str | None = None) -> dict[str, Any]:
    """Returns the arguments of `psycopg.connect` for an address, whose settings apply unless ours override them."""
    try:
        given: dict[str, Any] = dict(conninfo_to_dict(dsn))
    except psycopg.Error:
        # libpq's message repeats the part that it could not read: for a password with a `/` or `#` in it, that part.
        raise DatabaseFailed(
            "its address cannot be read: postgresql://USER:PASSWORD@HOST:PORT/NAME, special characters as %XX",
            ours=True,
        ) from None
    ours = " ".join(f"-c {key}={value}" for key, value in _SETTINGS.items())
    given["options"] = f"-c search_path=public {given.get('options') or ''} {ours}"
    given.setdefault("connect_timeout", CONNECT_S)
    given["client_encoding"] = "UTF8"
    if name is not None:
        given["dbname"] = name
    return given


def said(error: BaseException) -> str:
    """Returns the server's message, without the position and the rest of the statement."""
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        return error.diag.message_primary
    text = str(error).strip() or type(error).__name__
    return text.split(" failed: ")[-1].splitlines()[0][:300]


def _held(row: tuple[Any, ...]) -> int:
    """Returns the approximate size of a row in bytes."""
    size = 16 * len(row)
    for cell in row:
        kind = type(cell)
        if kind is str or kind is bytes:
            size += len(cell)
        elif kind is list or kind is dict:
            size += len(str(cell))
    return size


def _or_text(loader: type[Loader]) -> type[Loader]:
    """A loader that returns the text if Python has no such value: years before 1 or after 9999, infinity, 24:00."""

    class OrText(loader):  # type: ignore[valid-type,misc]
        def load(self, data: Buffer) -> Any:
            try:
                return super().load(data)
            except psycopg.DataError:
                return bytes(data).decode()

    return OrText


class _Text(Loader):
    def load(self, data: Buffer) -> str:
        return bytes(data).decode()


class _Interval(IntervalLoader):
    """A timedelta has no months, whose length varies: intervals with months stay text."""

    def load(self, data: Buffer) -> Any:
        text = bytes(data)
        if b"mon" in text or b"year" in text:
            return text.decode()
        try:
            return super().load(data)
        except psycopg.DataError:
            return text.decode()


class _Json(Loader):
    def load(self, data: Buffer) -> Any:
        text = bytes(data)
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text.decode()


_LOADERS: dict[str, type[Loader]] = {
    "date": _or_text(DateLoader),
    "time": _or_text(TimeLoader),
    "timetz": _or_text(TimetzLoader),
    "timestamp": _or_text(TimestampLoader),
    "timestamptz": _or_text(TimestamptzLoader),
    "interval": _Interval,
    "json": _Json,
    "jsonb": _Json,
    "inet": _Text,
    "cidr": _Text,
    "record": _Text,
    **{kind.name: _Text for kind in psycopg.postgres.types if "range" in kind.name},
}
_ADAPTERS = AdaptersMap(psycopg.adapters)
for _name, _loader in _LOADERS.items():
    _ADAPTERS.register_loader(_name, _loader)
