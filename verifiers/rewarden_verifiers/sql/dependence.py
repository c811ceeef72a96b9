"""Determines whether a query's result depends on the rows of tables, and on the current time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import expressions as exp
from sqlglot.optimizer.simplify import simplify

from rewarden_verifiers.sql.statement import Statement
from rewarden_verifiers.sql.tokens import Token

_SMALL = 500
"""The maximum number of nodes of an expression that is passed to sqlglot's simplifier."""


@dataclass(frozen=True, slots=True)
class _Source:
    """An item of a FROM clause. reads: whether its columns come from rows of a table; listed by name if some do and
    others do not. counts: whether its number of rows depends on a table. several: whether it has several rows of
    constants from which a condition may choose.
    """

    reads: bool
    counts: bool
    columns: Mapping[str, bool] = field(default_factory=dict)
    several: bool = False


_TABLE = _Source(True, True)
_NONE = _Source(False, False)
_Sources = Mapping[str, _Source]


def constant(statement: Statement) -> bool:
    """Returns whether a query's result cannot depend on the rows of any table: its columns are constants, or it has no
    tables. The number of rows does not count, so `SELECT 5 FROM t LIMIT 1` is constant. A query whose rows choose
    between several constants is not.
    """
    tree = statement.tree
    if statement.kind != "query":
        return False
    if tree is None:
        return not any(token.kind == "word" and token.lower in ("from", "table", "pivot") for token in statement.tokens)
    try:
        return isinstance(tree, (exp.Query, exp.Values)) and not _query(tree, {}, {}).reads
    except RecursionError:  # it is nested too deeply
        return False


def _query(tree: exp.Expr, ctes: _Sources, outer: _Sources) -> _Source:
    """Returns the dependence of a query as seen from outside."""
    with_ = tree.args.get("with_")
    if with_ is not None:
        ctes = dict(ctes)
        for cte in with_.expressions:
            # A recursive CTE reads itself, but no rows that its first part does not read.
            ctes[cte.alias.lower()] = _NONE
            ctes[cte.alias.lower()] = _named(_query(cte.this, ctes, outer), cte)
    if isinstance(tree, (exp.Subquery, exp.Paren)):
        return _query(tree.this, ctes, outer)
    if isinstance(tree, exp.SetOperation):
        return _compound(tree, ctes, outer)
    if isinstance(tree, exp.Values):
        reads = any(_reads(row, ctes, outer) for row in tree.expressions)
        return _Source(reads, False, several=len(tree.expressions) > 1)
    if not isinstance(tree, exp.Select):
        return _TABLE
    sources = dict(_sources(tree, ctes, outer))
    around = {**outer, **sources}
    counts = any(source.counts for source in sources.values()) or any(
        _reads_within(tree.args.get(part), ctes, around) for part in ("where", "having", "qualify")
    )
    if _none(tree):
        return _NONE
    several = any(source.several for source in sources.values())
    if several and _chooses(tree, ctes, around):
        return _Source(True, counts)
    columns: dict[str, bool] = {}
    anything = False
    for column in tree.expressions:
        reads = _reads(column, ctes, around, counts)
        anything = anything or reads
        if column.alias_or_name:
            columns[column.alias_or_name.lower()] = reads
    return _Source(anything, counts, columns, several)


def _chooses(tree: exp.Select, ctes: _Sources, sources: _Sources) -> bool:
    """Returns whether a table's rows decide which rows of constants are returned: `SELECT v FROM (VALUES (1), (2)) AS
    t(v) WHERE v IN (SELECT id FROM person)`, `… ORDER BY n DESC LIMIT 1`.
    """
    parts = [tree.args.get(name) for name in ("where", "having", "qualify")]
    parts += [join.args.get("on") for join in tree.args.get("joins") or ()]
    if tree.args.get("limit") is not None:
        parts.append(tree.args.get("order"))
    return any(_reads_within(part, ctes, sources) for part in parts)


def _compound(tree: exp.SetOperation, ctes: _Sources, outer: _Sources) -> _Source:
    branches = list(_branches(tree))
    found = [_query(branch, ctes, outer) for branch in branches]
    alive = [
        (branch, source)
        for branch, source in zip(branches, found, strict=True)
        if not (isinstance(branch, exp.Select) and _none(branch))
    ]
    reads = any(source.reads for _, source in alive)
    texts = {" ".join(column.sql() for column in branch.args.get("expressions") or ()) for branch, _ in alive}
    # `SELECT 'yes' WHERE EXISTS (…) UNION SELECT 'no' WHERE NOT EXISTS (…)`: the rows decide which.
    chosen = len(texts) > 1 and all(
        source.counts and any(branch.args.get(part) for part in ("where", "having", "qualify"))
        for branch, source in alive
    )
    columns = {
        name: any(list(source.columns.values())[place] for source in found if len(source.columns) > place)
        for place, name in enumerate(found[0].columns)
    }
    counts = any(source.counts for source in found)
    return _Source(reads or chosen, counts, {} if chosen else columns, several=len(texts) > 1)


