"""Statements that write: judged by what the tables hold after them.

The reference's statement and the answer's each run on a throw-away copy of their own, in one transaction, with foreign
keys enforced (SQLite too, which by itself would not). Then all tables are compared as multisets of rows: what a
statement says of itself (rows touched) may be the same for different rows. Rows that it returns (RETURNING) are
compared as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rewarden_verifiers.contract import Watch
from rewarden_verifiers.sql.comparison.comparison import Difference, difference
from rewarden_verifiers.sql.comparison.settings import Comparison
from rewarden_verifiers.sql.connections import open_session
from rewarden_verifiers.sql.databases import Database
from rewarden_verifiers.sql.engines.engine import Caps, ResultSet
from rewarden_verifiers.sql.statement import Statement
from rewarden_verifiers.sql.tables import State, state

_NOTHING = ResultSet((), [])


@dataclass(frozen=True, slots=True)
class Written:
    """The effect of a statement: the tables after it, and the rows that it returned."""

    tables: State
    returned: ResultSet

    @property
    def size(self) -> int:
        """Rows, and one a table."""
        return len(self.tables) + sum(len(rows.rows) for rows in self.tables.values())


@dataclass(frozen=True, slots=True)
class WriteDifference:
    """The first table in which two writes differ (None: what they returned), and how."""

    table: str | None
    how: Difference
    expected: ResultSet
    got: ResultSet


def written(
    database: Database, statement: Statement | None, servers: Mapping[str, str], caps: Caps, watch: Watch
) -> Written:
    """Returns what a statement does to a copy of a database; None: the database as it is.

    Raises QueryFailed where the statement fails, SampleError where there is no copy or it cannot be read, Expired.
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


def differs(expected: Sequence[Written], got: Written, how: Comparison) -> WriteDifference | None:
    """Returns how what was done differs from the first of what was expected; None where it is as any of them.

    how: its tolerances count; tables are compared without order, with duplicates, by position.
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
