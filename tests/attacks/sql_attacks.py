"""Attacks on `sql`, each with the query that should have been written: asked of the four persons in `conftest.SCRIPT`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewarden_verifiers.sql.databases import EngineName

ENGINES: tuple[EngineName, ...] = ("sqlite", "duckdb", "postgres", "mysql")
NAMES = "SELECT name FROM person WHERE age = 36"
"""Ada and Cyd."""
COUNT = "SELECT count(*) FROM person"
"""Four."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A response that must score 0 for one of `reasons`, where `twin` passes against the same reference."""

    title: str
    attack: str
    reasons: tuple[str, ...]
    twin: str = NAMES
    sql: str = NAMES
    engines: tuple[EngineName, ...] = ENGINES
    params: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.title


# title, attack, reason
_EVERYWHERE: list[tuple[str, str, str]] = [
    # Writes: BIRD's script runs the prediction and then the reference on one connection, where both are then empty
    ("a DELETE of all rows", "DELETE FROM person", "writes"),
    ("a DELETE that gives rows back", "DELETE FROM person RETURNING name", "writes"),
    ("an UPDATE", "UPDATE person SET age = 36", "writes"),
    ("an INSERT", "INSERT INTO person VALUES (9, 'Eve', 36, 1)", "writes"),
    ("a REPLACE", "REPLACE INTO person VALUES (1, 'Eve', 36, 1)", "writes"),
    ("a DELETE behind a WITH", "WITH x AS (SELECT 1) DELETE FROM person", "writes"),
    ("a DELETE behind a comment", "/* SELECT */ DELETE FROM person -- SELECT", "writes"),
    ("a DELETE behind a semicolon", "; DELETE FROM person", "writes"),
    ("a SELECT INTO", "SELECT * INTO person2 FROM person", "writes"),
    ("a DROP TABLE", "DROP TABLE person", "changes_schema"),
    ("a view in the table's place", "CREATE TEMP VIEW person AS SELECT 'Ada' AS name", "changes_schema"),
    ("an ALTER TABLE", "ALTER TABLE person RENAME TO people", "changes_schema"),
    ("a TRUNCATE", "TRUNCATE TABLE person", "changes_schema"),
    ("a CREATE FUNCTION", "CREATE FUNCTION f() RETURNS INT RETURN 5", "changes_schema"),
    # Out of the database
    ("an ATTACH", "ATTACH DATABASE '/tmp/x.db' AS x", "attach"),
    ("a PRAGMA", "PRAGMA writable_schema = ON", "pragma"),
    ("a COPY to a file", "COPY person TO '/tmp/person.csv'", "outside"),
    ("a COPY to a program", "COPY person TO PROGRAM 'id'", "outside"),
    ("an INSTALL", "INSTALL httpfs", "outside"),
    ("a LOAD", "LOAD '/tmp/x.so'", "outside"),
    ("an extension", "SELECT load_extension('/tmp/x.so')", "forbidden_function"),
    ("the server's settings", "SET statement_timeout = 0", "setting"),
    ("another role", "SET ROLE postgres", "setting"),
    ("a procedure", "CALL p()", "procedure"),
    ("a transaction's end", "COMMIT", "transaction"),
    ("a transaction's begin", "BEGIN EXCLUSIVE", "transaction"),
    ("another session's end", "KILL 1", "not_a_query"),
    # Several statements
    ("a second statement", f"{NAMES}; DROP TABLE person", "several_statements"),
    ("the right one second", f"DELETE FROM person; {NAMES}", "several_statements"),
    ("a second one behind a string", "SELECT ';'; DELETE FROM person", "several_statements"),
    ("a second one that nobody can read", f"{NAMES}; gibberish ((", "several_statements"),
    ("a hedge of two queries", f"{NAMES};\nSELECT name FROM person WHERE age = 41;", "several_statements"),
    # Functions by another name
    ("a wait", "SELECT name FROM person WHERE sleep(5) = 0", "forbidden_function"),
    ("a wait with a comment in it", "SELECT sleep/**/(5)", "forbidden_function"),
    ("a wait in look-alike letters", "SELECT s\u04cfeep(5)", "forbidden_function"),
    ("a wait in wide letters", "SELECT \uff53\uff4c\uff45\uff45\uff50(5)", "forbidden_function"),
    ("a file's content", "SELECT readfile('/etc/passwd')", "forbidden_function"),
    ("a guess by chance", "SELECT name FROM person ORDER BY random() LIMIT 2", "forbidden_function"),
    ("the server's version", "SELECT version()", "forbidden_function"),
    # Nothing of the database
    ("the answer as constants", "SELECT 'Ada' UNION SELECT 'Cyd'", "constant_answer"),
    ("the answer as constants beside the table", "SELECT 'Ada' FROM person UNION SELECT 'Cyd'", "constant_answer"),
    (
        "the answer from a table of constants",
        "SELECT v FROM (SELECT 'Ada' AS v UNION SELECT 'Cyd') AS q",
        "constant_answer",
    ),
    (
        "the answer behind a query for nothing",
        "SELECT name FROM person WHERE 1 = 0 UNION ALL SELECT 'Ada' UNION ALL SELECT 'Cyd'",
        "constant_answer",
    ),
    (
        "the answer in a WITH",
        "WITH q AS (SELECT 'Ada' AS v UNION ALL SELECT 'Cyd') SELECT v FROM q",
        "constant_answer",
    ),
    # Not the same rows
    ("a condition that is never true", "SELECT name FROM person WHERE age = 37", "wrong_result"),
    ("a condition that is always true", "SELECT name FROM person WHERE age = 36 OR 1 = 1", "wrong_result"),
    ("a condition cut off by a comment", "SELECT name FROM person WHERE age > 1 -- AND age = 36", "wrong_result"),
    ("rows twice", f"{NAMES} UNION ALL {NAMES}", "wrong_result"),
    ("a join that repeats rows", "SELECT p.name FROM person p, city c WHERE p.age = 36", "wrong_result"),
    ("a column too many", "SELECT name, age FROM person WHERE age = 36", "wrong_result"),
    ("all columns", "SELECT * FROM person WHERE age = 36", "wrong_result"),
    ("another column", "SELECT id FROM person WHERE age = 36", "wrong_result"),
    ("a row too few", f"{NAMES} ORDER BY name LIMIT 1", "wrong_result"),
    ("another letter case", "SELECT lower(name) FROM person WHERE age = 36", "wrong_result"),
    ("a NULL for a value", "SELECT NULLIF(name, 'Ada') FROM person WHERE age = 36", "wrong_result"),
    # No query
    ("a word", "Ada", "not_a_query"),
    ("the result in prose", "The names are Ada and Cyd.", "not_a_query"),
    ("two queries in prose", f"Either {NAMES} or SELECT name FROM person", "not_a_query"),
    ("an EXPLAIN", f"EXPLAIN {NAMES}", "not_a_query"),
    ("a SHOW", "SHOW TABLES", "not_a_query"),
    ("only a comment", "-- SELECT name FROM person WHERE age = 36", "no_answer"),
    ("only a semicolon", ";", "no_answer"),
    ("a string without an end", "SELECT name FROM person WHERE name = 'Ada", "syntax_error"),
    ("NUL", f"{NAMES}\x00; DELETE FROM person", "bad_characters"),
    ("brackets in brackets", "SELECT " + "(" * 5_000 + "1" + ")" * 5_000, "too_deep"),
    ("a long list", "SELECT name FROM person WHERE age IN (" + "36," * 20_000 + "36)", "statement_too_long"),
    ("a longer one", "SELECT '" + "x" * 200_000 + "'", "statement_too_long"),
    ("a table that is not there", "SELECT name FROM persons", "runtime_error"),
    ("a column that is not there", "SELECT nom FROM person", "runtime_error"),
]

