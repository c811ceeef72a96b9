"""The reading of a text as one statement: what it is, where it ends, and what of it an engine would run."""

from __future__ import annotations

import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewarden_verifiers.sql import guard
from rewarden_verifiers.sql.dependence import constant, time_dependent
from rewarden_verifiers.sql.statement import MAX_STATEMENT, Statement, read_statement
from rewarden_verifiers.sql.tokens import Unreadable

DIALECTS = ("sqlite", "duckdb", "postgres", "mysql")


def refused(text: str, dialect: str = "sqlite") -> str:
    """The reason for which a text is not read."""
    with pytest.raises(Unreadable) as caught:
        read_statement(text, dialect)
    assert caught.value.message
    return caught.value.reason


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t",
        "SELECT a FROM t;",
        " ;; SELECT a FROM t ; ;\n",
        "SELECT a FROM t; -- that is all",
        "/* first */ SELECT a /* second; DROP TABLE t */ FROM t -- third; DELETE",
        "SELECT 'a; b', ';', '--', '/*', 'it''s; x' FROM t",
        "(SELECT a FROM t)",
        "SELECT a FROM t UNION SELECT b FROM u",
        "WITH x AS (SELECT a FROM t) SELECT a FROM x",
        "WITH x (a, b) AS (SELECT 1, 2), y AS (SELECT 3) SELECT a FROM x, y",
        "SELECT (SELECT max(a) FROM t), 1 + 2 FROM (SELECT 1 AS c) AS q",
        "sElEcT\ta\r\nfRoM\nt",
    ],
)
def test_one_query_is_read_on_every_engine(text: str, dialect: str) -> None:
    statement = read_statement(text, dialect)
    assert statement.tree is not None
    assert statement.kind == "query"
    guard.check(statement, writes=False)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("sqlite", 'SELECT [a b], `c`, "d;" FROM t WHERE e = "it"'),
        ("sqlite", "SELECT a FROM t /* without an end"),
        ("duckdb", "FROM t"),
        ("duckdb", "FROM t SELECT `a`"),
        ("duckdb", "SELECT $$a;b$$, E'it\\'s;' FROM t"),
        ("duckdb", "SELECT\u00a0a FROM t"),
        ("postgres", "SELECT $x$it's; $$ here$x$, a::int FROM t"),
        ("postgres", "SELECT E'it\\'s;' FROM t"),
        ("postgres", "SELECT '\\' FROM t -- '"),
        ("postgres", "SELECT 1 /* a /* nested; */ comment; */ FROM t"),
        ("postgres", "VALUES (1), (2)"),
        ("postgres", "TABLE t"),
        ("mysql", "SELECT `a;b`, 'it\\'s;', \"two;\" FROM t # that; is all"),
        ("mysql", "SELECT a FROM t -- that; is all"),
        ("mysql", "SELECT 5--1 FROM t"),
    ],
)
def test_the_words_of_each_engine_are_known(dialect: str, text: str) -> None:
    statement = read_statement(text, dialect)
    assert statement.kind == "query"
    assert statement.tree is not None


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        *((dialect, "SELECT 1; SELECT 2") for dialect in DIALECTS),
        *((dialect, "SELECT 1; DROP TABLE t") for dialect in DIALECTS),
        *((dialect, "SELECT 1;; SELECT 2;") for dialect in DIALECTS),
        *((dialect, "SELECT 1; gibberish ( not sql") for dialect in DIALECTS),
        *((dialect, "SELECT ') ;' ; DELETE FROM t") for dialect in DIALECTS),
        ("sqlite", "SELECT '\\'; DELETE FROM t --'"),
        ("postgres", "SELECT '\\'; DELETE FROM t --'"),
        ("duckdb", "SELECT '\\'; DELETE FROM t --'"),
        ("duckdb", "SELECT E'a'\n'\\'; DELETE FROM t --'"),
        ("mysql", "SELECT 1 --; DELETE FROM t"),
        ("mysql", "SELECT '\\\\'; DELETE FROM t -- '"),
        ("postgres", "SELECT 1 # 2; DELETE FROM t"),
        ("sqlite", "SELECT 1 /* /* */ ; DELETE FROM t -- */"),
        ("mysql", "SELECT 1 /* /* */ ; DELETE FROM t -- */"),
        ("postgres", "SELECT $a$ $b$ $a$; DELETE FROM t; SELECT $b$ $b$"),
        ("postgres", "SELECT 1 -- \r; DELETE FROM t"),
    ],
)
def test_two_statements_are_found_where_the_engine_would_find_them(dialect: str, text: str) -> None:
    assert refused(text, dialect) == "several_statements"


def test_what_follows_in_a_string_is_part_of_the_string() -> None:
    # MySQL: \' goes on. PostgreSQL: escapes of an E string go on in its further parts.
    assert read_statement("SELECT '\\'; DELETE FROM t -- '", "mysql").kind == "query"
    assert read_statement("SELECT E'a'\n'\\'; DELETE FROM t --'", "postgres").kind == "query"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", ["", "  \n", ";", ";;;", "-- nothing", "/* nothing */", "/* nothing */ ; -- at all"])
