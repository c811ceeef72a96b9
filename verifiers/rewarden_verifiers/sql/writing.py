"""Statements that write: judged by the content of the tables afterwards.

The reference's statement and the answer's each run on a separate throw-away copy, in one transaction, with foreign keys
enforced (also in SQLite, where they are off by default). Then all tables are compared as multisets of rows, because
statements that change different rows can report the same count. Rows that they return (RETURNING) are compared as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rewarden.errors import SampleError
from rewarden_verifiers.contract import Watch
from rewarden_verifiers.sql.comparison.comparison import Difference, difference
from rewarden_verifiers.sql.comparison.settings import Comparison
from rewarden_verifiers.sql.connections import open_session
from rewarden_verifiers.sql.databases import Database, EngineName
from rewarden_verifiers.sql.engines.engine import Caps, QueryFailed, ResultSet, Session
from rewarden_verifiers.sql.make import quoted
from rewarden_verifiers.sql.statement import Statement

State = Mapping[str, ResultSet]
"""Maps table names to their rows, in no particular order."""

_STANDARD = (
    "SELECT table_schema, table_name FROM information_schema.tables"
    " WHERE table_type = 'BASE TABLE' AND {} ORDER BY table_schema, table_name"
)
_TABLES: dict[EngineName, str] = {
    "sqlite": "SELECT 'main', name FROM sqlite_schema WHERE type = 'table' ORDER BY 2",
    "duckdb": _STANDARD.format("table_catalog = current_catalog()"),
    "postgres": _STANDARD.format("table_schema NOT IN ('pg_catalog', 'information_schema')"),
}
_NOTHING = ResultSet((), [])


class StateUnknown(SampleError):
    """The outcome of a statement's writes is unknown: the tables exceed the limits, or cannot be read."""

    fault = "verifier"
    reason = "state_unknown"


@dataclass(frozen=True, slots=True)
class Written:
    """The effect of a statement: the tables after it, and the rows that it returned."""

    tables: State
    returned: ResultSet

    @property
    def size(self) -> int:
        """The number of rows, plus one per table."""
        return len(self.tables) + sum(len(rows.rows) for rows in self.tables.values())


@dataclass(frozen=True, slots=True)
class WriteDifference:
    """The first table in which two writes differ (None: the rows that they returned), and how."""

    table: str | None
    how: Difference
    expected: ResultSet
    got: ResultSet


def written(
    database: Database, statement: Statement | None, servers: Mapping[str, str], caps: Caps, watch: Watch
) -> Written:
    """Returns the effect of a statement on a copy of a database; without a statement, the database as it is.

    Raises QueryFailed if the statement fails, SampleError if there is no copy or it cannot be read, Expired.
    """
    session = open_session(database, servers, watch, copy=True)
    try:
        returned = _NOTHING
        if statement is not None and _returns(statement):
            returned = session.query(statement.text, caps, watch)
        elif statement is not None:
            session.write(statement.text, caps, watch)
        return Written(state(session, database.engine, caps, watch), returned)
    finally:
        session.close()


def state(session: Session, engine: EngineName, caps: Caps, watch: Watch) -> State:
    """Returns all tables in full. Raises StateUnknown if together they exceed the limits that `caps` sets for one
    result; Expired.

    Views are left out (except in MySQL, whose catalogue no statement may read), and so is the internal data of virtual
    tables in SQLite or of the engine.
    """
    try:
        found: dict[str, ResultSet] = {}
        left = caps.rows
        for place in _places(session, engine, caps, watch):
            rows = session.query(f"SELECT * FROM {place}", replace(caps, rows=left), watch)
            found[place] = rows
            left -= len(rows.rows)
        return found
    except QueryFailed as failed:
        raise StateUnknown(f"the changes cannot be compared: the tables: {failed.message} ({failed.reason})") from None


def _places(session: Session, engine: EngineName, caps: Caps, watch: Watch) -> list[str]:
    """The tables, as statements refer to them."""
    if engine == "mysql":
        return [quoted(name, engine) for name in session.schema()]
    rows = session.query(_TABLES[engine], caps, watch).rows
    names = [(str(schema), str(table)) for schema, table in rows]
    if engine == "sqlite":
        known = session.schema()
        names = [(schema, table) for schema, table in names if table in known]
    return [f"{quoted(schema, engine)}.{quoted(table, engine)}" for schema, table in names]


def differs(expected: Sequence[Written], got: Written, how: Comparison) -> WriteDifference | None:
    """Returns the difference between a write and the first expected one; None if it equals any of them.

    how: only its tolerances apply; tables are compared without order, with duplicates, by position.
    """
    how = replace(how, ordered=False, duplicates=True, columns="position")
    found = [_difference(item, got, how) for item in expected]
    return None if None in found else found[0]


def _difference(expected: Written, got: Written, how: Comparison) -> WriteDifference | None:
    pairs: Sequence[tuple[str | None, ResultSet, ResultSet]] = (
        *((name, rows, got.tables.get(name, _NOTHING)) for name, rows in expected.tables.items()),
        (None, expected.returned, got.returned),
    )
    for table, one, other in pairs:
        found = difference(one, other, how)
        if found is not None:
            return WriteDifference(table, found, one, other)
    return None


def _returns(statement: Statement) -> bool:
    return statement.tree is not None and statement.tree.args.get("returning") is not None
