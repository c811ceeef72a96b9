"""The similarity of two statements, as texts or by clauses. For the latter, names are resolved as far as the statement
allows.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, cast

import sqlglot
from sqlglot import expressions as exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.tokenizer_core import TokenType

from rewarden_verifiers.sql.statement import Statement

COMPONENTS = ("select", "where", "group", "having", "order", "and_or", "set_operations", "keywords")
"""Spider's components of a statement (Yu et al., 2018; taoyds/spider, evaluation.py)."""

MOST_NODES = 5000
"""The maximum number of nodes of a tree that is analysed."""

Link = tuple[str | None, str]
"""A column, with its table if the statement determines it."""

_WORDS: tuple[tuple[type[exp.Expression], str], ...] = ((exp.Not, "not"), (exp.In, "in"), (exp.Like, "like"))
_LONG = 200
_SETS = ((exp.Union, "union"), (exp.Except, "except"), (exp.Intersect, "intersect"))


@dataclass(frozen=True, slots=True)
class Anatomy:
    """The parts of a statement. tables: the tables it names, with repetitions, without CTEs. columns: the columns it
    names. parts: the units of each of `COMPONENTS`, with constants replaced by a mark and aliases by their meaning.
    """

    tables: Counter[str]
    columns: frozenset[Link]
    parts: Mapping[str, Counter[str]]


def anatomy(statement: Statement) -> Anatomy | None:
    """Analyses a statement; None if it cannot be parsed, is nested too deeply, or has more than `MOST_NODES`."""
    if not isinstance(statement.tree, exp.Query):
        return None
    try:
        if sum(1 for _ in islice(statement.tree.walk(), MOST_NODES + 1)) > MOST_NODES:
            return None
        tables, columns = _resolved(statement.tree)
        return Anatomy(tables, columns, _parts(statement.tree, Dialect.get_or_raise(statement.dialect)))
    except (SqlglotError, RecursionError):
        return None


def likeness(reference: Anatomy, answer: Anatomy) -> float:
    """The mean F1 over the components that either statement has.

    Spider counts a component as right or wrong; here it counts by how far its units agree.
    """
    found = []
    for name in COMPONENTS:
        one, other = reference.parts[name], answer.parts[name]
        if one or other:
            found.append(2 * (one & other).total() / (one.total() + other.total()))
    return sum(found) / len(found) if found else 0.0


def same(reference: Anatomy, answer: Anatomy) -> bool:
    """Spider's exact set match without values: all components and the tables are equal."""
    return reference.parts == answer.parts and reference.tables == answer.tables


def linked_tables(reference: Anatomy, answer: Anatomy) -> float:
    """F1 of the tables that the statements name (schema linking)."""
    one, other = set(reference.tables), set(answer.tables)
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 1.0


def linked_columns(reference: Anatomy, answer: Anatomy) -> float:
    """F1 of the columns that the statements name. A column without a known table agrees with that name in any table."""
    one, other = set(reference.columns), set(answer.columns)
    if not one and not other:
        return 1.0
    total = len(one) + len(other)
    common = one & other
    one, other = one - common, other - common
    matched = len(common)
    for bare, full in ((one, other), (other, one)):
        names = Counter(name for table, name in full if table is not None)
        for name in {name for table, name in bare if table is None}:
            if names[name]:
                matched += 1
                found = min(link for link in full if link[1] == name and link[0] is not None)
                full.discard(found)
                bare.discard((None, name))
    return 2 * matched / total


def _resolved(tree: exp.Expression) -> tuple[Counter[str], frozenset[Link]]:
    """The tables and columns that a statement names."""
    tables: Counter[str] = Counter()
    columns: set[Link] = set()
    scopes = {id(scope.expression): scope for scope in traverse_scope(cast(Any, tree))}
    sources: dict[int, dict[str, Any]] = {}
    for place, scope in scopes.items():
        sources[place] = {name.lower(): source for name, source in scope.sources.items()}
        selected = [source for _, source in scope.selected_sources.values()]
        tables.update(source.name.lower() for source in selected if isinstance(source, exp.Table))
        # An unqualified column belongs to the only table or CTE, if there is just one.
        sources[place][""] = selected[0] if len(selected) == 1 else None
        if isinstance(scope.expression, exp.Select) and any(
            isinstance(item, exp.Star) for item in scope.expression.expressions
        ):
            columns.update((source.name.lower(), "*") for source in selected if isinstance(source, exp.Table))
    # scope.columns climbs from each column to its query, and a WHERE with a thousand ORs is a thousand levels deep.
    waiting: list[tuple[Any, int]] = [(tree, id(tree))]
    while waiting:
        node, place = waiting.pop()
        place = id(node) if id(node) in sources else place
        if isinstance(node, exp.Column):
            source = sources.get(place, {}).get(node.table.lower())
            if not isinstance(source, Scope):
                columns.add((source.name.lower() if isinstance(source, exp.Table) else None, node.name.lower()))
        waiting.extend((child, place) for child in node.iter_expressions())
    return tables, frozenset(columns)