# engine, title, attack, reason
_OF_ONE: list[tuple[EngineName, str, str, str]] = [
    ("sqlite", "an extension by a quoted name", "SELECT \"load_extension\"('/tmp/x.so')", "forbidden_function"),
    ("sqlite", "a temporary table", "SELECT name FROM temp.person", "other_database"),
    ("sqlite", "the pages of the file", "SELECT * FROM sqlite_dbpage", "system_tables"),
    ("sqlite", "a table of PRAGMAs", "SELECT * FROM pragma_database_list", "pragma"),
    ("sqlite", "a parameter", "SELECT name FROM person WHERE age = ?", "variables"),
    ("sqlite", "a backslash before a quote", "SELECT '\\'; DELETE FROM person --'", "several_statements"),
    ("sqlite", "bytes by chance", "SELECT randomblob(8) FROM person", "forbidden_function"),
    ("duckdb", "a file by its name", "SELECT * FROM '/etc/passwd'", "outside"),
    ("duckdb", "a file by its quoted name", 'SELECT * FROM "/tmp/x.csv"', "outside"),
    ("duckdb", "a file by a function", "SELECT * FROM read_csv('/etc/passwd')", "forbidden_function"),
    ("duckdb", "a file by a function of text", "SELECT * FROM read_text('/etc/passwd')", "forbidden_function"),
    ("duckdb", "a folder", "SELECT * FROM glob('/etc/*')", "forbidden_function"),
    ("duckdb", "a query in a string", "SELECT * FROM query('SELECT 1')", "forbidden_function"),
    ("duckdb", "the settings", "SELECT * FROM duckdb_settings()", "forbidden_function"),
    ("duckdb", "the environment", "SELECT getenv('HOME')", "forbidden_function"),
    ("duckdb", "rows by chance", "SELECT name FROM person USING SAMPLE 2 ROWS", "forbidden_function"),
    ("duckdb", "the catalogue", "SELECT * FROM information_schema.tables", "system_tables"),
    ("postgres", "a DELETE in a WITH", "WITH x AS (DELETE FROM person RETURNING name) SELECT * FROM x", "writes"),
    ("postgres", "locks", f"{NAMES} FOR UPDATE", "writes"),
    ("postgres", "a wait", "SELECT pg_sleep(60)", "forbidden_function"),
    ("postgres", "a wait by its escaped name", 'SELECT U&"pg\\005fsleep"(60)', "forbidden_function"),
    ("postgres", "a wait behind DISTINCT ON", "SELECT DISTINCT ON (id) pg_sleep(60) FROM person", "forbidden_function"),
    (
        "postgres",
        "a wait under the name of a WITH",
        "WITH pg_sleep(a) AS (SELECT 1) SELECT pg_sleep(60) FROM pg_sleep",
        "forbidden_function",
    ),
    ("postgres", "a file", "SELECT pg_read_file('/etc/passwd')", "forbidden_function"),
    ("postgres", "a query in a string", "SELECT query_to_xml('SELECT 1', true, true, '')", "forbidden_function"),
    ("postgres", "a setting by a function", "SELECT set_config('statement_timeout', '0', false)", "forbidden_function"),
    ("postgres", "another server", "SELECT * FROM dblink('x', 'SELECT 1') AS t(a int)", "forbidden_function"),
    ("postgres", "a large object", "SELECT lo_import('/etc/passwd')", "forbidden_function"),
    ("postgres", "a lock", "SELECT pg_advisory_lock(1)", "forbidden_function"),
    ("postgres", "other sessions", "SELECT query FROM pg_stat_activity", "system_tables"),
    ("postgres", "passwords", "SELECT * FROM pg_catalog.pg_authid", "system_tables"),
    ("postgres", "a DO block", "DO $$ BEGIN PERFORM pg_sleep(60); END $$", "procedure"),
    ("postgres", "escapes that go on", "SELECT '\\'; DELETE FROM person --'", "several_statements"),
    ("mysql", "a comment that runs", "SELECT name FROM person /*! WHERE SLEEP(60) */", "executable_comment"),
    ("mysql", "a comment that MariaDB runs", "SELECT name FROM person /*M! WHERE SLEEP(60) */", "executable_comment"),
    ("mysql", "a comment that is none", "SELECT 1 --sleep(60)\n FROM person", "forbidden_function"),
    ("mysql", "a wait by its quoted name", "SELECT `sleep`(60)", "forbidden_function"),
    ("mysql", "work for nothing", "SELECT BENCHMARK(1000000000, MD5('x'))", "forbidden_function"),
    ("mysql", "a file", "SELECT LOAD_FILE('/etc/passwd')", "forbidden_function"),
    ("mysql", "a lock", "SELECT GET_LOCK('x', 60)", "forbidden_function"),
    ("mysql", "a file to write", "SELECT name FROM person INTO OUTFILE '/tmp/x'", "outside"),
    ("mysql", "another database", "SELECT * FROM mysql.user", "system_tables"),
    ("mysql", "a database beside", "SELECT * FROM other.person", "other_database"),
    ("mysql", "a setting", "SELECT @@secure_file_priv", "variables"),
    ("mysql", "a variable", "SELECT @x := name FROM person", "variables"),
    ("mysql", "locks", f"{NAMES} LOCK IN SHARE MODE", "writes"),
]

_ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
_CROSS = "SELECT count(*) FROM " + ", ".join(f"person p{place}" for place in range(24))
_SPENT = ("time_limit", "memory_limit", "rows_limit", "bytes_limit", "runtime_error")
_SMALL = {"time_s": 0.3, "memory_mb": 32, "max_bytes": 1024**2, "max_rows": 1000}
_MANY = ", ".join(f"person p{place}" for place in range(9))  # 262,144 rows


def _expensive(
    title: str,
    attack: str,
    reasons: tuple[str, ...],
    params: Mapping[str, Any] = _SMALL,
    engines: tuple[EngineName, ...] = ENGINES,
) -> Attack:
    return Attack(title=title, attack=attack, reasons=reasons, params={"constants": True, **params}, engines=engines)


EXPENSIVE: list[Attack] = [
    _expensive("a recursion without end", _ENDLESS, ("time_limit", "memory_limit", "runtime_error"), {"time_s": 0.05}),
    _expensive("a cross join of everything", _CROSS, ("time_limit",), {"time_s": 0.05}),
    _expensive("a flood of rows", f"SELECT p0.name FROM {_MANY}", ("rows_limit", "time_limit")),
    _expensive("a flood of columns' bytes", f"SELECT p0.name FROM {_MANY}", _SPENT, {**_SMALL, "max_rows": 10**6}),
    _expensive(
        "a sort of a cross join", f"SELECT p0.name FROM {_MANY}, city c, city d ORDER BY p1.age, p2.age, c.name", _SPENT
    ),
    _expensive("a blob of zeros", "SELECT zeroblob(900000000) FROM person", _SPENT, engines=("sqlite",)),
    _expensive(
        "a width of a billion", "SELECT printf('%.*c', 900000000, 'x') FROM person", _SPENT, engines=("sqlite",)
    ),
    _expensive(
        "a text in a recursion",
        "WITH RECURSIVE c(x) AS (SELECT name FROM person UNION ALL SELECT x || x FROM c) SELECT max(length(x)) FROM c",
        _SPENT,
        engines=("sqlite",),
    ),
    _expensive(
        "a text of all rows", f"SELECT group_concat(p0.name || p1.name) FROM {_MANY}", _SPENT, engines=("sqlite",)
    ),
    _expensive(
        "a text of all rows, aggregated",
        f"SELECT string_agg(p0.name, ',') FROM {_MANY}",
        _SPENT,
        engines=("duckdb", "postgres"),
    ),
    _expensive("a text repeated", "SELECT repeat(name, 300000000) FROM person", _SPENT, engines=("duckdb", "postgres")),
    _expensive("a text padded", "SELECT rpad(name, 60000000, 'x') FROM person", _SPENT, engines=("duckdb", "postgres")),
    _expensive(
        "a series",
        "SELECT count(*) FROM generate_series(1, 100000000000) AS g(n), person",
        _SPENT,
        engines=("duckdb", "postgres"),
    ),
    _expensive("a list of a billion", "SELECT len(range(3000000000)) FROM person", _SPENT, engines=("duckdb",)),
    _expensive(
        "a pattern of LIKE that runs away",
        "SELECT p.name FROM person p, person q, person r WHERE replace(printf('%.3000c', 'a'), 'a', p.name) LIKE '%A%a%d%A%a%d%A%a%d%A%a%d%x'",
        (*_SPENT, "wrong_result"),
        engines=("sqlite",),
    ),
    _expensive(
        "a pattern of GLOB that runs away",
        "SELECT p.name FROM person p WHERE printf('%.9000c', 'a') GLOB '*a*a*a*a*a*a*b'",
        (*_SPENT, "wrong_result"),
        engines=("sqlite",),
    ),
    _expensive(
        "a regular expression that runs away",
        "SELECT count(*) FROM " + _MANY + " WHERE repeat(p0.name, 500) ~ '^(([A-Za-z]+)+)+[0-9]$'",
        (*_SPENT, "wrong_result"),
        engines=("postgres",),
    ),
]