def _branches(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The queries of a compound, however many, without recursion."""
    waiting: list[exp.Expr] = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.SetOperation):
            waiting += (one.expression, one.this)
        elif isinstance(one, exp.Subquery) and not one.args.get("with_"):
            waiting.append(one.this)
        else:
            yield one


def _named(source: _Source, holder: exp.Expr) -> _Source:
    """Renames a source's columns to those of its alias."""
    alias = holder.args.get("alias")
    names = [name.name.lower() for name in (alias.args.get("columns") or ())] if alias is not None else []
    if not names:
        return source
    given = list(source.columns.values())
    columns = {name: given[place] if place < len(given) else source.reads for place, name in enumerate(names)}
    return _Source(source.reads, source.counts, columns, source.several)


def _sources(tree: exp.Select, ctes: _Sources, outer: _Sources) -> Iterator[tuple[str, _Source]]:
    """Yields the items of the FROM clause and its joins, by the name that qualifies their columns."""
    start = tree.args.get("from_")
    held = [start.this] if start is not None else []
    held += [join.this for join in tree.args.get("joins") or ()]
    held += tree.args.get("laterals") or ()
    before = dict(outer)
    for number, one in enumerate(held):
        waiting = [one]
        while waiting:
            item = waiting.pop()
            waiting += [join.this for join in item.args.get("joins") or ()]
            source = _named(_source(item, ctes, before), item)
            name = item.alias_or_name.lower() or f"\0{number}.{len(waiting)}"
            before[name] = source
            yield name, source


def _source(item: exp.Expr, ctes: _Sources, outer: _Sources) -> _Source:
    if isinstance(item, (exp.Subquery, exp.Lateral)) and isinstance(item.this, (exp.Query, exp.Values)):
        return _query(item.this, ctes, outer)
    if isinstance(item, exp.Subquery):  # joins in brackets
        return _source(item.this, ctes, outer)
    if isinstance(item, exp.Values):
        return _query(item, ctes, outer)
    if isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier):
        return ctes.get(item.name.lower(), _TABLE) if not item.db else _TABLE
    if isinstance(item, (exp.Table, exp.Unnest, exp.Lateral)):
        # A table function depends on its arguments alone: `guard` allows no others.
        reads = _reads(item, ctes, outer)
        return _Source(reads, reads)
    return _TABLE


def _none(tree: exp.Select) -> bool:
    """Returns whether a query returns no rows whatever its tables contain: `WHERE 0`, `LIMIT 0`."""
    limit = tree.args.get("limit")
    if limit is not None and isinstance(limit.expression, exp.Literal) and limit.expression.this == "0":
        return True
    where = tree.args.get("where")
    return where is not None and _truth(where.this) is False


def _truth(condition: exp.Expr) -> bool | None:
    """Returns a condition's truth value if it does not depend on any row, else None."""
    if isinstance(condition, exp.And) and False in map(_truth, condition.flatten()):
        return False
    if condition.find(exp.Column, exp.Query) is not None:
        return None
    found = _simple(condition)
    if isinstance(found, exp.Boolean):
        return bool(found.this)
    if isinstance(found, exp.Null):
        return False
    if isinstance(found, exp.Literal) and not found.is_string:
        return bool(str(found.this).strip("0."))
    return None


def _simple(tree: exp.Expr) -> exp.Expr:
    for place, _ in enumerate(tree.walk()):
        if place > _SMALL:
            return tree
    try:
        simple: exp.Expr = simplify(tree.copy())
        return simple
    except Exception:  # noqa: BLE001 - it is asked as a help: what it cannot do stays as it is
        return tree


def _reads_within(tree: exp.Expr | None, ctes: _Sources, sources: _Sources) -> bool:
    return tree is not None and _reads(tree, ctes, sources, any(source.counts for source in sources.values()))


def _reads(tree: exp.Expr, ctes: _Sources, sources: _Sources, counts: bool = False) -> bool:
    """Returns whether a value depends on rows. counts: whether it depends on the number of rows around it."""
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, (exp.Star, exp.Columns)):
            if any(source.reads for source in sources.values()) or not sources:
                return True
        elif isinstance(one, exp.Column):
            if _column(one, sources):
                return True
        elif isinstance(one, exp.Exists):
            if _query(one.this, ctes, sources).counts:
                return True
        elif isinstance(one, (exp.Query, exp.Values)):
            found = _query(one, ctes, sources)
            # `5 IN (SELECT …)` depends on which rows exist, `(SELECT 5 …)` just returns 5.
            if found.reads or (found.counts and (not _scalar(one) or _missed(one))):
                return True
        elif isinstance(one, (exp.Case, exp.If)):
            waiting += _chosen(one)
        elif isinstance(one, exp.Coalesce) and isinstance(one.this, exp.Literal):
            continue
        elif isinstance(one, (exp.Max, exp.Min, exp.AnyValue)):
            waiting += [one.this] if one.this is not None else []
        elif isinstance(one, (exp.AggFunc, exp.Window)) and counts:
            return True
        elif isinstance(one, exp.In) and isinstance(one.args.get("field"), exp.Column):
            return True  # SQLite: `x IN t`
        else:
            waiting += one.iter_expressions()
    return False