def _parts(tree: exp.Expression, dialect: Dialect) -> Mapping[str, Counter[str]]:
    parts: dict[str, Counter[str]] = {name: Counter() for name in COMPONENTS}
    keywords: set[str] = set()
    queries: list[Any] = [tree]
    while not isinstance(queries[-1], exp.Select):
        query = queries[-1]
        for kind, name in _SETS:
            if isinstance(query, kind):
                parts["set_operations"][f"{name} {_unit(query.expression, dialect)}"] += 1
                keywords.add(name)
        if not isinstance(query.this, exp.Query):
            return parts
        queries.append(query.this)
    select = queries[-1]
    named = _Named(select, dialect)
    parts["select"].update(named.units)
    conditions: list[exp.Expression] = []
    for clause in ("where", "having"):
        found = select.args.get(clause)
        if found is not None:
            keywords.add(clause)
            for condition in _conditions(found.this, parts["and_or"] if clause == "where" else None, keywords):
                parts[clause][_unit(condition, dialect, named.by_alias)] += 1
                conditions.append(condition)
    group = select.args.get("group")
    if group is not None:
        keywords.add("group")
        parts["group"].update(named.unit(item) for item in group.expressions)
    for query in queries:
        if query.args.get("limit") is not None:
            keywords.add("limit")
        order = query.args.get("order")
        for place, item in enumerate(order.expressions if order is not None else ()):
            way = "desc" if item.args.get("desc") else "asc"
            keywords.update(("order", way))
            # Include the position: the second sort key is not the same as the first.
            parts["order"][f"{place} {named.unit(item.this)} {way}"] += 1
    for join in select.args.get("joins") or ():
        if join.args.get("on") is not None:
            conditions.extend(_conditions(join.args["on"], None, keywords))
    for word, name in _WORDS:
        if any(condition.find(word) is not None for condition in conditions):
            keywords.add(name)
    parts["keywords"].update(keywords)
    return parts


class _Named:
    """The columns of a SELECT, which other clauses refer to by alias or number."""

    def __init__(self, select: exp.Select, dialect: Dialect) -> None:
        self._dialect = dialect
        self.units: list[str] = []
        self.by_alias: dict[str, str] = {}
        for item in select.expressions:
            self.units.append(_unit(item.this if isinstance(item, exp.Alias) else item, dialect))
            if isinstance(item, exp.Alias):
                self.by_alias[item.alias.lower()] = self.units[-1]

    def unit(self, item: exp.Expression) -> str:
        """Returns the unit of an expression in GROUP BY or ORDER BY."""
        if isinstance(item, exp.Literal) and not item.is_string and item.name.isdecimal() and len(item.name) < 6:
            place = int(item.name)
            if 1 <= place <= len(self.units):
                return self.units[place - 1]
        return _unit(item, self._dialect, self.by_alias)


def _conditions(tree: exp.Expression, connectors: Counter[str] | None, keywords: set[str]) -> Iterator[exp.Expression]:
    """The conditions that are joined by AND and OR."""
    waiting: list[Any] = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, exp.Paren):
            waiting.append(item.this)
        elif isinstance(item, (exp.And, exp.Or)):
            name = "and" if isinstance(item, exp.And) else "or"
            if connectors is not None:
                connectors[name] = 1
            if name == "or":
                keywords.add("or")
            waiting += (item.this, item.expression)
        else:
            yield item


def _unit(item: exp.Expression, dialect: Dialect, by_alias: Mapping[str, str] | None = None) -> str:
    """An expression as text, without qualifiers and constants, with names in lower case."""

    def plain(node: Any) -> Any:
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            unit = (by_alias or {}).get(node.name.lower()) if not node.table else None
            return exp.to_identifier(node.name.lower(), quoted=True) if unit is None else exp.Var(this=unit)
        if isinstance(node, exp.Literal):
            return exp.Placeholder()
        if isinstance(node, exp.TableAlias):
            return None
        if isinstance(node, exp.Identifier):
            return exp.to_identifier(node.name.lower(), quoted=True)
        return node

    copy: Any = item.copy()
    text = str(copy.transform(plain, copy=False).sql(dialect=dialect, comments=False)).lower()
    if len(text) <= _LONG:
        return text
    # A long alias that is used ten thousand times would expand to gigabytes of text.
    return text[:_LONG] + hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


def ngrams(reference: Statement, answer: Statement) -> float:
    """Jaccard index of the bigrams of tokens, with multiplicity (minimum count over maximum count).

    The n-gram similarity of Reasoning-SQL (arXiv 2503.23157), but with counts instead of sets, so that repeating a
    right fragment costs. Case, white space, comments and quotes around names do not count; in texts they do.
    """
    left, right = _bigrams(reference), _bigrams(answer)
    return (left & right).total() / (left | right).total()


def _bigrams(statement: Statement) -> Counter[tuple[str, str]]:
    # The ends count as tokens, so that a statement of one token has bigrams.
    return Counter(pairwise(("", *_tokens(statement), "")))


def _tokens(statement: Statement) -> list[str]:
    try:
        found = sqlglot.tokenize(statement.text, read=statement.dialect)
    except (SqlglotError, RecursionError):
        return re.findall(r"\w+|[^\w\s]", statement.text.lower())
    return [f"'{token.text}" if token.token_type is TokenType.STRING else token.text.lower() for token in found]
