"""A parsed statement: its kind, its tokens, its tree, and the order of its rows."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal

from sqlglot import expressions as exp
from sqlglot.dialects.dialect import Dialect

from rewarden_verifiers.sql.tokens import Token, Unreadable, cut

Kind = Literal["query", "write", "other"]

_BAD = re.compile("[\0\ud800-\udfff]")

MAX_STATEMENT = 100_000
"""The maximum length of a statement in characters."""
MAX_WORDS = 20_000
"""The maximum number of tokens in a statement."""
MAX_DEPTH = 200
"""The maximum nesting depth of brackets."""

QUERIES = frozenset(("select", "with", "values", "from", "table", "pivot", "unpivot", "("))
WRITES = frozenset(("insert", "update", "delete", "merge", "replace"))

_PARSED = QUERIES | WRITES
_OPEN = frozenset("([{")
_CLOSE = frozenset(")]}")
_GENERIC = frozenset(("struct", "array", "map", "list"))
# If sqlglot tries a word as a type and then as a function, each level doubles its work; so does each JOIN that waits
# for its ON. DATE(DATE(… 16 levels deep takes a second.
_MOST_TRIES = 8
_MOST_CHAINED = 256  # parsing a[1][1]… and a->b->c… takes quadratic time

# It logs what it cannot parse, and a policy must not be able to fill the log.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


@dataclass(frozen=True, eq=False)
class Statement:
    """A single statement, without comments. `tree` is None if sqlglot cannot parse it, though the engine may; see
    `guard`.

    tokens: its tokens as the engine reads them.
    """

    text: str
    dialect: str
    tree: exp.Expression | None
    tokens: Sequence[Token] = field(default=(), repr=False)

    @cached_property
    def first(self) -> str:
        """The first token, in lower case."""
        return self.tokens[0].lower if self.tokens else ""

    @cached_property
    def kind(self) -> Kind:
        """query: it only reads (as far as its form tells). write: INSERT, UPDATE, DELETE, MERGE, REPLACE, also within
        a query's WITH."""
        if self.first in WRITES:
            return "write"
        if self.first not in QUERIES:
            return "other"
        return "write" if self._writes_within else "query"

    @cached_property
    def normal(self) -> Sequence[str]:
        """Its tokens, ignoring blanks, and case outside of quotes."""
        return [token.lower if token.kind == "word" else token.text for token in self.tokens]

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words outside of quotes, in lower case."""
        return frozenset(token.lower for token in self.tokens if token.kind == "word")

    @cached_property
    def _writes_within(self) -> bool:
        if WRITES.isdisjoint(self.words):
            return False  # the usual case, which needs no walk through the tree
        if self.tree is not None:
            return self.tree.find(exp.Insert, exp.Update, exp.Delete, exp.Merge) is not None
        return any(
            token.kind == "word"
            and token.lower in WRITES
            and self.tokens[place - 1].text in ("(", ")")
            and self.tokens[place + 1 : place + 2]
            and self.tokens[place + 1].kind in ("word", "quoted")
            for place, token in enumerate(self.tokens)
        )

    @cached_property
    def ordered(self) -> bool:
        """Returns whether the outermost query has an ORDER BY."""
        return _ordered(self.tokens)


def read_statement(text: str, dialect: str) -> Statement:
    """Parses the only statement in a text; comments are replaced by blanks, and a final semicolon is dropped.

    Raises Unreadable.
    """
    if len(text) > MAX_STATEMENT:
        raise Unreadable("statement_too_long", f"the statement has more than {MAX_STATEMENT} characters")
    if _BAD.search(text):
        raise Unreadable("bad_characters", "the statement holds NUL or half of a surrogate pair")
    clean, tokens = cut(text, dialect)
    tokens = _one(tokens)
    if len(tokens) > MAX_WORDS:
        raise Unreadable("statement_too_long", f"the statement has more than {MAX_WORDS} words")
    statement = clean[tokens[0].start : tokens[-1].end]
    tree = _tree(statement, tokens, dialect) if tokens[0].lower in _PARSED and _quick(tokens, dialect) else None
    return Statement(statement, dialect, tree, tokens)


def _one(tokens: list[Token]) -> list[Token]:
    """The tokens of the only statement. Raises Unreadable."""
    start, end = 0, len(tokens)
    while end and tokens[end - 1].text == ";" and tokens[end - 1].kind == "sign":
        end -= 1
    while start < end and tokens[start].text == ";" and tokens[start].kind == "sign":
        start += 1
    if start == end:
        raise Unreadable("no_answer", "there is no statement")
    tokens = tokens[start:end]
    if any(token.text == ";" and token.kind == "sign" for token in tokens):
        raise Unreadable("several_statements", "there is more than one statement")
    return tokens


def _quick(tokens: Sequence[Token], dialect: str) -> bool:
    """Returns whether sqlglot parses it in linear time. Raises Unreadable if it is nested too deeply."""
    types = _types(dialect)
    tries: list[bool] = []
    joins = costly = chained = 0
    before = ""
    for token in tokens:
        word = token.lower
        if (token.kind == "sign" and word in _OPEN) or (word == "<" and before in _GENERIC):
            chained += word == "[" and before == "]"
            tries.append(before in types)
            costly += tries[-1]
        elif (token.kind == "sign" and word in _CLOSE) and tries:
            costly -= tries.pop()
        elif word == "join":
            joins += before not in ("cross", "natural")
        elif word in ("on", "using"):
            joins = 0
        if len(tries) > MAX_DEPTH:
            raise Unreadable("too_deep", f"the statement has more than {MAX_DEPTH} brackets within brackets")
        chained += word == "->"
        if costly > _MOST_TRIES or joins > _MOST_TRIES or chained > _MOST_CHAINED:
            return False
        before = word if token.kind in ("word", "sign") else ""
    return True


@lru_cache(maxsize=4)
def dialect_named(name: str) -> Dialect:
    """Returns one of sqlglot's dialects, cached because sqlglot would create it again for each statement."""
    return Dialect.get_or_raise(name)


