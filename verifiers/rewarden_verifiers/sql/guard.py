"""Rejects statements that must not run before any engine sees them, each with its own reason.

The engines enforce the same by their own means (read-only connections, authorizers, roles). The guard adds the reason,
and catches what no engine's lock distinguishes: functions that write, wait, or look outside. It works on the
statement's tokens as the engine reads them (`tokens`), and on sqlglot's tree if tokens alone do not decide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sqlglot import expressions as exp

from rewarden_verifiers.sql.engines.functions import DUCKDB, MYSQL, POSTGRES, SQLITE
from rewarden_verifiers.sql.statement import Statement
from rewarden_verifiers.sql.tokens import Token

_ALLOWED: Mapping[str, frozenset[str]] = {"sqlite": SQLITE, "duckdb": DUCKDB, "postgres": POSTGRES, "mysql": MYSQL}
_LOCKED = frozenset(("sqlite", "duckdb"))
"""Engines whose own locks hold for any statement: they may run statements that sqlglot cannot parse."""

_BY_FIRST = {
    "changes_schema": "drop create alter truncate rename comment vacuum reindex analyze optimize cluster refresh",
    "attach": "attach detach",
    "pragma": "pragma",
    "setting": "set reset use grant revoke",
    "outside": "copy export import load install",
    "transaction": "begin start commit rollback savepoint release end abort lock unlock",
    "procedure": "call do execute prepare deallocate handler declare",
}
_REASONS = {word: reason for reason, words in _BY_FIRST.items() for word in words.split()}

_KEYWORDS_TEXT = """
against all and any array as asc between by case cast check collate columns conflict cross cube default desc distinct
div else end escape except exclude exists fetch filter first following for force from full group having ignore ilike
in index inner intersect interval into is join key last lateral like limit materialized minus natural not null nulls
offset on only or order outer over partition pivot preceding qualify range recursive regexp returning rlike rollup row
rows select separator sets similar some symmetric then to union unique unpivot use using values when where window with
within xor
"""
_KEYWORDS = frozenset(_KEYWORDS_TEXT.split())
"""Words before a bracket that are not function calls."""

_TYPES_TEXT = """
bigint binary bit blob bool boolean bpchar char character clob date datetime dec decimal double enum float hugeint int
integer interval list long map mediumint nchar number numeric nvarchar real set signed smallint string struct text time
timestamp timestamptz timetz tinyint unsigned varbinary varbit varchar varying year
"""
_TYPES = frozenset(_TYPES_TEXT.split())
"""Words before a bracket that name a type or cast a value to it."""

_BARE: Mapping[str, frozenset[str]] = {
    "sqlite": frozenset(),
    "duckdb": frozenset(("current_user", "current_role", "session_user", "current_catalog", "current_schema")),
    "postgres": frozenset(
        ("current_user", "current_role", "session_user", "system_user", "user", "current_catalog", "current_schema")
    ),
    "mysql": frozenset(("current_user", "current_role", "session_user", "system_user")),
}
"""Functions that are called without brackets."""

_SYSTEM: Mapping[str, frozenset[str]] = {
    "sqlite": frozenset(),
    "duckdb": frozenset(("information_schema", "pg_catalog", "system", "temp")),
    "postgres": frozenset(("information_schema", "pg_catalog", "pg_toast", "pg_temp")),
    "mysql": frozenset(("information_schema", "mysql", "performance_schema", "sys")),
}
_SYSTEM_TABLE: Mapping[str, re.Pattern[str]] = {
    "sqlite": re.compile(r"sqlite_(?!schema$|master$|sequence$|stat\d$)|dbstat$|bytecode$|tables_used$"),
    "duckdb": re.compile(r"duckdb_|pg_|sqlite_|pragma_"),
    "postgres": re.compile(r"pg_"),
    "mysql": re.compile(r"(?!)"),
}
_OBJECTS_TEXT = """
regclass regcollation regconfig regdictionary regnamespace regoper regoperator regproc regprocedure regrole regtype
"""
_OBJECTS = frozenset(_OBJECTS_TEXT.split())
"""PostgreSQL's types that look up names in its catalogue."""
_FILE = re.compile(
    r".*[/\\*?]|.*\.(?:csv|tsv|txt|parquet|jsonl?|ndjson|db|duckdb|sqlite3?|xlsx|arrow|feather|avro|gz|zst|zip)$",
    re.DOTALL | re.IGNORECASE,
)


