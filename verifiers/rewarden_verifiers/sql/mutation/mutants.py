"""Neighbours of a query: near misses that a policy might write, and alternative readings that a query leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from rewarden_verifiers.sql.statement import Statement

MOST = 24
"""The maximum number of neighbours of a query."""

_COMPARED: dict[type[exp.Expression], tuple[type[exp.Expression], ...]] = {
    exp.LT: (exp.LTE, exp.GT),
    exp.LTE: (exp.LT, exp.EQ),
    exp.GT: (exp.GTE, exp.LT),
    exp.GTE: (exp.GT, exp.EQ),
    exp.EQ: (exp.NEQ, exp.GTE),
    exp.NEQ: (exp.EQ,),
}
_ARBITRARY = (
    exp.GroupConcat,
    exp.ArrayAgg,
    exp.AnyValue,
    exp.First,
    exp.Last,
    exp.JSONArrayAgg,
    exp.JSONObjectAgg,
    exp.Rand,
)
_PLACED = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)


def neighbours(statement: Statement) -> list[str]:
    """Returns at most `MOST` queries that differ from this one in one aspect: a condition left out, a boundary shifted,
    DISTINCT added or removed, another join, another order, another aggregate. Empty if it could not be parsed.
    """
    if statement.tree is None:
        return []
    found: dict[str, None] = {}
    for text in _changed(statement.tree, statement.dialect):
        found.setdefault(text)
        if len(found) >= MOST:
            break
    return [text for text in found if text != _written(statement.tree, statement.dialect)]


def _changed(tree: Any, dialect: str) -> Iterator[str]:
    for number, node in enumerate(tree.walk()):
        for change in _changes(node):
            copy = tree.copy()
            place = next(other for at, other in enumerate(copy.walk()) if at == number)
            change(place)
            text = _written(copy, dialect)
            if text is not None:
                yield text


def _changes(node: Any) -> Iterator[Callable[[Any], Any]]:
    if isinstance(node, exp.Select):
        if node.args.get("distinct"):
            yield lambda here: here.set("distinct", None)
        else:
            yield lambda here: here.set("distinct", exp.Distinct())
        if node.args.get("having"):
            yield lambda here: here.set("having", None)
    elif isinstance(node, exp.Where):
        if not isinstance(node.this, exp.And):
            yield lambda here: here.pop()
    elif isinstance(node, exp.And):
        yield lambda here: here.replace(here.left)
        yield lambda here: here.replace(here.right)
        yield lambda here: here.replace(exp.Or(this=here.left.copy(), expression=here.right.copy()))
    elif isinstance(node, exp.Or):
        yield lambda here: here.replace(here.left)
        yield lambda here: here.replace(here.right)
    elif isinstance(node, exp.Not):
        yield lambda here: here.replace(here.this)
    elif type(node) in _COMPARED and not (isinstance(node.left, exp.Column) and isinstance(node.right, exp.Column)):
        for other in _COMPARED[type(node)]:
            yield partial(_compare, other)
    elif isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
        yield lambda here: here.replace(exp.Literal.number(int(here.name) + 1))
    elif isinstance(node, exp.Join):
        if node.side:
            yield lambda here: here.set("side", None)
        elif node.args.get("on") is not None or node.args.get("using"):
            yield lambda here: (here.set("side", "LEFT"), here.set("kind", None))
    elif isinstance(node, exp.Ordered):
        yield lambda here: here.set("desc", not here.args.get("desc"))
    elif isinstance(node, exp.Count):
        if not isinstance(node.this, (exp.Star, exp.Distinct)):
            yield lambda here: here.set("this", exp.Star())
            yield lambda here: here.set("this", exp.Distinct(expressions=[here.this.copy()]))
        elif isinstance(node.this, exp.Distinct):
            yield lambda here: here.set("this", here.this.expressions[0].copy())
    elif isinstance(node, (exp.Sum, exp.Avg, exp.Max, exp.Min)):
        aggregate: Any = {exp.Sum: exp.Avg, exp.Avg: exp.Sum, exp.Max: exp.Min, exp.Min: exp.Max}[type(node)]
        yield lambda here: here.replace(aggregate(this=here.this.copy()))
    elif isinstance(node, exp.Union):
        yield lambda here: here.set("distinct", not here.args.get("distinct"))
    elif isinstance(node, exp.Limit):
        yield lambda here: here.pop()


def _compare(other: Any, here: Any) -> None:
    here.replace(other(this=here.left.copy(), expression=here.right.copy()))


class Unsettled(Exception):
    """A query's result may depend on the order in which the engine finds rows, and alternative readings cannot show
    whether it does.
    """


def readings(statement: Statement, width: int) -> tuple[str, str] | None:
    """Returns two queries whose results differ whenever this one's result is ambiguous: one takes the first and the
    other the last of tied rows, or the least and the greatest value of a column next to an aggregate. None if nothing
    is ambiguous. width: the number of columns in its result. Raises Unsettled.

    Among tied rows, choosing the first and choosing the last by all visible columns give the same result only if every
    choice does.
    """
    tree = statement.tree
    if tree is None:
        raise Unsettled("the query cannot be read")
    if tree.find(*_ARBITRARY) is not None:
        raise Unsettled("it has an aggregate that depends on the order of rows")
    lean = statement.dialect in ("sqlite", "mysql")
    texts = []
    for last in (False, True):
        copy = tree.copy()
        changed = False
        for node in list(copy.walk()):
            if isinstance(node, (exp.Select, exp.SetOperation)):
                changed |= _settle_order(node, last, width if node is copy else None)
            if isinstance(node, exp.Window):
                changed |= _settle_window(node, last)
            if isinstance(node, exp.Select) and lean:
                changed |= _settle_bare(node, last)
        if not changed:
            return None
        text = _written(copy, statement.dialect)
        if text is None:
            raise Unsettled("the query cannot be written")
        texts.append(text)
    return texts[0], texts[1]


def _settle_order(node: Any, last: bool, width: int | None) -> bool:
    order, cut = node.args.get("order"), node.args.get("limit") or node.args.get("offset") or node.args.get("fetch")
    if cut is None and (order is None or width is None):
        return False
    if width is None:
        width = len(node.selects)
        if any(item.is_star for item in node.selects) or not width:
            raise Unsettled("the order of a query over * cannot be settled")
    _order_further(node, [exp.Literal.number(place) for place in range(1, width + 1)], last)
    return True


def _settle_window(node: exp.Window, last: bool) -> bool:
    if not isinstance(node.this, (exp.IgnoreNulls, *_PLACED)) and node.args.get("spec") is None:
        return False  # without a ROWS frame, tied rows count together
    select = node.find_ancestor(exp.Select)
    if select is None or any(item.is_star for item in select.selects) or select.args.get("group"):
        raise Unsettled("the order of a window cannot be settled")
    columns = {column.sql(): column for item in select.selects for column in item.find_all(exp.Column)}
    _order_further(node, [column.copy() for column in columns.values()], last)
    return bool(columns)


def _order_further(node: Any, keys: Iterable[Any], last: bool) -> None:
    """Adds sort keys after the existing order."""
    order = node.args.get("order")
    if order is None:
        order = exp.Order(expressions=[])
        node.set("order", order)
    for key in keys:
        order.append("expressions", exp.Ordered(this=key, desc=last, nulls_first=not last))


def _settle_bare(node: exp.Select, last: bool) -> bool:
    """In SQLite and MySQL, a bare column next to an aggregate or in a group comes from an arbitrary row. Next to a
    single MAX or MIN, SQLite takes the row that has it; ties there are kept out of the data, see `Mentions.orders`.
    """
    group = node.args.get("group")
    aggregates = [item for item in node.selects if item.find(exp.AggFunc) is not None]
    if group is None and not aggregates:
        return False
    if any(item.find(exp.Max, exp.Min) is not None for item in aggregates):
        return False
    keys = {item.sql().lower() for item in group.expressions} if group is not None else set()
    keys |= {item.name.lower() for item in group.expressions} if group is not None else set()
    changed = False
    for item in node.selects:
        bare = item.this if isinstance(item, exp.Alias) else item
        if isinstance(bare, exp.Column) and not keys & {bare.sql().lower(), bare.name.lower(), item.alias.lower()}:
            if bare.is_star:
                raise Unsettled("a group is requested for *")
            made = (exp.Max if last else exp.Min)(this=bare.copy())
            bare.replace(
                made if item is not bare else exp.alias_(made, bare.name, quoted=bool(bare.this.args.get("quoted")))
            )
            changed = True
    return changed


def _written(tree: Any, dialect: str) -> str | None:
    try:
        return str(tree.sql(dialect=dialect))
    except (SqlglotError, RecursionError):
        return None
