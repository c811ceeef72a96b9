"""SQLite: files as they come, and its functions, virtual tables and limits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from rewarden.errors import InvalidSample
from rewarden_verifiers.contract import Unwatched
from rewarden_verifiers.sql.connections import Connections, DatabaseUnavailable, open_session
from rewarden_verifiers.sql.databases import Database
from rewarden_verifiers.sql.engines.engine import Caps, QueryFailed, ResultSet, Session

SCRIPT = """
CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, twice INTEGER GENERATED ALWAYS AS (a * 2));
INSERT INTO t (a, b) VALUES (1, 'one'), (2, 'two');
CREATE VIEW v AS SELECT upper(b) AS u FROM t;
CREATE TRIGGER logged AFTER DELETE ON t BEGIN INSERT INTO gone VALUES (old.a); END;
CREATE TABLE gone (a INTEGER);
CREATE VIRTUAL TABLE words USING fts5 (w);
INSERT INTO words VALUES ('hello world'), ('good bye');
CREATE VIRTUAL TABLE boxes USING rtree (id, low, high);
INSERT INTO boxes VALUES (1, 2, 3), (2, 20, 30);
CREATE TABLE docs (j TEXT);
INSERT INTO docs VALUES ('{"a": [1, 2, {"b": "x"}]}');
"""


def _make(file: Path, *scripts: str) -> Database:
    connection = apsw.Connection(str(file))
    for script in scripts:
        connection.execute(script)
    connection.close()
    return _at(file)


def _at(file: Path) -> Database:
    return Database(id=file.name, engine="sqlite", version=str(file), file=str(file))


def _ask(session: Session, statement: str, caps: Caps | None = None) -> ResultSet:
    return session.query(statement, caps or Caps(), Unwatched())


def _rows(database: Database, statement: str) -> list[tuple[Any, ...]]:
    session = open_session(database, {})
    try:
        return _ask(session, statement).rows
    finally:
        session.close()


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    opened = open_session(_make(tmp_path_factory.mktemp("sqlite") / "data", SCRIPT), {})
    yield opened
    opened.close()


HONEST = [
    ("SELECT * FROM t", [(1, "one", 2), (2, "two", 4)]),
    ("SELECT u FROM v ORDER BY u DESC LIMIT 1", [("TWO",)]),
    ("SELECT id FROM boxes WHERE low < 5", [(1,)]),
    ("SELECT w FROM words WHERE w LIKE '%bye'", [("good bye",)]),
    ("SELECT count(*) FROM words, boxes, v, t", [(16,)]),
    ("SELECT e.value FROM docs, json_each(docs.j, '$.a') e WHERE e.type = 'integer'", [(1,), (2,)]),
    ("SELECT t.atom FROM docs, json_tree(docs.j) t WHERE t.key = 'b'", [("x",)]),
    ("SELECT j ->> '$.a[1]', json_extract(j, '$.a[2].b') FROM docs", [(2, "x")]),
    ("SELECT date('2024-01-31', '+1 month'), strftime('%Y', '2024-05-05')", [("2024-03-02", "2024")]),
    ("SELECT b GLOB 't*', b = 'TWO' COLLATE NOCASE, b IS NOT 'two' FROM t WHERE a = 2", [(1, 1, 0)]),
    ("SELECT group_concat(b, '+' ORDER BY a DESC), total(a), median(a) FROM t", [("two+one", 3.0, 1.5)]),
    (
        "SELECT rowid, typeof(b), iif(a > 1, 'x', NULL), printf('%03d', a) FROM t WHERE a = 1",
        [(1, "text", None, "001")],
    ),
    ("SELECT b, max(a) FROM t", [("two", 2)]),
    ("SELECT * FROM t NOT INDEXED WHERE (a, b) IN (VALUES (1, 'one'))", [(1, "one", 2)]),
    ("SELECT sum(a) OVER (ORDER BY a GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM t", [(1,), (3,)]),
    ("SELECT 9223372036854775807, -9223372036854775808, 1e999, x'00ff'", [(2**63 - 1, -(2**63), math.inf, b"\0\xff")]),
    ("SELECT likely(a), nullif(a, 1) FROM t WHERE a NOTNULL LIMIT 1 OFFSET 0", [(1, None)]),
    ("SELECT 1_000, 0x10, TRUE, 'it''s' || CHAR(33)", [(1000, 16, 1, "it's!")]),
]


@pytest.mark.parametrize(("statement", "rows"), HONEST)
def test_an_honest_query_is_answered(session: Session, statement: str, rows: list[tuple[Any, ...]]) -> None:
    assert _ask(session, statement).rows == rows


REFUSED = [
    "SELECT load_extension('x')",
    "SELECT fts3_tokenizer('simple')",
    "SELECT sqlite_version()",
    "SELECT * FROM pragma_table_info('t')",
    "SELECT last_insert_rowid()",
    "PRAGMA journal_mode = WAL",
    "ATTACH 'file:other?mode=memory' AS other",
    "REINDEX",
    "SAVEPOINT s",
    "INSERT INTO words (words) VALUES ('rebuild')",
    "CREATE VIRTUAL TABLE temp.x USING fts5 (w)",
    "REPLACE INTO t (a) VALUES (1)",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_what_no_query_needs_is_forbidden(session: Session, statement: str) -> None:
    with pytest.raises(QueryFailed) as failed:
        _ask(session, statement)
    assert failed.value.reason == "forbidden"


def test_the_schema_has_no_tables_that_virtual_tables_keep_for_themselves(session: Session) -> None:
    assert list(session.schema()) == ["t", "v", "gone", "words", "boxes", "docs"]


def test_a_trigger_runs_in_a_copy(tmp_path: Path) -> None:
    copy = open_session(_make(tmp_path / "data", SCRIPT), {}, copy=True)
    copy.write("DELETE FROM t WHERE a = 1", Caps(), Unwatched())
    assert _ask(copy, "SELECT a FROM gone").rows == [(1,)]
    copy.close()


def test_a_write_ahead_log_that_is_empty_is_no_obstacle(tmp_path: Path) -> None:
    database = _make(tmp_path / "data", "PRAGMA journal_mode = WAL", SCRIPT)
    (tmp_path / "data-wal").write_bytes(b"")
    assert _rows(database, "SELECT count(*) FROM t") == [(2,)]


def test_a_write_ahead_log_with_changes_is_our_failure(tmp_path: Path) -> None:
    writer = apsw.Connection(str(tmp_path / "data"))
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute(SCRIPT)
    with pytest.raises(DatabaseUnavailable, match="-wal"):
        open_session(_at(tmp_path / "data"), {})
    writer.close()


@pytest.mark.parametrize(
    ("journal", "usable"), [(b"\xd9\xd5\x05\xf9 \xa1c\xd7" + bytes(600), False), (bytes(600), True)]
)
def test_a_journal_counts_where_it_is_hot(tmp_path: Path, journal: bytes, usable: bool) -> None:
    database = _make(tmp_path / "data", SCRIPT)
    (tmp_path / "data-journal").write_bytes(journal)
    if usable:
        assert _rows(database, "SELECT count(*) FROM t") == [(2,)]
    else:
        with pytest.raises(DatabaseUnavailable, match="-journal"):
            open_session(database, {})


def _broken(file: Path) -> Database:
    """Its schema is whole; the pages of its table are not."""
    _make(
        file, "CREATE TABLE t (a TEXT)", "INSERT INTO t SELECT hex(zeroblob(400)) FROM json_each('[1,2,3,4,5,6,7,8]')"
    )
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)
    return _at(file)


def test_a_malformed_file_is_our_failure_and_not_the_answers(tmp_path: Path) -> None:
    connections = Connections()
    with (
        pytest.raises(DatabaseUnavailable, match="malformed"),
        connections.session(_broken(tmp_path / "data"), "answer", {}) as session,
    ):
        _ask(session, "SELECT a FROM t")


def test_a_truncated_file_is_our_failure(tmp_path: Path) -> None:
    _make(tmp_path / "data", "CREATE TABLE t (a TEXT)", "INSERT INTO t VALUES (hex(zeroblob(20000)))")
    (tmp_path / "data").write_bytes((tmp_path / "data").read_bytes()[: 2 * 4096])
    with pytest.raises(DatabaseUnavailable, match="malformed"):
        _rows(_at(tmp_path / "data"), "SELECT a FROM t")


def test_an_image_that_is_no_database_is_the_callers(tmp_path: Path) -> None:
    with pytest.raises(InvalidSample):
        open_session(Database(id="t", engine="sqlite", version="1", image=b"no database" * 1000), {})


def test_an_image_is_a_database(tmp_path: Path) -> None:
    _make(tmp_path / "data", SCRIPT)
    image = (tmp_path / "data").read_bytes()
    assert _rows(Database(id="t", engine="sqlite", version="2", image=image), "SELECT b FROM t") == [("one",), ("two",)]


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_texts_are_read_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    database = _make(
        tmp_path / "data", f"PRAGMA encoding = '{encoding}'", "CREATE TABLE t (a)", "INSERT INTO t VALUES ('é€𝄞')"
    )
    assert _rows(database, "SELECT a, length(a) FROM t WHERE a LIKE '%€%'") == [("é€𝄞", 3)]


def test_texts_that_are_not_utf_8_are_read_as_they_are_in_their_order(tmp_path: Path) -> None:
    database = _make(
        tmp_path / "data",
        "CREATE TABLE t (a, n)",
        "INSERT INTO t VALUES (CAST(x'e9' AS TEXT), 1), ('whole', 2), (x'e9', 3), (NULL, 4), (5, 5)",
    )
    assert _rows(database, "SELECT a, n FROM t ORDER BY n DESC -- newest first") == [
        (5, 5),
        (None, 4),
        (b"\xe9", 3),
        ("whole", 2),
        ("\udce9", 1),
    ]


def test_two_thousand_columns_of_the_same_name(session: Session) -> None:
    result = _ask(session, "SELECT " + ", ".join(["a AS x"] * 2000) + " FROM t")
    assert (set(result.columns), [len(row) for row in result.rows]) == ({"x"}, [2000, 2000])


def test_odd_names_are_names(tmp_path: Path) -> None:
    database = _make(tmp_path / "data", """CREATE TABLE "we""ird na'me" ("co l" INT, "select" INT)""")
    session = open_session(database, {})
    assert [column.name for column in session.schema()["""we"ird na'me"""]] == ["co l", "select"]
    session.close()


