"""Scripts that make a database on a server: dumps and hand-written ones, cut into statements and classified by their
form.

Only statements that make tables and fill them run. Those about owners, rights and the client, which dumps contain, are
left out. All others are rejected, because a script comes from the sender of a request, and runs beside other databases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.sql.engines.engine import QueryFailed
from rewarden_verifiers.sql.tokens import end_of_comment

Dialect = Literal["postgres", "mysql"]

_SPACE = {
    "postgres": r"\s+|--[^\n]*|/\*.*?\*/",
    # `/*! … */` is a comment only for other servers: its content counts.
    "mysql": r"\s+|--(?=\s|$)[^\n]*|\#[^\n]*|/\*(?!M?!).*?\*/|/\*M!999999.*?\*/|/\*M?!\d*|\*/",
}
_TOKENS = {
    "postgres": re.compile(
        r"""
        (?P<escaped>[eE]'(?:[^'\\]|\\.|'')*') | (?P<string>'(?:[^']|'')*') | (?P<name>"(?:[^"]|"")*")
        | (?P<dollar>(?<![\w$])\$(?P<tag>[A-Za-z_]\w*|)\$.*?\$(?P=tag)\$)
        | (?P<comment>--[^\n]*|/\*) | (?P<meta>^\\[^\n]*) | (?P<end>;)
        """,
        re.VERBOSE | re.DOTALL | re.MULTILINE,
    ),
    "mysql": re.compile(
        r"""
        (?P<string>'(?:[^'\\]|\\.|'')*') | (?P<double>"(?:[^"\\]|\\.|"")*") | (?P<name>`(?:[^`]|``)*`)
        | (?P<comment>--(?=\s|$)[^\n]*|\#[^\n]*|/\*(?!M?!).*?\*/|/\*M!999999.*?\*/)
        | (?P<meta>^[ \t]*(?:DELIMITER|delimiter)\b[^\n]*) | (?P<end>;)
        """,
        re.VERBOSE | re.DOTALL | re.MULTILINE,
    ),
}
_HEAD = {name: re.compile(rf"(?:{space})*", re.DOTALL) for name, space in _SPACE.items()}
_GAP = {name: re.compile(space, re.DOTALL) for name, space in _SPACE.items()}

_READS = ("SELECT", "WITH", "VALUES", "TABLE", "(")
_WRITES = ("INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "WITH")
_COMMANDS_TEXT = """
ABORT ALTER ANALYZE BEGIN BINLOG CACHE CALL CHANGE CHECK CHECKPOINT CHECKSUM CLOSE CLUSTER COMMENT COMMIT COPY CREATE
DEALLOCATE DECLARE DELETE DESC DESCRIBE DISCARD DO DROP END EXECUTE EXPLAIN FETCH FLUSH GRANT HANDLER HELP IMPORT
INSERT INSTALL KILL LISTEN LOAD LOCK MERGE MOVE NOTIFY OPTIMIZE PREPARE PURGE REASSIGN REFRESH REINDEX RELEASE RENAME
REPAIR REPLACE RESET RESTART REVOKE ROLLBACK SAVEPOINT SECURITY SELECT SET SHOW SHUTDOWN SIGNAL START STOP TABLE
TRUNCATE UNINSTALL UNLISTEN UNLOCK UPDATE USE VACUUM VALUES WITH XA
"""
_COMMANDS = frozenset(_COMMANDS_TEXT.split())

_MADE = (
    r"((MATERIALIZED |RECURSIVE )?VIEW|(UNIQUE |FULLTEXT |SPATIAL )?INDEX"
    r"|TABLE|SEQUENCE|TYPE|DOMAIN|SCHEMA|STATISTICS)\b"
)


def _any(*forms: str) -> re.Pattern[str]:
    """Returns whether a form begins with one of these."""
    return re.compile("|".join(forms), re.IGNORECASE)


_SKIPPED = {
    "postgres": _any(
        r"SET\b(?! (SESSION |LOCAL )?search_path\b)",
        r"(RESET|GRANT|REVOKE|BEGIN|START TRANSACTION|COMMIT|END|LOCK|VACUUM|ANALYZE|SECURITY LABEL)\b",
        r"ALTER DEFAULT PRIVILEGES\b",
        r"ALTER .* OWNER TO ",
        r"(CREATE|ALTER|DROP) (DATABASE|ROLE|USER)\b",
        r"CREATE SCHEMA (IF NOT EXISTS )?public$",
        r"COMMENT ON (SCHEMA|EXTENSION|DATABASE)\b",
        r"SELECT pg_catalog\.set_config\(",
        r'CREATE EXTENSION (IF NOT EXISTS )?"?plpgsql\b',
    ),
    "mysql": _any(
        r"(SET|GRANT|REVOKE|LOCK TABLES|UNLOCK TABLES|START TRANSACTION|BEGIN|COMMIT|FLUSH|ANALYZE|USE)\b",
        r"(CREATE|ALTER|DROP) (DATABASE|SCHEMA)\b",
        r"ALTER TABLE \S+ (DISABLE|ENABLE) KEYS\b",
    ),
}
_MAKING = {
    "postgres": _any(
        rf"(CREATE (OR REPLACE )?(UNLOGGED )?|ALTER |DROP ){_MADE}",
        r"(INSERT|UPDATE|DELETE|TRUNCATE|COMMENT ON|REFRESH MATERIALIZED VIEW|SET)\b",
        r"SELECT (pg_catalog\.)?setval ?\(",
    ),
    "mysql": _any(
        r"CREATE (OR REPLACE )?(ALGORITHM ?= ?\w+ )?(DEFINER ?= ?\S+ )?(SQL SECURITY \w+ )?" + _MADE,
        r"(ALTER TABLE|DROP TABLE|DROP VIEW|DROP INDEX|INSERT|REPLACE|UPDATE|DELETE|TRUNCATE|RENAME TABLE)\b",
    ),
}
_REACHING = {
    # The server's own functions: pg_terminate_backend ends the sessions of others. U&"" can spell their names
    # differently.
    "postgres": _any(r'\b"?pg_(?!get_serial_sequence\b|typeof\b)\w+"?\s*\(', r'\bU&"', r"\blo_\w+\s*\("),
    # Tables in any file, or on other servers.
    "mysql": _any(
        r"\b(DATA|INDEX)\s+DIRECTORY\b",
        r"\bENGINE\s*=?\s*[`\s]*(FEDERATEDX?|CONNECT|SPIDER|S3|SPHINX|CASSANDRA)\b",
        r"\bENGINE\s*=\s+(?!\w)",  # its name was a literal
        r"\brewarden_\w*",
    ),
}
_INNER = re.compile(r"/\*(?:(?!/\*|\*/).)*\*/", re.DOTALL)
_HEAD_LENGTH = 400


class Refused(Exception):
    """A statement that is not allowed in a script that makes a database."""


@dataclass(frozen=True, slots=True)
class Copied:
    """PostgreSQL's `COPY … FROM stdin;` and the lines after it."""

    text: str
    data: str


def steps(script: str, dialect: Dialect, *, trusted: bool = False) -> Iterator[str | Copied]:
    """Yields the statements of a script that must run, in order. Raises Refused.

    trusted: the server's own script, which can also contain functions and triggers.
    """
    start = place = 0
    token = _TOKENS[dialect]
    while (found := token.search(script, place)) is not None:
        place = found.end()
        kind = found.lastgroup
        if kind == "comment" and found.group() == "/*":
            place = end_of_comment(script, found.start()) or len(script)
        elif kind == "meta":
            if dialect == "mysql":
                raise Refused("DELIMITER belongs to the client mysql: leave out procedures and triggers")
            if form(script[start : found.start()], dialect):
                raise Refused(f"{found.group()[:40]!r} belongs to the client psql")
            start = place  # \connect, \restrict and the like do not concern tables
        elif kind == "end":
            text, start = script[start : found.start()], place
            if dialect == "postgres" and re.match(r"COPY\b.*\bFROM\s+STDIN\b", form(text, dialect), re.I | re.S):
                data, place = _copied(script, place)
                start = place
                yield Copied(text, data)
            elif _wanted(text, dialect, trusted):
                yield _ownerless(text, dialect)
    if _wanted(script[start:], dialect, trusted):
        yield _ownerless(script[start:], dialect)


def form(statement: str, dialect: Dialect) -> str:
    """Returns the beginning of a statement: without comments, with single spaces, at most some hundred characters."""
    if dialect == "postgres":
        inner = None
        while inner != statement:  # PostgreSQL's comments nest
            inner, statement = statement, _INNER.sub(" ", statement[: 10 * _HEAD_LENGTH])
    begin = _HEAD[dialect].match(statement)
    assert begin is not None
    rest = statement[begin.end() : begin.end() + _HEAD_LENGTH]
    return " ".join(_GAP[dialect].sub(" ", rest).split())


def check(statement: str, dialect: Dialect, *, write: bool = False) -> None:
    """Raises QueryFailed for a statement that does not begin as a query does (`write`: as a statement that changes
    rows)."""
    shape = form(statement, dialect)
    if shape.upper().startswith(_WRITES if write else _READS):
        return
    word = shape.split(maxsplit=1)[0].strip("();") if shape else ""
    if word.upper() in _COMMANDS:
        raise QueryFailed("forbidden", f"{word[:40]} may not run")
    raise QueryFailed("syntax_error", f"no statement begins with {word[:40]!r}")


def names_scratch(statement: str) -> bool:
    """Returns whether a statement of MySQL names another database that was made here: `rewarden_…` outside of its
    literals.

    One account reads all of them there, and MySQL cannot confine a session to one.
    """
    return "rewarden_" in _without_literals(statement, "mysql").lower()


def _without_literals(statement: str, dialect: Dialect) -> str:
    def hide(found: re.Match[str]) -> str:
        return found.group() if found.lastgroup in ("name", "end") else " "

    return _TOKENS[dialect].sub(hide, statement)


def _wanted(text: str, dialect: Dialect, trusted: bool) -> bool:
    shape = form(text, dialect)
    if not shape or _SKIPPED[dialect].match(shape):
        return False
    if trusted:
        return True
    if not _MAKING[dialect].match(shape):
        raise Refused(f"a script that makes a database has no statement such as {shape[:60]!r}")
    reaching = _REACHING[dialect].search(_without_literals(text, dialect))
    if reaching is not None:
        raise Refused(f"a script that makes a database has no {reaching.group()[:60]!r}")
    return True


def _ownerless(text: str, dialect: Dialect) -> str:
    """Returns a statement without the DEFINER that mysqldump writes for a view or trigger: this server has no such
    account."""
    if dialect != "mysql" or not re.match(r"CREATE\b.*\bDEFINER\b", form(text, dialect), re.IGNORECASE | re.DOTALL):
        return text
    return re.sub(r"\bDEFINER\s*=\s*(?:`[^`]*`|\w+)@(?:`[^`]*`|\w+)", "", text, count=1, flags=re.IGNORECASE)


def _copied(script: str, place: int) -> tuple[str, int]:
    begin = script.find("\n", place) + 1
    if not begin:
        raise Refused("COPY … FROM stdin has no lines behind it")
    end = re.compile(r"^\\\.\r?$", re.MULTILINE).search(script, begin)
    if end is None:
        raise Refused(r"COPY … FROM stdin has no end (\.)")
    return script[begin : end.start()], end.end()
