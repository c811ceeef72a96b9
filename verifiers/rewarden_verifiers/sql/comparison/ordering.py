"""By which of its columns a query puts its rows in order."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import expressions as exp

from rewarden_verifiers.sql.statement import Statement


def sorted_by(statement: Statement) -> tuple[int, ...]:
    """The places of the columns that the outermost ORDER BY names, by number, by name or as written; empty where there
    is none, or where any of them is not among the columns.

    Rows that are equal in all of these may stand in any order: the query leaves it open.
    """
    tree = statement.tree
    if not isinstance(tree, (exp.Select, exp.SetOperation)) or tree.args.get("order") is None:
        return ()
    try:
        columns: Sequence[exp.Expr] = tree.selects
        if any(isinstance(column, (exp.Star, exp.Columns)) or column.is_star for column in columns):
            return ()
        found = [_place(item.this, columns, statement.dialect) for item in tree.args["order"].expressions]
    except (AttributeError, RecursionError):  # a form of its own (ORDER BY ALL), or one nested too deeply
        return ()
    return tuple(place for place in found if place is not None) if None not in found else ()


def _place(item: exp.Expr, columns: Sequence[exp.Expr], dialect: str) -> int | None:
    if isinstance(item, exp.Literal):
        place = int(item.name) - 1 if not item.is_string and item.name.isdecimal() and len(item.name) < 6 else -1
        return place if 0 <= place < len(columns) else None
    if isinstance(item, exp.Column) and not item.table:
        # An alias comes before a column of that name.
        for kind in (exp.Alias, exp.Column):
            named = [
                place
                for place, column in enumerate(columns)
                if isinstance(column, kind) and column.alias_or_name.lower() == item.name.lower()
            ]
            if named:
                return named[0] if len(named) == 1 else None
    text = item.sql(dialect)
    return next((place for place, column in enumerate(columns) if column.unalias().sql(dialect) == text), None)
