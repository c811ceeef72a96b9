"""The forms of the reference of `sql`: a query, several queries, or a stored result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.errors import InvalidReference
from rewarden_verifiers.sql.databases import CarriedDatabase


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResult:
    """A stored result: rows, and column names if they matter."""

    rows: tuple[tuple[Any, ...], ...]
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlReference:
    """The expected answer of `sql`.

    database: The id of a registered database, or a database within the request.
    sql: The reference's query, or several queries, any of which the answer can match.
    result: The expected rows, instead of a query.
    ordered: Whether the order of rows counts; null: if the reference's outermost query has an ORDER BY.
    suite: Further databases with the same schema on which the results must agree too (`databases: suite`).
    """

    database: str | CarriedDatabase
    sql: str | tuple[str, ...] | None = None
    result: StoredResult | None = None
    ordered: bool | None = None
    suite: tuple[str | CarriedDatabase, ...] = ()

    @property
    def queries(self) -> Sequence[str]:
        """The reference's queries; empty if the result is stored. Raises InvalidReference."""
        found = (self.sql,) if isinstance(self.sql, str) else self.sql or ()
        if bool(found) == (self.result is not None):
            raise InvalidReference("reference: give either sql or result", path="reference")
        return found