def test_nothing_is_no_answer(text: str, dialect: str) -> None:
    assert refused(text, dialect) == "no_answer"


@pytest.mark.parametrize("text", ["SELECT 'a", 'SELECT "a', "SELECT `a", "SELECT /* a", "SELECT 'a''"])
def test_what_is_never_closed_is_a_syntax_error(text: str) -> None:
    assert refused(text, "mysql") == "syntax_error"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT /*! SLEEP(5), */ a FROM t",
        "SELECT a FROM t /*!50000 UNION SELECT 5 */",
        "SELECT a FROM t /*M! UNION SELECT 5 */",
        "/*!DELETE FROM t*/",
    ],
)
def test_comments_that_mysql_runs_are_refused(text: str) -> None:
    assert refused(text, "mysql") == "executable_comment"
    assert read_statement("SELECT /*! SLEEP(5), */ a FROM t", "sqlite").kind == "query"


def test_hints_are_taken_out_with_the_comments() -> None:
    # MAX_EXECUTION_TIME would lift the limit, SET_VAR any setting.
    text = "SELECT /*+ MAX_EXECUTION_TIME(0) */ a FROM t /*+ SET_VAR(sql_mode='') */"
    assert "MAX" not in read_statement(text, "mysql").text
    assert "SET_VAR" not in read_statement(text, "mysql").text


def test_comments_leave_the_places_of_all_else_as_they_are() -> None:
    text = "SELECT a /* one\ntwo */ , b FROM t"
    assert read_statement(text, "sqlite").text == "SELECT a       \n       , b FROM t"


@pytest.mark.parametrize("text", ["SELECT 'a\x00b'", "SELECT \ud800", "SELECT '\udfff'", "\x00"])
def test_characters_that_are_no_text_are_refused(text: str) -> None:
    assert refused(text) == "bad_characters"


def test_a_statement_has_an_end() -> None:
    assert refused("SELECT '" + "a" * MAX_STATEMENT + "'") == "statement_too_long"
    assert refused("SELECT 1" + ",1" * 12_000) == "statement_too_long"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("opening", "inner", "closing"), [("(", "1", ")"), ("abs(", "1", ")"), ("(SELECT ", "1", ")")])
def test_deep_brackets_are_refused_and_not_parsed(opening: str, inner: str, closing: str, dialect: str) -> None:
    assert refused("SELECT " + opening * 2_000 + inner + closing * 2_000, dialect) == "too_deep"
    assert refused("SELECT " + opening * 2_000, dialect) == "too_deep"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t" + " JOIN t" * 40,
        "SELECT " + "DATE(" * 40 + "1" + ")" * 40,
        "SELECT " + "ROW(" * 40 + "1" + ")" * 40,
        "SELECT " + "ARRAY[" * 40 + "1" + "]" * 40,
        "SELECT a" + "[1]" * 4_000,
        "SELECT " + "NOT " * 15_000 + "1",
        "SELECT " + "- " * 15_000 + "1",
        "SELECT " + "CASE WHEN 1 THEN " * 3_000 + "1" + " END" * 3_000,
    ],
    ids=lambda text: text[:20],
)
def test_what_sqlglot_would_take_ages_for_is_left_unread(text: str) -> None:
    # Each of the first four doubles sqlglot's work with each level.
    statement = read_statement(text, "duckdb")
    assert statement.tree is None
    assert statement.kind == "query"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM a" + "".join(f" JOIN b{n} ON a.x = b{n}.x" for n in range(30)),
        "SELECT " + "1 + " * 2_000 + "1",
        "SELECT 1 WHERE 2 IN (" + "1, " * 4_000 + "1)",
        "SELECT 1" + " UNION ALL SELECT 1" * 500,
    ],
    ids=lambda text: text[:20],
)
def test_what_is_long_is_read(text: str) -> None:
    statement = read_statement(text, "sqlite")
    assert statement.tree is not None
    guard.check(statement, writes=False)


