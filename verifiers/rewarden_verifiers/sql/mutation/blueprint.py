"""The part of a database that some queries see, without its rows: the definitions of its tables, and their
constraints.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from rewarden_verifiers.contract import Watch
from rewarden_verifiers.sql.databases import Database, EngineName
from rewarden_verifiers.sql.engines.engine import Caps, Column, QueryFailed, Schema, Session

MOST_TABLES = 12
"""The maximum number of tables in mutated databases: making more would take too long for the benefit."""

_CATALOGUE = {
    "sqlite": "SELECT sql FROM sqlite_schema WHERE type IN ('table', 'view', 'index') AND sql IS NOT NULL",
    "duckdb": (
        "SELECT sql FROM duckdb_tables() UNION ALL SELECT sql FROM duckdb_views() WHERE NOT internal "
        "UNION ALL SELECT sql FROM duckdb_indexes()"
    ),
}


class Impossible(Exception):
    """No variant of this database can be made; the message says why."""


@dataclass(frozen=True, slots=True)
class Link:
    """A foreign key, declared or inferred: its columns, and the parent's columns that must contain their values."""

    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A table. unique: sets of columns whose combined values are unique. frozen: columns used in a CHECK, a computed
    column or an index on an expression; they keep a combination of values from some real row.
    """

    name: str
    columns: tuple[Column, ...]
    unique: tuple[tuple[str, ...], ...] = ()
    frozen: frozenset[str] = frozenset()
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Blueprint:
    """script: makes the tables and the views on them. parts: the tables, parents before children. strict: whether any
    column other than a key is declared NOT NULL, so that the absence of NOT NULL is meaningful.
    """

    script: str
    parts: tuple[Part, ...]
    strict: bool


@dataclass
class _Definition:
    text: str
    name: str
    kind: str
    tree: exp.Expression | None
    words: frozenset[str]


def blueprint(database: Database, session: Session, words: Collection[str], caps: Caps, watch: Watch) -> Blueprint:
    """Returns the part of a database that the words of some queries refer to: every table and view that they name, and
    all tables that these depend on.

    Raises Impossible if there are too many tables, or one is not made by an available statement (such as a virtual
    table).
    """
    tables = session.schema()
    schema = {name.lower(): columns for name, columns in tables.items()}
    names = {name.lower(): name for name in tables}
    definitions = [_definition(text, database.engine) for text in _definitions(database, session, caps, watch)]
    made = {item.name: item for item in definitions if item.kind in ("TABLE", "VIEW")}
    wanted = [name for name in schema if name in words]
    for name in wanted:  # grows during the iteration
        definition = made.get(name)
        if definition is None:
            raise Impossible(f"how {name} was made is not known")
        if definition.kind == "VIEW":
            below: Collection[str] = [other for other in schema if other in definition.words and other != name]
        else:
            below = {column.references[0].lower() for column in schema[name] if column.references is not None}
        wanted += [other for other in below if other not in wanted and other in schema]
    if not wanted:
        raise Impossible("the queries name no table")
    parts = {name: _part(names[name], schema, made[name], definitions) for name in wanted if made[name].kind == "TABLE"}
    if len(parts) > MOST_TABLES:
        raise Impossible(f"there are more than {MOST_TABLES} tables under the queries")
    ordered = parents_first(parts)
    strict = any(column.not_null and not column.primary_key for columns in schema.values() for column in columns)
    if database.engine in _CATALOGUE:
        texts = [_text(database.engine, part, made[part.name.lower()]) for part in ordered]
        texts += [item.text for item in definitions if item.kind == "INDEX" and item.name in parts]
        texts += [item.text for item in definitions if item.kind == "VIEW" and item.name in wanted]
    else:
        texts = [item.text for item in definitions]
    return Blueprint(";\n".join(text.rstrip().rstrip(";") for text in texts) + ";", tuple(ordered), strict)


def _text(engine: EngineName, part: Part, made: _Definition) -> str:
    """The text of a definition. DuckDB rejects rows that refer to rows of the same INSERT, so a table that refers to
    itself loses its foreign keys; the code that makes rows enforces them.
    """
    if engine != "duckdb" or made.tree is None or all(link.parent.lower() != made.name for link in part.links):
        return made.text
    tree = made.tree.copy()
    for node in list(tree.find_all(exp.ForeignKey)):
        node.pop()
    return tree.sql(dialect="duckdb")


def _definitions(database: Database, session: Session, caps: Caps, watch: Watch) -> Sequence[str]:
    catalogue = _CATALOGUE.get(database.engine)
    if catalogue is not None:
        try:
            return [str(row[0]) for row in session.query(catalogue, caps, watch).rows if row[0]]
        except QueryFailed as failed:
            raise Impossible(f"its schema cannot be read: {failed.message}") from None
    if database.script is None or database.tables:
        raise Impossible("the statements that made it are not at hand")
    return list(_schema_statements(database.script, database.engine))


def _schema_statements(script: str, dialect: str) -> Iterator[str]:
    """The statements of a script that create or alter something, without those that insert rows."""
    try:
        tokens = sqlglot.tokenize(script, read=dialect)
    except SqlglotError as error:
        raise Impossible("its script cannot be read") from error
    begin = None
    for token in tokens:
        if begin is None:
            begin = token
        if token.token_type.name == "SEMICOLON" or token is tokens[-1]:
            text = script[begin.start : token.end + 1].rstrip(";")
            if begin.text.upper() in ("CREATE", "ALTER", "SET"):
                yield text
            begin = None


def _definition(text: str, dialect: str) -> _Definition:
    try:
        tree = sqlglot.parse_one(text, read=dialect)
    except (SqlglotError, RecursionError):
        tree = None
    words = frozenset(word.lower() for word in re.findall(r"[^\W\d][\w$]*", text))
    if not isinstance(tree, exp.Create):
        found = re.match(r"\s*CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?[\"`\[]?([\w ]+?)[\"`\]]?\s*\(", text, re.I)
        return _Definition(text, found[1].lower() if found else "", "TABLE" if found else "", None, words)
    table = tree.find(exp.Table)
    kind = str(tree.args.get("kind") or "").upper()
    return _Definition(text, table.name.lower() if table is not None else "", kind, tree, words)


def _part(name: str, schema: Schema, made: _Definition, definitions: Sequence[_Definition]) -> Part:
    columns = schema[name.lower()]
    known = {column.name.lower(): column.name for column in columns}
    everything = tuple(known.values())
    if re.match(r"\s*CREATE\s+VIRTUAL", made.text, re.I):
        raise Impossible(f"{name} is a virtual table")
    unique: list[tuple[str, ...]] = [(column.name,) for column in columns if column.unique]
    key = tuple(column.name for column in columns if column.primary_key)
    unique += [key] if key else []
    frozen: set[str] = set()
    groups: list[Link] = []
    trees = [made.tree, *(item.tree for item in definitions if item.kind == "INDEX" and item.name == name.lower())]
    for tree in trees:
        if tree is None:
            # The definition cannot be parsed: its rows are kept whole, each at most once.
            return Part(name, columns, (*unique, everything), frozenset(everything), ())
        for node in tree.find_all(exp.CheckColumnConstraint, exp.ComputedColumnConstraint):
            frozen |= _named(exp.Column, node, known)
            parent = node.find_ancestor(exp.ColumnDef)
            frozen |= {known[parent.name.lower()]} if parent is not None and parent.name.lower() in known else set()
        for node in tree.find_all(exp.UniqueColumnConstraint, exp.PrimaryKey):
            members = tuple(sorted(_named(exp.Identifier, node, known)))
            unique += [members] if members else []
        for node in tree.find_all(exp.ForeignKey):
            groups += _group(node, known, schema)
        if isinstance(tree, exp.Create) and tree.args.get("unique"):
            members = tuple(sorted(_named(exp.Column, tree, known)))
            unique += [members] if members else []
            parameters = tree.this.args.get("params")
            plain = parameters is not None and all(
                isinstance(getattr(item, "this", None), exp.Column) for item in parameters.args.get("columns") or ()
            )
            frozen |= set() if plain else set(members)
    grouped = {column for link in groups for column in link.columns}
    links = [
        Link((column.name,), column.references[0], (_target(column.references, schema),))
        for column in columns
        if column.references is not None and column.references[0].lower() in schema and column.name not in grouped
    ]
    return Part(name, columns, tuple(dict.fromkeys(unique)), frozenset(frozen), (*groups, *links))


def _named(kind: type[exp.Expression], node: exp.Expression, known: Mapping[str, str]) -> set[str]:
    names = {item.name.lower() for item in node.find_all(kind)}
    return {known[name] for name in names if name in known}


def _group(node: exp.ForeignKey, known: Mapping[str, str], schema: Schema) -> Iterator[Link]:
    """A foreign key over several columns."""
    columns = tuple(known[item.name.lower()] for item in node.expressions if item.name.lower() in known)
    reference = node.args.get("reference")
    table = None if reference is None else reference.find(exp.Table)
    if len(columns) < 2 or reference is None or table is None or table.name.lower() not in schema:
        return
    parents = {column.name.lower(): column for column in schema[table.name.lower()]}
    targets = [item.name for item in getattr(reference.this, "expressions", ())]
    targets = targets or [column.name for column in parents.values() if column.primary_key]
    if len(targets) == len(columns) and all(target.lower() in parents for target in targets):
        yield Link(columns, table.name, tuple(parents[target.lower()].name for target in targets))


def _target(references: tuple[str, str], schema: Schema) -> str:
    columns = schema[references[0].lower()]
    for column in columns:
        if column.name.lower() == references[1].lower():
            return column.name
    return next((column.name for column in columns if column.primary_key), columns[0].name)


def parents_first(parts: Mapping[str, Part]) -> list[Part]:
    """Sorts the tables, given by lower-case name, such that each follows those that it refers to. Raises Impossible."""
    ordered: list[Part] = []
    left = dict(parts)
    while left:
        ready = [
            name
            for name, part in left.items()
            if not any(link.parent.lower() in left and link.parent.lower() != name for link in part.links)
        ]
        if not ready:
            raise Impossible("its tables point to each other in a circle")
        for name in ready:
            ordered.append(left.pop(name))
    return ordered
