"""Rows that tie in a reference's ORDER BY: it does not determine which of them come before a LIMIT, or in which order.

The reference runs once more, without its LIMIT and with its sort keys as further columns. Wherever the order permits a
choice, the rows that match the response are chosen. The comparison makes the final decision.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlglot.expressions as exp
from sqlglot.errors import SqlglotError

from rewarden_verifiers.sql.engines.engine import ResultSet
from rewarden_verifiers.sql.statement import Statement, sorted_by

_MOST_KEYS = 8
_DIGITS = 6
"""The number of digits in which numbers must agree when a row is looked up."""


@dataclass(frozen=True, slots=True)
class OpenOrder:
    """A query without its LIMIT. keys: the columns that it sorts by; added: how many of these follow the query's own
    columns. start, count: the slice of rows that it returns; count is None if it returns all.
    """

    text: str
    keys: tuple[int, ...]
    added: int
    start: int
    count: int | None

    def fitted(self, rows: ResultSet, got: ResultSet) -> ResultSet | None:
        """Returns the result closest to an answer's among those that the order permits; None if there is only one.

        rows: the result of `text`. Takes linear time, apart from sorting tied rows.
        """
        width = len(rows.columns) - self.added
        end = len(rows.rows) if self.count is None else min(self.start + self.count, len(rows.rows))
        places: dict[Any, deque[int]] = defaultdict(deque)
        for place, row in enumerate(got.rows):
            places[_signature(row)].append(place)
        chosen: list[tuple[Any, ...]] = []
        tied = False
        for first, last in self._classes(rows.rows):
            least, most = max(first, self.start), min(last, end)
            if least >= most:
                continue
            pool = [row[:width] for row in rows.rows[first:last]]
            tied = tied or len(pool) > 1
            chosen += pool if len(pool) == 1 else _nearest(pool, most - least, places)
        return ResultSet(rows.columns[:width], chosen) if tied else None

    def _classes(self, rows: Sequence[Sequence[Any]]) -> Iterator[tuple[int, int]]:
        """Yields the runs of rows that are equal in all keys, as slices."""
        first = 0
        for place in range(1, len(rows) + 1):
            if place == len(rows) or any(rows[place][key] != rows[first][key] for key in self.keys):
                yield first, place
                first = place


def _nearest(pool: list[Any], count: int, places: dict[Any, deque[int]]) -> list[Any]:
    """Chooses this many of the tied rows: first those that the answer has, in its order."""
    had: list[tuple[int, Any]] = []
    others = []
    for row in pool:
        waiting = places.get(_signature(row))
        if waiting:
            had.append((waiting.popleft(), row))
        else:
            others.append(row)
    had.sort(key=lambda pair: pair[0])
    for place, row in reversed(had[count:]):
        places[_signature(row)].appendleft(place)
    return [row for _, row in had[:count]] + others[: max(0, count - len(had))]


def _signature(row: Sequence[Any]) -> Any:
    """Returns a key that equal rows share, regardless of the order of their columns."""
    return tuple(sorted(f"{cell:.{_DIGITS}g}" if isinstance(cell, (float, Decimal)) else str(cell) for cell in row))


def open_order(statement: Statement) -> OpenOrder | None:
    """Returns the query of a statement with an outermost ORDER BY, without its LIMIT; None if it has no such order, or
    if the sort keys cannot be selected next to its columns.
    """
    tree = statement.tree
    if not isinstance(tree, (exp.Select, exp.SetOperation)) or tree.args.get("order") is None:
        return None
    try:
        start, count = _bounds(tree)
        keys = sorted_by(statement)
        items = tree.args["order"].expressions
        copy = tree.copy()
        for clause in ("limit", "offset", "fetch"):
            copy.set(clause, None)
        added = 0
        if not keys:
            if not isinstance(copy, exp.Select) or copy.args.get("distinct") or len(items) > _MOST_KEYS:
                return None
            if any(isinstance(item.this, exp.Literal) for item in items):
                return None
            added = len(items)
            for item in items:
                copy.append("expressions", item.this.copy())
            keys = tuple(range(-added, 0))
        return OpenOrder(str(copy.sql(dialect=statement.dialect)), keys, added, start, count)
    except (AttributeError, RecursionError, SqlglotError, ValueError):
        return None


def _bounds(tree: Any) -> tuple[int, int | None]:
    """Returns the first row that a query returns, and the number of rows; None for all. Raises ValueError if these are
    not plain numbers, or a percentage is given.
    """
    offset, limit = tree.args.get("offset"), tree.args.get("limit")
    start = int(offset.expression.name) if offset is not None else 0
    if limit is None:
        return start, None
    if (options := limit.args.get("limit_options")) is not None and (
        options.args["percent"] or options.args["with_ties"]
    ):
        raise ValueError("LIMIT gives a share, or all that tie")
    return start, int((limit.args.get("count") or limit.expression).name)
