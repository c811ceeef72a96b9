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
"""Digits to which numbers are the same when a row is looked for."""


@dataclass(frozen=True, slots=True)
class OpenOrder:
    """A query without its LIMIT. keys: the columns by which it puts rows in order; added: how many of these come after
    the query's own. start, count: the rows that it gives; count is None if it gives all.
    """

    text: str
    keys: tuple[int, ...]
    added: int
    start: int
    count: int | None

    def fitted(self, rows: ResultSet, got: ResultSet) -> ResultSet | None:
        """The result that is nearest to an answer's, of all that the order leaves open; None where there is one alone.

        rows: the result of `text`. Linear but for the sorting of rows that tie.
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
        """The runs of rows that are equal in all keys, as slices."""
        first = 0
        for place in range(1, len(rows) + 1):
            if place == len(rows) or any(rows[place][key] != rows[first][key] for key in self.keys):
                yield first, place
                first = place


def _nearest(pool: list[Any], count: int, places: dict[Any, deque[int]]) -> list[Any]:
    """So many rows of those that tie: first those that the answer has, as it orders them."""
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
    """Returns a key that equal rows share, in whatever order their columns stand."""
    return tuple(sorted(f"{cell:.{_DIGITS}g}" if isinstance(cell, (float, Decimal)) else str(cell) for cell in row))


def open_order(statement: Statement) -> OpenOrder | None:
    """The query of a statement whose outermost ORDER BY is asked without its LIMIT; None for one that has none, or
    whose order cannot be shown beside its columns.
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
    """The first row that a query gives, and how many; None for all. Raises ValueError if these are not plain numbers,
    or a share of the rows.
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