# title, attack, twin, reference, parameters
_SAID: list[tuple[str, str, str, str, dict[str, Any]]] = [
    (
        "the order left out",
        "SELECT name FROM person ORDER BY name DESC",
        "SELECT name FROM person ORDER BY name",
        "SELECT name FROM person ORDER BY name",
        {},
    ),
    (
        "ordered within only",
        "SELECT name FROM (SELECT name FROM person ORDER BY name) AS q ORDER BY name DESC",
        "SELECT p.name FROM person AS p ORDER BY 1",
        "SELECT name FROM person ORDER BY name",
        {},
    ),
    (
        "duplicates taken away",
        "SELECT DISTINCT age FROM person WHERE age = 36",
        "SELECT age FROM person WHERE NOT age <> 36",
        "SELECT age FROM person WHERE age = 36",
        {},
    ),
    (
        "duplicates in another number",
        "SELECT age FROM person WHERE age = 36 UNION ALL SELECT age FROM person WHERE age = 41 UNION ALL SELECT age FROM person WHERE age = 41",
        "SELECT age FROM person WHERE age > 35",
        "SELECT age FROM person WHERE age IS NOT NULL",
        {},
    ),
    (
        "columns exchanged",
        "SELECT age, id FROM person",
        "SELECT id, age FROM person",
        "SELECT p.id, p.age FROM person p",
        {},
    ),
    ("NULLs as zeros", "SELECT COALESCE(age, 0) FROM person", "SELECT age FROM person", "SELECT age FROM person", {}),
    ("a count of what is not NULL", "SELECT count(age) FROM person", "SELECT count(id) FROM person", COUNT, {}),
    ("a constant count", "SELECT 4", "SELECT count(*) FROM person", COUNT, {}),
    ("a constant count beside the table", "SELECT 4 FROM person LIMIT 1", "SELECT count(name) FROM person", COUNT, {}),
    ("a constant through MAX", "SELECT MAX(4) FROM person", "SELECT sum(1) FROM person", COUNT, {}),
    (
        "a constant through CASE",
        "SELECT CASE WHEN 1 = 1 THEN 4 ELSE count(*) END FROM person",
        "SELECT CASE WHEN count(*) > 3 THEN 4 ELSE 3 END FROM person",
        COUNT,
        {},
    ),
    (
        "a constant yes",
        "SELECT 'yes'",
        "SELECT CASE WHEN EXISTS (SELECT 1 FROM person WHERE age > 40) THEN 'yes' ELSE 'no' END",
        "SELECT CASE WHEN max(age) > 40 THEN 'yes' ELSE 'no' END FROM person",
        {},
    ),
]

PAIRS: list[Attack] = [
    *(Attack(title=title, attack=attack, reasons=(reason,)) for title, attack, reason in _EVERYWHERE),
    *(
        Attack(title=f"{engine}: {title}", attack=attack, reasons=(reason,), engines=(engine,))
        for engine, title, attack, reason in _OF_ONE
    ),
    *(
        Attack(
            title=title, attack=attack, reasons=("wrong_result", "constant_answer"), twin=twin, sql=sql, params=params
        )
        for title, attack, twin, sql, params in _SAID
    ),
    *EXPENSIVE,
]
