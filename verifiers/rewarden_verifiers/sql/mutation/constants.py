"""The values that a statement mentions: its constants, and the columns that they are compared with."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from rewarden_verifiers.sql.statement import Statement

Constant = int | float | str

LONGEST = 200
"""The maximum length of a text constant that counts: longer ones would make every mutated database large."""

MOST = 60
"""The maximum number of constants of a statement that count."""

_MOST_EXTRA = 20

_HELD = (
    exp.EQ,
    exp.NEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Like,
    exp.ILike,
    exp.Glob,
    exp.In,
    exp.Between,
)
_NULLS = (exp.Is, exp.Coalesce, exp.Nullif, exp.NullSafeEQ, exp.NullSafeNEQ)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?|\.[0-9]+")
_RAW = re.compile(r"'((?:[^']|'')*)'|(?<![\w.])([0-9]+(?:\.[0-9]+)?)(?![\w.])|\"([^\"]+)\"|`([^`]+)`|([A-Za-z_][\w$]*)")


@dataclass(frozen=True, eq=False)
class Mentions:
    """The names and values that a statement mentions. If sqlglot cannot parse it, its words and literals still
    count.
    """

    statement: Statement

    @cached_property
    def _tokens(self) -> tuple[Sequence[str], Sequence[Constant]]:
        words: list[str] = []
        found: list[Constant] = []
        try:
            tokens: list[Any] = sqlglot.tokenize(self.statement.text, read=self.statement.dialect)
        except SqlglotError:
            tokens = []
        for token in tokens:
            kind = token.token_type.name
            if kind == "NUMBER":
                found += _number(token.text)
            elif kind.endswith("STRING"):
                found += _text(token.text)
                words.append(token.text)  # SQLite and MySQL read "name" as either
            elif token.text and (token.text[0].isalpha() or token.text[0] == "_" or kind == "IDENTIFIER"):
                words.append(token.text)
                if kind == "IDENTIFIER":
                    found += _text(token.text)
        if not tokens:
            for text, number, *names in _RAW.findall(self.statement.text):
                found += _number(number) if number else _text(text) if text else []
                words += filter(None, names)
        return words, list(dict.fromkeys(found))[:MOST]

    @cached_property
    def words(self) -> frozenset[str]:
        """Everything that may name a table or a column, in lower case."""
        return frozenset(word.lower() for word in self._tokens[0])

    @property
    def constants(self) -> Sequence[Constant]:
        """All constants, in the statement's order."""
        return self._tokens[1]

    @cached_property
    def held(self) -> dict[str, list[Constant]]:
        """The constants that are compared with each column, by the column's name in lower case."""
        found: dict[str, list[Constant]] = {}
        for node in self._nodes(_HELD):
            literals = [value for part in node.find_all(exp.Literal) for value in _literal(part)]
            literals += [name for column in node.find_all(exp.Column) for name in self._quoted_text(column)]
            if isinstance(node, exp.In) and node.args.get("query") is not None:
                continue
            for column in node.find_all(exp.Column):
                found.setdefault(column.name.lower(), []).extend(literals)
        return {name: list(dict.fromkeys(values)) for name, values in found.items() if values}

    def _quoted_text(self, column: exp.Column) -> list[Constant]:
        """The text in double quotes that sqlglot takes for a column, and SQLite for a text if no column has
        that name.
        """
        quoted = self.statement.dialect == "sqlite" and not column.table and column.this.args.get("quoted")
        return _text(column.name) if quoted else []

    @cached_property
    def quoted(self) -> frozenset[str]:
        """Names in double quotes as written; they may be texts."""
        columns = (column for column in self._nodes((exp.Column,)))
        return frozenset(str(name) for column in columns for name in self._quoted_text(column))

    @cached_property
    def equated(self) -> frozenset[tuple[str, str]]:
        """Pairs of column names that are compared with each other, in lower case, each pair sorted."""
        found = set()
        for node in self._nodes((exp.EQ,)):
            if isinstance(node.left, exp.Column) and isinstance(node.right, exp.Column):
                one, other = sorted((node.left.name.lower(), node.right.name.lower()))
                found.add((one, other))
        for node in self._nodes((exp.Join,)):
            found |= {(item.name.lower(), item.name.lower()) for item in node.args.get("using") or ()}
        return frozenset(found)

    @cached_property
    def null_minded(self) -> frozenset[str]:
        """Names of columns that the statement tests for NULL."""
        return frozenset(column.name.lower() for node in self._nodes(_NULLS) for column in node.find_all(exp.Column))

    @cached_property
    def orders(self) -> frozenset[tuple[str, ...]]:
        """The columns of each ORDER BY (including windows), and of each MAX and MIN next to other columns, in lower
        case.
        """
        found = set()
        for node in self._nodes((exp.Order,)):
            names = [item.this.name.lower() for item in node.expressions if isinstance(item.this, exp.Column)]
            if names:
                found.add(tuple(names))
        for node in self._nodes((exp.Max, exp.Min)):
            if isinstance(node.this, exp.Column):
                found.add((node.this.name.lower(),))
        return frozenset(found)

    @property
    def orders_by_something(self) -> bool:
        """Returns whether every LIMIT comes with an order that depends on the rows."""
        nodes = [node for node in self._nodes((exp.Query,)) if node.args.get("limit") or node.args.get("fetch")]
        return bool(nodes) and all(
            node.args.get("order") is not None and node.args["order"].find(exp.Column, exp.AggFunc) is not None
            for node in nodes
        )

    @cached_property
    def picks(self) -> bool:
        """Returns whether it selects rows by their order: LIMIT, FETCH, a window, or, in SQLite, a plain column next to
        a MAX or a MIN.
        """
        return any(True for _ in self._nodes((exp.Limit, exp.Fetch, exp.Offset, exp.Window))) or any(
            any(isinstance(item.unalias(), exp.Column) for item in node.selects)
            and any(item.find(exp.Max, exp.Min) is not None for item in node.selects)
            for node in self._nodes((exp.Select,))
        )

    @cached_property
    def extreme(self) -> bool:
        """Returns whether it asks for a maximum or a minimum, in any form."""
        return self.picks or any(True for _ in self._nodes((exp.Max, exp.Min, exp.All)))

    def _nodes(self, kinds: tuple[Any, ...]) -> Iterator[Any]:
        return iter(()) if self.statement.tree is None else self.statement.tree.find_all(*kinds)


