"""The statements that make a database from a script or from data, in its engine's dialect."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rewarden_verifiers.sql.databases import Database, EngineName, Table
from rewarden_verifiers.sql.engines.engine import DatabaseFailed

MAKE_CPU_S = 30.0
"""The CPU time in seconds of a request's script on an embedded engine."""
TRUSTED_MAKE_CPU_S = 1800.0
"""The same for a script in the server's own catalogue."""
MAKE_BYTES = 256 * 1024**2
"""The maximum memory in bytes of a database made by a request's script."""


@dataclass(frozen=True, slots=True)
class Insert:
    """Rows for one table: the statement with placeholders, and the values."""

    text: str
    rows: tuple[tuple[Any, ...], ...]

    @property
    def width(self) -> int:
        """The number of values in a row."""
        return len(self.rows[0])

    def batch(self, count: int) -> str:
        """The statement with placeholders for this many rows."""
        head, words, places = self.text.rpartition(" VALUES ")
        return head + words + ", ".join([places] * count)


_PLACE = {"sqlite": "?", "duckdb": "?", "postgres": "%s", "mysql": "%s"}
_TYPES: dict[EngineName, dict[type, str]] = {
    "sqlite": {int: "INTEGER", float: "REAL", str: "TEXT", bool: "INTEGER"},
    "duckdb": {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bool: "BOOLEAN"},
    "postgres": {int: "bigint", float: "double precision", str: "text", bool: "boolean"},
    "mysql": {int: "BIGINT", float: "DOUBLE", str: "LONGTEXT", bool: "BOOLEAN"},
}


def make_cpu_s(database: Database) -> float:
    """The CPU time in seconds for making a database on an embedded engine."""
    return MAKE_CPU_S if database.script_file is None else TRUSTED_MAKE_CPU_S


def quoted(name: str, engine: EngineName) -> str:
    """Quotes a name as an identifier."""
    mark = "`" if engine == "mysql" else '"'
    return mark + name.replace(mark, mark * 2) + mark


def statements_of(database: Database, engine: EngineName) -> Iterator[str | Insert]:
    """Yields the script as it is, then each table and its rows. Raises DatabaseFailed."""
    if database.script_file is not None:
        try:
            with open(database.script_file, encoding="utf-8", errors="surrogateescape") as file:
                if database.changed(os.fstat(file.fileno())):
                    raise DatabaseFailed(
                        "its script has changed since the server read the catalogue; restart the server", ours=True
                    )
                yield file.read()
        except OSError as error:
            raise DatabaseFailed(f"{database.script_file}: {error.strerror}", ours=True) from None
    if database.script:
        yield database.script
    for name, table in database.tables.items():
        if table.columns:
            columns = ", ".join(_column(table, place, engine) for place in range(len(table.columns)))
            yield f"CREATE TABLE {quoted(name, engine)} ({columns})"
        width = len(table.columns) or (len(table.rows[0]) if table.rows else 0)
        if any(len(row) != width for row in table.rows):
            raise DatabaseFailed(f"table {name!r}: every row must have {width} values", ours=False)
        if table.rows:
            places = ", ".join([_PLACE[engine]] * width)
            target = quoted(name, engine)
            if _PLACE[engine] == "%s":
                target = target.replace("%", "%%")  # their drivers read % as the beginning of a placeholder
            yield Insert(f"INSERT INTO {target} VALUES ({places})", table.rows)


def _column(table: Table, place: int, engine: EngineName) -> str:
    column = table.columns[place]
    if not isinstance(column, str):
        name, kind = column
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_ (),]{0,63}", kind):
            raise DatabaseFailed(f"{kind[:64]!r} is not a type of a column", ours=False)
        return f"{quoted(name, engine)} {kind}"
    kinds = {type(row[place]) for row in table.rows if len(row) > place and row[place] is not None}
    kind_ = str if len(kinds - {int, float}) else float if float in kinds else int if kinds else str
    if kinds == {bool}:
        kind_ = bool
    return f"{quoted(column, engine)} {_TYPES[engine][kind_]}"