@lru_cache(maxsize=4)
def _types(dialect: str) -> frozenset[str]:
    """The words that sqlglot tries as types."""
    found = dialect_named(dialect)
    types = found.parser_class.TYPE_TOKENS | found.parser_class.NESTED_TYPE_TOKENS
    words = {word.lower().split()[-1] for word, kind in found.tokenizer_class.KEYWORDS.items() if kind in types}
    return frozenset(words) | {"row", "array"}


def _tree(text: str, tokens: Sequence[Token], dialect: str) -> exp.Expression | None:
    if tokens[0].lower == "replace":
        text = "INSERT " + text[len("replace") :]  # because sqlglot parses REPLACE as an opaque command
    elif dialect == "duckdb":
        # DuckDB accepts names in backticks, which sqlglot does not expect.
        for token in tokens:
            if text[token.start - tokens[0].start] == "`" and '"' not in token.text:
                start = token.start - tokens[0].start
                end = token.end - tokens[0].start
                text = f'{text[:start]}"{text[start + 1 : end - 1]}"{text[end:]}'
    try:
        trees = [tree for tree in dialect_named(dialect).parse(text) if tree is not None]
    except Exception:  # noqa: BLE001 - on soup its parser raises TypeError, ValueError and more besides its own
        return None
    tree = trees[0] if len(trees) == 1 else None
    return tree if isinstance(tree, exp.Expression) and not isinstance(tree, exp.Command) else None


def _ordered(tokens: Sequence[Token]) -> bool:
    """Returns whether ORDER BY occurs outside all brackets, except those around the whole: the ORDER BY of windows,
    aggregates and subqueries is inside brackets.
    """
    depth, closed = 0, len(tokens)
    for place, token in enumerate(tokens):
        if token.kind == "sign" and token.text in "([{":
            depth += 1
        elif token.kind == "sign" and token.text in ")]}":
            depth -= 1
            if depth == 0:
                closed = min(closed, place)
        elif depth == 0 and token.kind == "word" and token.lower == "order":
            return True
    rest = tokens[closed + 1 : closed + 2]
    if tokens and tokens[0].text == "(" and (not rest or rest[0].lower in ("limit", "offset", "fetch")):
        return _ordered(tokens[1:closed])
    return False


def sorted_by(statement: Statement) -> tuple[int, ...]:
    """The positions of the columns that the outermost ORDER BY names, by number, by name or by expression; empty if
    there is none, or if any of them is not a column of the result.

    Rows that are equal in all of these may be in any order: the query leaves it open.
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
        # An alias takes precedence over a column of that name.
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
