"""The contents of the tables: a database's state, before a statement that writes and after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rewarden.errors import SampleError
from rewarden_verifiers.contract import Watch
from rewarden_verifiers.sql.databases import EngineName
from rewarden_verifiers.sql.engines.engine import Caps, QueryFailed, ResultSet, Session
from rewarden_verifiers.sql.make import quoted

State = Mapping[str, ResultSet]
"""Tables by name; their rows in no order."""

_STANDARD = (
    "SELECT table_schema, table_name FROM information_schema.tables"
    " WHERE table_type = 'BASE TABLE' AND {} ORDER BY table_schema, table_name"
)
_TABLES: dict[EngineName, str] = {
    "sqlite": "SELECT 'main', name FROM sqlite_schema WHERE type = 'table' ORDER BY 2",
    "duckdb": _STANDARD.format("table_catalog = current_catalog()"),
    "postgres": _STANDARD.format("table_schema NOT IN ('pg_catalog', 'information_schema')"),
}


class StateUnknown(SampleError):
    """The outcome of a statement's writes cannot be told: the tables hold more than may be read, or cannot be read."""

    fault = "verifier"
    reason = "state_unknown"


def state(session: Session, engine: EngineName, caps: Caps, watch: Watch) -> State:
    """All tables, whole. Raises StateUnknown where together they hold more than `caps` lets one result hold; Expired.

    Views are left out (but for MySQL, whose catalogue no statement may read), and so is what a virtual table of SQLite
    or the engine keeps for itself.
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
        raise StateUnknown(
            f"what was written cannot be compared: the tables: {failed.message} ({failed.reason})"
        ) from None


def _places(session: Session, engine: EngineName, caps: Caps, watch: Watch) -> list[str]:
    """The tables, as statements name them."""
    if engine == "mysql":
        return [quoted(name, engine) for name in session.schema()]
    rows = session.query(_TABLES[engine], caps, watch).rows
    names = [(str(schema), str(table)) for schema, table in rows]
    if engine == "sqlite":
        known = session.schema()
        names = [(schema, table) for schema, table in names if table in known]
    return [f"{quoted(schema, engine)}.{quoted(table, engine)}" for schema, table in names]
