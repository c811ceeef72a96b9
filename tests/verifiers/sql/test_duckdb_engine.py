"""DuckDB: its types, what PIVOT turns into, waiting, and a forked process with little memory."""

from __future__ import annotations

import datetime
import os
import resource
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rewarden_verifiers.contract import Unwatched
from rewarden_verifiers.sql.connections import DatabaseUnavailable, open_session
from rewarden_verifiers.sql.databases import Database
from rewarden_verifiers.sql.engines.duckdb import DuckdbSession
from rewarden_verifiers.sql.engines.engine import Caps, QueryFailed, Session

SCRIPT = """
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE t AS SELECT range AS a, 'x' || range % 3 AS b FROM range(9);
CREATE SEQUENCE s;
CREATE MACRO twice(x) AS 2 * x;
CREATE SCHEMA other;
CREATE TABLE other.z (a INTEGER);
"""


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    opened = open_session(Database(id="t", engine="duckdb", version="1", script=SCRIPT), {})
    yield opened
    opened.close()


UTC = datetime.timezone.utc
VALUES: list[tuple[str, Any]] = [
    ("170141183460469231731687303715884105727::HUGEINT", 2**127 - 1),
    ("1.50::DECIMAL(4, 2)", Decimal("1.50")),
    ("uuid '00000000-0000-0000-0000-00000000002a'", uuid.UUID(int=42)),
    ("INTERVAL '1 day 2 hours'", datetime.timedelta(days=1, hours=2)),
    ("DATE '2024-02-29'", datetime.date(2024, 2, 29)),
    ("TIMESTAMP '2024-02-29 12:00:00'", datetime.datetime(2024, 2, 29, 12)),
    ("TIMESTAMPTZ '2024-02-29 12:00:00+02'", datetime.datetime(2024, 2, 29, 10, tzinfo=UTC)),
    ("TIME '12:30:00'", datetime.time(12, 30)),
    ("[1, NULL, 3]", [1, None, 3]),
    ("[1, 2]::INTEGER[2]", [1, 2]),
    ("[[1, 2]::INTEGER[2]]", [[1, 2]]),
    ("{'a': 1, 'b': [2]}", {"a": 1, "b": [2]}),
    ("MAP {'k': 1}", {"k": 1}),
    ("'ok'::mood", "ok"),
    ("'\\xAA'::BLOB", b"\xaa"),
    ("true", True),
    ("'inf'::DOUBLE", float("inf")),
    ("NULL", None),
    ("'10000-01-01'::DATE", "10000-01-01"),
    ("twice(2)", 4),
]


@pytest.mark.parametrize(("expression", "value"), VALUES)
def test_a_value_comes_as_python_has_it(session: Session, expression: str, value: Any) -> None:
    (cell,) = session.query(f"SELECT {expression}", Caps(), Unwatched()).rows[0]
    assert (cell, type(cell)) == (value, type(value))


def test_the_time_zone_is_utc_wherever_the_server_stands(session: Session) -> None:
    rows = session.query("SELECT TIMESTAMPTZ '2024-02-29 12:00:00+02'::VARCHAR", Caps(), Unwatched()).rows
    assert rows == [("2024-02-29 10:00:00+00",)]


PIVOT = "PIVOT (SELECT a > 4 AS late, b FROM t) ON b USING count(*) GROUP BY late ORDER BY late"


def test_a_pivot_over_the_values_that_are_there_is_answered_and_leaves_nothing(session: Session) -> None:
    for _ in range(2):
        result = session.query(PIVOT, Caps(), Unwatched())
        assert result.columns[1:] == ("x0", "x1", "x2")
        assert result.rows == [(False, 2, 2, 1), (True, 1, 1, 2)]
    types = "SELECT count(*) FROM duckdb_types() WHERE database_name = 'temp' AND NOT internal"
    assert session.query(types, Caps(), Unwatched()).rows == [(0,)]


@pytest.mark.parametrize("statement", ["SELECT nextval('s')", "SELECT * FROM query('SELECT nextval(''s'')')"])
def test_a_sequence_stays_where_it_is(session: Session, statement: str) -> None:
    with pytest.raises(QueryFailed) as failed:
        session.query(statement, Caps(), Unwatched())
    assert failed.value.reason == "forbidden"


@pytest.mark.parametrize("statement", ["SELECT pg_sleep(5)", "SELECT sleep_ms(5000)"])
def test_what_waits_is_stopped_though_it_uses_no_cpu(session: Session, statement: str) -> None:
    with pytest.raises(QueryFailed) as failed:
        session.query(statement, Caps(time_s=0.05), Unwatched())
    assert failed.value.reason == "time_limit"


def test_the_memory_of_the_tables_is_not_the_statements() -> None:
    script = "CREATE TABLE big AS SELECT range AS a, hash(range) AS b FROM range(2000000)"
    opened = open_session(Database(id="big", engine="duckdb", version="1", script=script), {})
    assert opened.query("SELECT count(DISTINCT a % 10) FROM big", Caps(memory_mb=16), Unwatched()).rows == [(10,)]
    opened.close()


def test_the_schema_names_tables_outside_main_with_their_schema(session: Session) -> None:
    assert set(session.schema()) == {"t", "other.z"}


def test_an_error_inside_duckdb_costs_no_other_session_its_database(session: Session) -> None:
    assert isinstance(session, DuckdbSession)
    session._instance.end()
    assert session.query("SELECT count(*) FROM t", Caps(), Unwatched()).rows == [(9,)]


def test_a_log_beside_the_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "data"
    duckdb.connect(str(file)).close()
    (tmp_path / "data.wal").write_bytes(b"changes")
    with pytest.raises(DatabaseUnavailable, match="CHECKPOINT"):
        open_session(Database(id="log", engine="duckdb", version="1", file=str(file)), {})


SCRIPTS = [
    "INSTALL httpfs",
    "ATTACH '{}/other' AS other",
    "COPY (SELECT 1) TO '{}/other'",
    "CREATE TABLE x AS SELECT * FROM read_text('{}/secret')",
    "SET enable_external_access = true",
    "CREATE TABLE x AS SELECT * FROM frame",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_that_comes_along_reaches_nothing_outside(tmp_path: Path, script: str) -> None:
    frame = [1]
    (tmp_path / "secret").write_text("secret")
    with pytest.raises(Exception, match=r"reference\.database"):
        open_session(Database(id="t", engine="duckdb", version=script, script=script.format(tmp_path)), {})
    assert frame
    assert [item.name for item in tmp_path.iterdir()] == ["secret"]


def test_it_works_in_a_forked_process_with_two_gibibytes_more_than_it_had() -> None:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + 2 * 1024**3,) * 2)
            opened = open_session(Database(id="fork", engine="duckdb", version="1", script=SCRIPT), {})
            assert opened.query("SELECT sum(a) FROM t", Caps(), Unwatched()).rows == [(36,)]
            try:
                opened.query("SELECT list(x.range || 'abc') FROM range(3000) x, range(3000)", Caps(), Unwatched())
            except QueryFailed as failed:
                rows = opened.query("SELECT sum(a) FROM t", Caps(), Unwatched()).rows
                code = 0 if failed.reason == "memory_limit" and rows == [(36,)] else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