class Forbidden(Exception):
    """A statement that must not run. `reason` is in snake_case, for the verdict; `message` says what is forbidden and
    why.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def check(statement: Statement, *, writes: bool) -> None:
    """Raises Forbidden for a statement that must not run. writes: whether INSERT, UPDATE, DELETE and MERGE are allowed.

    Reasons: not_a_query, writes, changes_schema, attach, pragma, setting, outside, transaction, procedure, variables,
    forbidden_function, system_tables, other_database, not_understood.
    """
    first = statement.first
    if statement.kind == "other":
        reason = _REASONS.get(first, "not_a_query")
        raise Forbidden(reason, f"{first[:40].upper()} may not run: only a query may")
    if statement.kind == "write" and not writes:
        raise Forbidden("writes", "it changes data: only a query may run")
    _check_words(statement)
    _check_calls(statement)
    if statement.tree is None:
        if statement.dialect not in _LOCKED:
            raise Forbidden("not_understood", "the statement cannot be read")
        return
    _check_tables(statement, statement.tree)


def _check_words(statement: Statement) -> None:
    tokens = statement.tokens
    bare = _BARE[statement.dialect]
    last = ""
    for place, token in enumerate(tokens):
        if token.kind == "variable":
            raise Forbidden("variables", f"{token.text[:40]}: a query has no variables and no parameters")
        if token.kind != "word":
            last = token.text if token.kind == "sign" else ""
            continue
        word, before, after = token.lower, last, _text(tokens, place + 1)
        last = word
        if before == ".":
            continue
        if word == "into" and statement.kind == "query":
            if after in ("outfile", "dumpfile"):
                raise Forbidden("outside", f"INTO {after.upper()} writes a file")
            raise Forbidden("writes", "SELECT INTO writes")
        if word in ("update", "share", "no", "key") and before == "for" and (word != "no" or after == "key"):
            raise Forbidden("writes", f"FOR {word.upper()} locks rows, as for a write")
        if word == "lock" and after == "in" and _text(tokens, place + 2) == "share":
            raise Forbidden("writes", "LOCK IN SHARE MODE locks rows, as for a write")
        if word == "value" and before in ("next", "previous") and after == "for":
            raise Forbidden("writes", f"{before.upper()} VALUE FOR changes a sequence")
        if word in bare and before != "as" and after != "(":
            raise _call(word)
        if word == "tablesample" or (word == "sample" and before == "using"):
            raise Forbidden("forbidden_function", f"{word.upper()} takes rows by chance")
        if word in _OBJECTS and statement.dialect == "postgres":
            raise Forbidden("system_tables", f"{word} looks into the server's catalogue")


def _check_calls(statement: Statement) -> None:
    """Requires that every name before a bracket is an allowed function, or else a table alias with column names."""
    if statement.tree is None and statement.dialect == "sqlite":
        return  # its authorizer checks every function by name
    unknown: Counter[str] = Counter()
    for name in _called(statement):
        if name.startswith("pragma_"):
            raise Forbidden("pragma", f"{name[:80]} may not be called")
        if name not in _ALLOWED[statement.dialect]:
            unknown[name] += 1
    if not unknown:
        return
    aliases = Counter(_aliases(statement.tree)) if statement.tree is not None else Counter()
    for name, times in unknown.items():
        if times > aliases[name]:
            raise _call(name)


def _call(name: str) -> Forbidden:
    return Forbidden("forbidden_function", f"the function {name[:80]} may not be called")


def _called(statement: Statement) -> Iterator[str]:
    tokens = statement.tokens
    dialect = statement.dialect
    for place, token in enumerate(tokens[:-1]):
        if tokens[place + 1].text != "(" or tokens[place + 1].kind != "sign":
            continue
        name = token.lower
        if token.kind == "quoted":
            yield name
        elif token.kind == "word":
            before = _text(tokens, place - 1)
            if before == "." and dialect in ("postgres", "mysql") and _text(tokens, place - 2) != "pg_catalog":
                # A qualified name is a function of the database itself, which could do anything.
                yield f"{_text(tokens, place - 2)}.{name}"
            elif before == "." or (name not in _KEYWORDS and name not in _TYPES and before != "as"):
                yield name


def _aliases(tree: exp.Expression) -> Iterator[str]:
    """Names before a bracket that call nothing: aliases of derived tables with column names, and target tables of
    writes.
    """
    for alias in tree.find_all(exp.TableAlias):
        if alias.args.get("columns") and alias.this is not None:
            yield alias.name.lower()
    for schema in tree.find_all(exp.Schema):
        if isinstance(schema.this, exp.Table):
            yield schema.this.name.lower()


def _check_tables(statement: Statement, tree: exp.Expression) -> None:
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)} if "with" in statement.words else set()
    catalogue, schemas = _SYSTEM_TABLE[statement.dialect], _SYSTEM[statement.dialect]
    for table in tree.find_all(exp.Table):
        name, schema = table.name.lower(), table.db.lower()
        if not name or (name in own and not schema):
            continue
        if name.startswith("pragma_") and statement.dialect == "sqlite":
            raise Forbidden("pragma", f"{name[:80]} may not be read")
        if catalogue.match(name) or schema in schemas or table.catalog.lower() in schemas:
            raise Forbidden("system_tables", f"{'.'.join(filter(None, (schema, name)))[:80]} tells of the server")
        if schema and (statement.dialect == "mysql" or (statement.dialect == "sqlite" and schema != "main")):
            raise Forbidden("other_database", f"{schema[:80]}.{name[:80]}: name tables without their database")
        if statement.dialect == "duckdb" and isinstance(table.this, exp.Identifier) and _FILE.match(name):
            raise Forbidden("outside", f"{name[:80]} is a file")


def _text(tokens: Sequence[Token], place: int) -> str:
    """A word or sign in lower case; an empty text for quoted tokens, and beyond either end."""
    if not 0 <= place < len(tokens):
        return ""
    token = tokens[place]
    return token.lower if token.kind in ("word", "sign") else ""