@pytest.mark.parametrize(
    ("dialect", "text", "kind"),
    [
        ("sqlite", "SELECT 1", "query"),
        ("sqlite", "WITH x AS (SELECT 1) SELECT * FROM x", "query"),
        ("sqlite", "INSERT INTO t VALUES (1)", "write"),
        ("sqlite", "REPLACE INTO t VALUES (1)", "write"),
        ("sqlite", "UPDATE t SET a = 1", "write"),
        ("sqlite", "DELETE FROM t", "write"),
        ("sqlite", "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", "write"),
        ("mysql", "WITH x AS (SELECT 1) DELETE FROM t", "write"),
        ("postgres", "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", "write"),
        ("postgres", "WITH x AS (UPDATE t SET a = 1 RETURNING *) SELECT * FROM x", "write"),
        ("postgres", "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE", "write"),
        ("postgres", "VALUES (1)", "query"),
        ("postgres", "TABLE t", "query"),
        ("duckdb", "FROM t", "query"),
        ("duckdb", "PIVOT t ON a USING sum(b)", "query"),
        *(
            (dialect, text, "other")
            for dialect in DIALECTS
            for text in (
                "CREATE TABLE x AS SELECT 1",
                "DROP TABLE t",
                "EXPLAIN SELECT 1",
                "EXPLAIN ANALYZE DELETE FROM t",
                "COPY t TO 'x'",
                "SET x = 1",
                "PRAGMA user_version = 1",
                "ATTACH 'x' AS y",
                "CALL f()",
                "SHOW TABLES",
                "DESCRIBE t",
                "BEGIN",
                "hello there",
            )
        ),
    ],
)
def test_a_statement_is_a_query_or_a_write_or_neither(dialect: str, text: str, kind: str) -> None:
    assert read_statement(text, dialect).kind == kind


@pytest.mark.parametrize(
    ("text", "ordered"),
    [
        ("SELECT a FROM t ORDER BY a", True),
        ("SELECT a FROM t", False),
        ("select a from t order\nby a limit 3", True),
        ("(SELECT a FROM t ORDER BY a LIMIT 1)", True),
        ("(SELECT a FROM t ORDER BY a) LIMIT 1", True),
        ("SELECT a FROM t UNION SELECT b FROM u ORDER BY 1", True),
        ("(SELECT a FROM t ORDER BY a) UNION (SELECT b FROM u)", False),
        ("(SELECT a FROM t ORDER BY a) UNION (SELECT b FROM u) ORDER BY 1", True),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a) AS q", False),
        ("WITH x AS (SELECT a FROM t ORDER BY a) SELECT a FROM x", False),
        ("WITH x AS (SELECT a FROM t) SELECT a FROM x ORDER BY a", True),
        ("SELECT row_number() OVER (ORDER BY a) FROM t", False),
        ("SELECT a, sum(b) OVER w FROM t WINDOW w AS (PARTITION BY a ORDER BY b)", False),
        ("SELECT 'x ORDER BY y' FROM t -- ORDER BY a", False),
        ('SELECT "order" FROM t', False),
    ],
)
def test_the_order_counts_where_the_outermost_query_has_one(text: str, ordered: bool) -> None:
    assert read_statement(text, "postgres").ordered is ordered


WORDS = (
    *("SELECT", "FROM", "WHERE", "t", "a", "1", "'x'", '"q"', "`q`", "[", "]", "(", ")", "{", "}", ",", ";", "*", "--"),
    *("\n", "/*", "*/", "/*!", "'", '"', "`", "\\", "$$", "$a$", "::", "@x", "@@y", ":z", "?", "$1", "E'", "U&'", "#"),
    *("UNION", "JOIN", "ON", "WITH", "AS", "CASE", "WHEN", "END", "NOT", "-", "INTO", "ORDER", "BY", "DELETE", "FOR"),
    *(
        "UPDATE",
        "VALUES",
        "count(",
        "MAX(",
        "date(",
        "now(",
        "EXISTS",
        "IN",
        "LIMIT",
        "0",
        "\u00a0",
        "\u202e",
        "é",
        "\x1f",
    ),
)


def _read(text: str, dialect: str) -> Statement | None:
    """Read and checked in all respects; what may be raised is the refusal alone."""
    try:
        statement = read_statement(text, dialect)
    except Unreadable:
        return None
    assert statement.kind in ("query", "write", "other")
    assert statement.ordered in (True, False)
    assert constant(statement) in (True, False)
    assert time_dependent(statement) in (True, False)
    refusals = []
    for writes in (False, True):
        try:
            guard.check(statement, writes=writes)
        except guard.Forbidden as forbidden:
            refusals.append(forbidden)
    assert all(forbidden.reason.isidentifier() and forbidden.message for forbidden in refusals)
    return statement


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(WORDS), max_size=40), st.sampled_from(DIALECTS), st.booleans())
def test_no_soup_of_words_raises_anything_but_a_refusal(words: list[str], dialect: str, begun: bool) -> None:
    _read(" ".join(["SELECT", *words] if begun else words), dialect)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60), st.sampled_from(DIALECTS))
def test_no_text_raises_anything_but_a_refusal(text: str, dialect: str) -> None:
    _read("SELECT " + text, dialect)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=string.printable, max_size=30), st.sampled_from(DIALECTS))
def test_what_was_read_is_read_again_as_the_same(text: str, dialect: str) -> None:
    statement = _read("SELECT " + text, dialect)
    if statement is not None:
        again = read_statement(statement.text, dialect)
        assert again.text == statement.text
        assert [token[:2] for token in again.tokens] == [token[:2] for token in statement.tokens]
