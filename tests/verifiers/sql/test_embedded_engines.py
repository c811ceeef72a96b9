"""The contract of `Session` on the engines that run in this process, with the guard bypassed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import duckdb
import pytest

from rewarden_verifiers.contract import Expired, Unwatched
from rewarden_verifiers.sql.connections import Connections, DatabaseUnavailable, open_session
from rewarden_verifiers.sql.databases import Database, EngineName, Table
from rewarden_verifiers.sql.engines.engine import Caps, QueryFailed, ResultSet, Session

SCRIPT = """
CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR, c DOUBLE);
INSERT INTO t VALUES (1, 'x', 1.5), (2, 'y', NULL), (3, 'x', 2.5);
CREATE TABLE u (a INTEGER REFERENCES t (a), d INTEGER UNIQUE NOT NULL);
CREATE VIEW v AS SELECT b, count(*) AS n FROM t GROUP BY b;
"""

ENGINES: list[EngineName] = ["sqlite", "duckdb"]


def _database(engine: EngineName, **fields: Any) -> Database:
    return Database(id="t", engine=engine, version=repr(fields), **fields)


def _file(engine: EngineName, file: Path) -> Database:
    connection: Any = duckdb.connect(str(file)) if engine == "duckdb" else apsw.Connection(str(file))
    connection.execute(SCRIPT)
    connection.close()
    found = file.stat()
    return _database(engine, file=str(file), stat=(found.st_size, found.st_mtime_ns))


@dataclass
class Held:
    """A database of one engine, as a file or made from a script, and a session on it."""

    database: Database
    session: Session
    folder: Path

    def ask(self, statement: str, caps: Caps | None = None) -> ResultSet:
        return self.session.query(statement, caps or Caps(), Unwatched())

    def refusal(self, statement: str, caps: Caps | None = None) -> str:
        with pytest.raises(QueryFailed) as failed:
            self.ask(statement, caps)
        return failed.value.reason


@pytest.fixture(
    scope="module", params=[(engine, kind) for engine in ENGINES for kind in ("script", "file")], ids=":".join
)
def held(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Held]:
    engine, kind = request.param
    folder = tmp_path_factory.mktemp("held")
    database = _file(engine, folder / "data") if kind == "file" else _database(engine, script=SCRIPT)
    session = open_session(database, {})
    yield Held(database, session, folder)
    session.close()


HONEST = [
    ("SELECT a, b FROM t WHERE a = 1", [(1, "x")]),
    ("SELECT * FROM v ORDER BY b", [("x", 2), ("y", 1)]),
    ("WITH q AS (SELECT a FROM t) SELECT max(a) FROM q", [(3,)]),
    ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT sum(n) FROM r", [(15,)]),
    ("SELECT a, row_number() OVER (PARTITION BY b ORDER BY a DESC) FROM t ORDER BY a", [(1, 2), (2, 1), (3, 1)]),
    ("SELECT sum(c) FILTER (WHERE a > 1), count(DISTINCT b) FROM t", [(2.5, 2)]),
    ("SELECT t.a, u.d FROM t FULL JOIN u ON t.a = u.a WHERE t.a = 2", [(2, None)]),
    ("SELECT t.a FROM u RIGHT JOIN t USING (a) ORDER BY 1 LIMIT 1 OFFSET 1", [(2,)]),
    ("SELECT c IS NOT DISTINCT FROM NULL FROM t WHERE a = 2", [(1,)]),
    ("SELECT count(*) FROM t WHERE b LIKE '%\\%' ESCAPE '\\'", [(0,)]),
    ("SELECT a FROM t INTERSECT SELECT 2 UNION ALL SELECT 9", [(2,), (9,)]),
    ("VALUES (1, 'a'), (2, 'b')", [(1, "a"), (2, "b")]),
    ("SELECT CASE WHEN c IS NULL THEN 'none' ELSE b END FROM t ORDER BY a", [("x",), ("none",), ("x",)]),
    ("SELECT (SELECT count(*) FROM u), EXISTS (SELECT 1 FROM t)", [(0, 1)]),
    ("SELECT a FROM t -- and a comment", [(1,), (2,), (3,)]),
    ("SELECT 'a;b'", [("a;b",)]),
]


@pytest.mark.parametrize(("statement", "rows"), HONEST)
def test_an_honest_query_is_answered(held: Held, statement: str, rows: list[tuple[Any, ...]]) -> None:
    assert held.ask(statement).rows == rows


def test_columns_have_the_names_that_the_engine_gives_also_without_rows_and_twice(held: Held) -> None:
    assert held.ask('SELECT a, a AS "my a", b AS a FROM t WHERE a > 9').columns == ("a", "my a", "a")


WRITES = [
    "DELETE FROM t",
    "INSERT INTO t VALUES (9, 'z', 0)",
    "INSERT INTO t VALUES (9, 'z', 0) RETURNING a",
    "UPDATE t SET b = 'z'",
    "WITH q AS (SELECT 1) DELETE FROM t",
    "WITH q AS (DELETE FROM t RETURNING a) SELECT * FROM q",
    "EXPLAIN ANALYZE DELETE FROM t",
    "DROP TABLE t",
    "ALTER TABLE t RENAME TO z",
    "CREATE TABLE z (a INTEGER)",
    "CREATE TEMP TABLE z (a INTEGER)",
    "CREATE TEMP VIEW z AS SELECT 1",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "VACUUM",
    "ANALYZE",
    "SELECT 1; DELETE FROM t",
    "SELECT 1; SELECT 2",
]


@pytest.mark.parametrize("statement", WRITES)
def test_what_writes_is_refused_by_the_engine_itself(held: Held, statement: str) -> None:
    assert held.refusal(statement) in ("forbidden", "syntax_error")
    assert held.ask("SELECT count(*), max(b) FROM t").rows == [(3, "y")]


OUTSIDE = [
    "ATTACH '{}/other' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "VACUUM INTO '{}/other'",
    "COPY t TO '{}/other'",
    "COPY t FROM '{}/secret'",
    "EXPORT DATABASE '{}/other'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET threads = 4",
    "SET memory_limit = '1GB'",
    "SET enable_external_access = true",
    "RESET threads",
    "PRAGMA threads = 4",
    "PRAGMA query_only = OFF",
    "PRAGMA writable_schema = ON",
    "PRAGMA table_info('t')",
    "CALL pragma_version()",
    "CREATE SECRET s (TYPE s3)",
    "PREPARE p AS DELETE FROM t",
    "EXECUTE p",
    "CHECKPOINT",
    "USE main",
    "SELECT load_extension('x')",
    "SELECT readfile('{}/secret')",
    "SELECT writefile('{}/other', 'x')",
    "SELECT getenv('HOME')",
    "SELECT * FROM read_csv('{}/secret')",
    "SELECT * FROM read_text('{}/secret')",
    "SELECT * FROM read_blob('{}/secret')",
    "SELECT * FROM read_parquet('{}/secret')",
    "SELECT * FROM read_json('{}/secret')",
    "SELECT * FROM sniff_csv('{}/secret')",
    "SELECT * FROM '{}/secret'",
    "SELECT * FROM glob('{}/*')",
    "SELECT * FROM query('DELETE FROM t')",
    "SELECT * FROM read_duckdb('{}/secret')",
    "SELECT * FROM frame",
    "SELECT * FROM held",
]


@pytest.mark.parametrize("statement", OUTSIDE)
def test_nothing_outside_the_database_is_reached(held: Held, statement: str) -> None:
    frame = [{"a": "a variable of ours"}]
    (held.folder / "secret").write_text("secret")
    before = {item.name: item.read_bytes() for item in held.folder.iterdir()}

    reason = held.refusal(statement.format(held.folder))

    assert frame
    assert reason in ("forbidden", "syntax_error", "runtime_error")
    assert {item.name: item.read_bytes() for item in held.folder.iterdir()} == before
    assert held.ask("SELECT count(*) FROM t").rows == [(3,)]


LONG = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
CROSS = (
    "WITH q(n) AS (SELECT * FROM (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10))) SELECT sum("
    + "+".join(f"q{i}.n" for i in range(12))
    + ") FROM "
    + ", ".join(f"q q{i}" for i in range(12))
)


@pytest.mark.parametrize("statement", [LONG, CROSS])
def test_a_runaway_is_stopped_and_the_session_goes_on(held: Held, statement: str) -> None:
    assert held.refusal(statement, Caps(time_s=0.1)) == "time_limit"
    assert held.ask("SELECT count(*) FROM t").rows == [(3,)]


class _Quick(Unwatched):
    quick_s = 0.05


def test_where_long_work_is_to_begin_anew_elsewhere_it_expires(held: Held) -> None:
    with pytest.raises(Expired):
        held.session.query(LONG, Caps(time_s=5), _Quick())


def test_a_limit_that_is_under_the_quick_one_is_a_verdict(held: Held) -> None:
    with pytest.raises(QueryFailed) as failed:
        held.session.query(LONG, Caps(time_s=0.02), _Quick())
    assert failed.value.reason == "time_limit"


class _Recorded(Unwatched):
    limits: tuple[float | None, ...] = ()

    def limit(self, *, cpu_s: float | None = None, wall_s: float | None = None) -> AbstractContextManager[None]:
        self.limits += (cpu_s,)
        return nullcontext()


def test_the_process_is_to_be_killed_soon_after_the_limit(held: Held) -> None:
    watch = _Recorded()
    held.session.query("SELECT 1", Caps(time_s=2), watch)
    assert list(watch.limits) == pytest.approx([2.1])


def test_rows_and_bytes_are_bounded(held: Held) -> None:
    assert held.refusal("SELECT x.a FROM t x, t y, t z", Caps(rows=26)) == "rows_limit"
    assert len(held.ask("SELECT x.a FROM t x, t y, t z", Caps(rows=27)).rows) == 27
    assert held.refusal(f"SELECT b || '{'x' * 2000}' FROM t", Caps(bytes=4096)) == "bytes_limit"


DISTINCT = (
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {}) "
    f"SELECT count(DISTINCT n || replace('{'x' * 200}', 'x', '{'y' * 20}')) FROM r"
)
"""4 kB a row."""


def test_what_needs_more_memory_than_it_may_is_told_so_and_the_next_query_runs(held: Held) -> None:
    assert held.refusal(DISTINCT.format(20_000), Caps(memory_mb=16, time_s=20)) == "memory_limit"
    assert held.ask("SELECT count(*) FROM t").rows == [(3,)]
    assert held.ask(DISTINCT.format(2000), Caps(memory_mb=64)).rows == [(2000,)]


ERRORS = [
    ("SELEC 1", "syntax_error"),
    ("SELECT 'abc", "syntax_error"),
    ("SELECT * FROM nowhere", "runtime_error"),
    ("SELECT missing FROM t", "runtime_error"),
    ("SELECT ?", "runtime_error"),
    ("SELECT $1", "runtime_error"),
]


@pytest.mark.parametrize(("statement", "reason"), ERRORS)
def test_an_error_is_of_its_kind(held: Held, statement: str, reason: str) -> None:
    assert held.refusal(statement) == reason


def test_cost_is_what_the_engine_did_and_the_same_each_time(held: Held) -> None:
    few, many = (held.ask(f"SELECT count(*) FROM t x, t y{more}").cost for more in ("", ", t z, t w"))
    assert few is not None
    assert many is not None
    assert few < many
    assert held.ask("SELECT count(*) FROM t x, t y").cost == few


def test_the_schema_has_tables_and_views_with_keys(held: Held) -> None:
    schema = held.session.schema()
    assert list(schema) == ["t", "u", "v"]
    assert [column.name for column in schema["t"]] == ["a", "b", "c"]
    assert schema["t"][0].primary_key
    assert schema["u"][0].references == ("t", "a")
    assert (schema["u"][1].unique, schema["u"][1].not_null) == (True, True)


def test_two_sessions_of_a_database_share_nothing_but_its_content(held: Held) -> None:
    one, other = open_session(held.database, {}), open_session(held.database, {})
    with pytest.raises(QueryFailed):
        one.query(LONG, Caps(time_s=0.02), Unwatched())
    one.close()
    assert other.query("SELECT count(*) FROM t", Caps(), Unwatched()).rows == [(3,)]
    other.close()


def test_a_copy_can_be_written_and_nobody_else_sees_it(held: Held) -> None:
    copy = open_session(held.database, {}, copy=True)
    copy.write("DELETE FROM t WHERE a = 1", Caps(), Unwatched())
    assert copy.query("SELECT count(*) FROM t", Caps(), Unwatched()).rows == [(2,)]
    assert held.ask("SELECT count(*) FROM t").rows == [(3,)]
    copy.close()


@pytest.mark.parametrize("statement", ["DROP TABLE u", "CREATE TABLE z (a INTEGER)", "ATTACH ':memory:' AS m"])
def test_a_copy_takes_rows_but_no_change_of_its_schema(held: Held, statement: str) -> None:
    copy = open_session(held.database, {}, copy=True)
    with pytest.raises(QueryFailed) as failed:
        copy.write(statement, Caps(), Unwatched())
    assert failed.value.reason == "forbidden"
    copy.close()


def test_a_write_that_fails_changes_nothing(held: Held) -> None:
    copy = open_session(held.database, {}, copy=True)
    with pytest.raises(QueryFailed):
        copy.write("INSERT INTO t SELECT 10 - a, 'new', 0 FROM t UNION ALL SELECT 1, 'twice', 0", Caps(), Unwatched())
    assert copy.query("SELECT count(*) FROM t", Caps(), Unwatched()).rows == [(3,)]
    copy.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_closed_session_leaves_no_descriptor_and_no_thread(engine: EngineName, tmp_path: Path) -> None:
    def open_things() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    databases = [_file(engine, tmp_path / "data"), _database(engine, script=SCRIPT)]
    before = open_things()
    for database in databases * 2:
        sessions = [open_session(database, {}), open_session(database, {}), open_session(database, {}, copy=True)]
        for session in sessions:
            assert session.query("SELECT count(*) FROM t", Caps(), Unwatched()).rows == [(3,)]
            session.close()
    while open_things()[1] > before[1]:  # a thread that has ended is listed until the kernel has buried it
        time.sleep(0.001)
    assert open_things()[0] == before[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_that_is_gone_or_changed_or_no_database_is_our_failure(engine: EngineName, tmp_path: Path) -> None:
    gone = _file(engine, tmp_path / "gone")
    (tmp_path / "gone").unlink()
    changed = _file(engine, tmp_path / "changed")
    with (tmp_path / "changed").open("ab") as file:
        file.write(b"more")
    (tmp_path / "text").write_text("no database" * 1000)
    text = _database(engine, file=str(tmp_path / "text"))
    for database in (gone, changed, text):
        with pytest.raises(DatabaseUnavailable):
            open_session(database, {})


@pytest.mark.parametrize("engine", ENGINES)
def test_a_worker_keeps_a_bounded_number_of_sessions(
    engine: EngineName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewarden_verifiers.sql.connections.MOST", 2)
    connections = Connections()
    before = len(os.listdir("/proc/self/fd"))
    for number in range(5):
        with connections.session(_file(engine, tmp_path / f"{number}"), "answer", {}) as session:
            assert session.query("SELECT count(*) FROM t", Caps(), Unwatched()).rows == [(3,)]
    assert len(os.listdir("/proc/self/fd")) <= before + 2
    connections.close()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_that_comes_as_data_is_made_with_its_rows(engine: EngineName) -> None:
    tables = {
        'odd "name"': Table(
            columns=("i", "r", "s", ("d", "DATE"), "n"),
            rows=tuple((place, place / 2, f"it's {place}", "2024-02-29", None) for place in range(3000)),
        ),
        "empty": Table(columns=("a",)),
    }
    session = open_session(_database(engine, tables=tables), {})
    found = session.query('SELECT i, r, s, CAST(d AS TEXT), n FROM "odd ""name""" WHERE i >= 2999', Caps(), Unwatched())
    assert found.rows == [(2999, 1499.5, "it's 2999", "2024-02-29", None)]
    assert session.query("SELECT * FROM empty", Caps(), Unwatched()).rows == []
    session.close()