def test_a_collation_that_the_file_alone_knows_is_the_statements_error(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "data"))
    connection.create_collation("own", lambda one, other: 0)
    connection.execute("CREATE TABLE t (a TEXT COLLATE own); INSERT INTO t VALUES ('x')")
    connection.close()
    session = open_session(_at(tmp_path / "data"), {})
    assert _ask(session, "SELECT a FROM t").rows == [("x",)]
    with pytest.raises(QueryFailed, match="no such collation"):
        _ask(session, "SELECT a FROM t ORDER BY a")
    session.close()


def test_a_long_cell_is_over_the_bytes_and_not_over_the_memory(session: Session) -> None:
    for statement in ("SELECT zeroblob(100000000)", "SELECT hex(zeroblob(60000)) FROM t, t u, t v, t w"):
        with pytest.raises(QueryFailed) as failed:
            _ask(session, statement, Caps(bytes=1_000_000))
        assert failed.value.reason == "bytes_limit"


NUMBERS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {})"


def test_what_other_sessions_hold_does_not_count_against_the_memory() -> None:
    fill = f"CREATE TABLE t (a); {NUMBERS.format(300)} INSERT INTO t SELECT zeroblob(100000) FROM r"
    large = open_session(Database(id="large", engine="sqlite", version="1", script=fill), {})
    small = open_session(
        Database(id="small", engine="sqlite", version="1", script=SCRIPT.split("CREATE VIRTUAL")[0]), {}
    )
    sort = f"{NUMBERS.format(2000)} SELECT n FROM r ORDER BY -n"
    assert len(_ask(small, sort, Caps(memory_mb=8)).rows) == 2000
    large.close()
    small.close()