def _scalar(query: exp.Expr) -> bool:
    return not isinstance(query.parent, (exp.In, exp.Any, exp.All, exp.Array)) and not isinstance(
        query.parent.parent if isinstance(query.parent, exp.Subquery) else None, (exp.In, exp.Any, exp.All)
    )


def _missed(query: exp.Expr) -> bool:
    """Returns whether the surrounding expression tests if a condition leaves the query any row: `COALESCE((SELECT 'yes'
    … WHERE …), 'no')`.
    """
    inner, around = query, query.parent
    while isinstance(inner, (exp.Subquery, exp.Paren)):
        inner = inner.this
    while isinstance(around, (exp.Subquery, exp.Paren)):
        around = around.parent
    return inner.args.get("where") is not None and isinstance(around, (exp.Coalesce, exp.Is))


def _chosen(tree: exp.Case | exp.If) -> Sequence[exp.Expr]:
    """The parts of a CASE or IF on which its value may depend."""
    ifs = tree.args.get("ifs") if isinstance(tree, exp.Case) else [tree]
    default = tree.args.get("default") if isinstance(tree, exp.Case) else tree.args.get("false")
    values: list[exp.Expr] = []
    conditions: list[exp.Expr] = [tree.this] if isinstance(tree, exp.Case) and tree.this is not None else []
    for one in ifs or ():
        truth = _truth(one.this) if not conditions or isinstance(tree, exp.If) else None
        if truth is False:
            continue
        values.append(one.args["true"])
        if truth is True:
            return [*conditions, *values] if conditions else values
        conditions.append(one.this)
    if default is not None:
        values.append(default)
        if len({value.sql() for value in values}) == 1:
            return values[:1]  # the same on every branch
    return [*conditions, *values]


def _column(column: exp.Column, sources: _Sources) -> bool:
    name, table = column.name.lower(), column.table.lower()
    if table in sources:
        source = sources[table]
        if isinstance(column.this, exp.Star):
            return source.reads
        return source.columns.get(name, source.reads)
    for source in sources.values():
        if name in source.columns:
            return source.columns[name]
    return any(source.reads for source in sources.values())


_CLOCKS_TEXT = """
current_date current_time current_timestamp current_localtime current_localtimestamp get_current_time
get_current_timestamp localtime localtimestamp now today curdate curtime sysdate utc_date utc_time utc_timestamp
clock_timestamp statement_timestamp transaction_timestamp
"""
_CLOCKS = frozenset(_CLOCKS_TEXT.split())
_FEWER = {"date": 0, "time": 0, "datetime": 0, "julianday": 0, "unixepoch": 0, "strftime": 1, "age": 1}
_FEWER["unix_timestamp"] = 0
"""Functions that read the clock if they have no more arguments than this."""
_NOW = frozenset(("now", "today", "tomorrow", "yesterday", "current_date", "current_timestamp"))


def time_dependent(statement: Statement) -> bool:
    """Returns whether a query's result depends on the time at which it runs (`now`, CURRENT_DATE); such results are not
    cached. Errs towards yes, which only costs a cached result.
    """
    tokens = statement.tokens
    for place, token in enumerate(tokens):
        if token.kind == "string" and token.lower.strip() in _NOW:
            return True
        if token.kind != "word":
            continue
        word = token.lower
        if word in _CLOCKS and not (place and tokens[place - 1].text == "."):
            return True
        called = bool(tokens[place + 1 : place + 2]) and tokens[place + 1].text == "("
        if called and word in _FEWER and _arguments(tokens, place + 1) <= _FEWER[word]:
            return True
    return False


def _arguments(tokens: Sequence[Token], start: int) -> int:
    """Returns the number of arguments in the bracket that opens here."""
    depth = commas = 0
    for place in range(start, len(tokens)):
        sign = tokens[place].text if tokens[place].kind == "sign" else ""
        if sign and sign in "([{":
            depth += 1
        elif sign and sign in ")]}":
            depth -= 1
            if depth == 0:
                return 0 if place == start + 1 else commas + 1
        elif sign == "," and depth == 1:
            commas += 1
    return commas + 1