@dataclass(frozen=True, slots=True)
class Needs:
    """The combined mentions of a reference and an answer, the reference's first and the answer's in a fixed order:
    answers with the same mentions have equal needs.

    orders: columns by which one of them selects rows, so that ties would make the selection ambiguous. rows_orders:
    columns that the reference uses only to sort its rows.
    """

    constants: tuple[Constant, ...]
    held: tuple[tuple[str, tuple[Constant, ...]], ...]
    null_minded: frozenset[str]
    equated: frozenset[tuple[str, str]]
    orders: frozenset[tuple[str, ...]]
    rows_orders: frozenset[tuple[str, ...]]

    @classmethod
    def of(cls, references: Sequence[Mentions], answer: Mentions, *, ordered: bool, known: Collection[str]) -> Needs:
        """ordered: whether the order of rows is compared. known: the names of all tables and columns, in lower case."""
        every = [*references, answer]
        names = {name for item in every for name in item.quoted if name.lower() in known}  # these are columns after all
        constants = list(dict.fromkeys(value for item in references for value in item.constants if value not in names))
        extra = sorted({*answer.constants} - {*constants, *names}, key=repr)[:_MOST_EXTRA]
        held: dict[str, tuple[Constant, ...]] = {}
        for name in sorted({name for item in every for name in item.held} & set(known)):
            values = dict.fromkeys(
                value for item in references for value in item.held.get(name, ()) if value not in names
            )
            own = sorted({*answer.held.get(name, ())} - {*values, *names}, key=repr)[:_MOST_EXTRA]
            if values or own:
                held[name] = (*values, *own)
        extreme = any(item.extreme for item in references)
        orders = {order for item in references if item.picks for order in item.orders}
        orders |= answer.orders if extreme and answer.picks else set()
        return cls(
            constants=(*constants, *extra),
            held=tuple(held.items()),
            null_minded=frozenset(name for item in every for name in item.null_minded if name in known),
            equated=frozenset(pair for item in every for pair in item.equated if pair[0] in known and pair[1] in known),
            orders=frozenset(orders),
            rows_orders=frozenset(order for item in references if ordered for order in item.orders) - orders,
        )

    @property
    def text(self) -> str:
        """A text that is the same for equal needs in every process."""
        parts = (self.null_minded, self.equated, self.orders, self.rows_orders)
        return repr((*(sorted(part) for part in parts), self.constants, self.held))


def _literal(node: exp.Literal) -> list[Constant]:
    if node.is_string:
        return _text(node.name)
    found = _number(node.name)
    return [-value for value in found] if isinstance(node.parent, exp.Neg) else found  # type: ignore[operator]


def _text(text: str) -> list[Constant]:
    return [text] if len(text) <= LONGEST else []


def _number(text: str) -> list[Constant]:
    if len(text) > 40 or not _NUMBER.fullmatch(text):
        return []
    value: int | float = int(text) if text.isdigit() else float(text)
    return [value] if abs(value) < 2**62 else []