def test_a_sort_of_a_hundred_megabytes_fits_under_the_usual_limit(session: Session) -> None:
    keys = "SELECT hex(zeroblob(25000)) || n AS k FROM r ORDER BY n % 7, k LIMIT -1 OFFSET 1"
    sort = f"{NUMBERS.format(2000)} SELECT length(k) FROM ({keys}) LIMIT 1"
    assert _ask(session, sort).rows == [(50004,)]


def test_a_script_is_run_once_and_each_session_has_its_own_copy() -> None:
    database = Database(
        id="t", engine="sqlite", version="once", script="CREATE TABLE t AS SELECT hex(randomblob(8)) AS a"
    )
    one, other = open_session(database, {}), open_session(database, {}, copy=True)
    assert _ask(one, "SELECT a FROM t").rows == _ask(other, "SELECT a FROM t").rows
    other.write("DELETE FROM t", Caps(), Unwatched())
    assert len(_ask(one, "SELECT a FROM t").rows) == 1
    one.close()
    other.close()


SCRIPTS = [
    "ATTACH '{}/other' AS other",
    "SELECT load_extension('x')",
    "VACUUM INTO '{}/other'",
    "CREATE TABLE t (a); INSERT INTO t VALUES",
    "CREATE VIRTUAL TABLE t USING csv(filename='{}/other')",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_that_reaches_out_or_fails_is_the_callers_error(tmp_path: Path, script: str) -> None:
    with pytest.raises(InvalidSample, match=r"reference\.database"):
        open_session(Database(id="t", engine="sqlite", version=script, script=script.format(tmp_path)), {})
    assert list(tmp_path.iterdir()) == []


def test_a_script_may_hold_a_transaction_and_may_leave_it_open() -> None:
    script = "CREATE TABLE t (a); INSERT INTO t VALUES (1)"
    for number, text in enumerate((f"BEGIN; {script}; COMMIT;", f"BEGIN; {script}", script)):
        assert _rows(Database(id="t", engine="sqlite", version=f"b{number}", script=text), "SELECT a FROM t") == [(1,)]
