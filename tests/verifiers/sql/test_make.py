"""Statements that make a database from a script and from tables as data."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from rewarden.errors import InvalidSample
from rewarden_verifiers.sql import connections, make
from rewarden_verifiers.sql.connections import open_session
from rewarden_verifiers.sql.databases import Database, EngineName, Table
from rewarden_verifiers.sql.engines.engine import DatabaseFailed, Session
from rewarden_verifiers.sql.make import Insert, quoted, statements_of


def _database(**fields: object) -> Database:
    return Database(**{"id": "t", "engine": "sqlite", "version": "1", **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("engine", "name", "identifier"),
    [
        ("sqlite", "plain", '"plain"'),
        ("duckdb", 'a "b"', '"a ""b"""'),
        ("postgres", "x; DROP TABLE t", '"x; DROP TABLE t"'),
        ("mysql", "a `b`", "`a ``b```"),
    ],
)
def test_a_name_cannot_leave_its_quotes(engine: EngineName, name: str, identifier: str) -> None:
    assert quoted(name, engine) == identifier


def test_the_file_comes_first_then_the_script_then_the_tables(tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text("CREATE TABLE a (x)")
    tables = {"c": Table(columns=("x",), rows=((1,),))}
    made = statements_of(
        _database(script_file=str(tmp_path / "dump.sql"), script="CREATE TABLE b (x)", tables=tables), "sqlite"
    )
    assert list(made) == [
        "CREATE TABLE a (x)",
        "CREATE TABLE b (x)",
        'CREATE TABLE "c" ("x" INTEGER)',
        Insert('INSERT INTO "c" VALUES (?)', ((1,),)),
    ]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((1, 2), "BIGINT"),
        ((1, 2.5), "DOUBLE"),
        ((1, "a"), "VARCHAR"),
        ((True, False), "BOOLEAN"),
        ((True, 1), "VARCHAR"),
        ((None, None), "VARCHAR"),
        ((None, 3), "BIGINT"),
    ],
)
def test_a_columns_type_is_that_of_its_values(values: tuple[object, ...], kind: str) -> None:
    tables = {"t": Table(columns=("x",), rows=tuple((value,) for value in values))}
    assert next(iter(statements_of(_database(tables=tables), "duckdb"))) == f'CREATE TABLE "t" ("x" {kind})'


def test_a_batch_has_places_for_its_rows_whatever_the_table_is_called() -> None:
    tables = {"of VALUES (1)": Table(columns=("a", "b"), rows=((1, 2), (3, 4), (5, 6)))}
    *_, insert = statements_of(_database(tables=tables), "duckdb")
    assert isinstance(insert, Insert)
    assert insert.width == 2
    assert insert.batch(2) == 'INSERT INTO "of VALUES (1)" VALUES (?, ?), (?, ?)'


def test_a_percent_sign_in_a_name_is_no_place_for_a_value() -> None:
    tables = {"50%s": Table(columns=("a",), rows=((1,),))}
    *_, insert = statements_of(_database(tables=tables), "postgres")
    assert insert == Insert('INSERT INTO "50%%s" VALUES (%s)', ((1,),))


@pytest.mark.parametrize(
    "table",
    [
        Table(columns=("a", "b"), rows=((1,),)),
        Table(columns=("a",), rows=((1,), (1, 2))),
        Table(columns=(("a", "INT); DROP TABLE t; --"),)),
        Table(columns=(("a", "INT DEFAULT 'x'"),)),
    ],
)
def test_a_table_that_does_not_fit_is_the_callers_error(table: Table) -> None:
    with pytest.raises(DatabaseFailed) as failed:
        list(statements_of(_database(tables={"t": table}), "sqlite"))
    assert not failed.value.ours


def test_a_script_file_that_is_gone_is_our_failure(tmp_path: Path) -> None:
    with pytest.raises(DatabaseFailed) as failed:
        list(statements_of(_database(script_file=str(tmp_path / "gone.sql")), "sqlite"))
    assert failed.value.ours


def test_a_script_that_changed_since_the_catalogue_was_read_is_our_failure(tmp_path: Path) -> None:
    script = tmp_path / "dump.sql"
    script.write_text("CREATE TABLE a (x)")
    found = script.stat()
    database = _database(script_file=str(script), stat=(found.st_size, found.st_mtime_ns))
    assert list(statements_of(database, "sqlite")) == ["CREATE TABLE a (x)"]
    script.write_text("CREATE TABLE a (x, y)")
    with pytest.raises(DatabaseFailed, match="restart the server") as failed:
        list(statements_of(database, "sqlite"))
    assert failed.value.ours


_ENDLESS = {
    "sqlite": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) INSERT INTO t SELECT {} FROM r",
    "duckdb": "INSERT INTO t SELECT {} FROM range(100000000000) r(n)",
}


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_script_without_end_is_stopped_and_its_senders_mistake(
    engine: EngineName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "MAKE_CPU_S", 0.2)
    script = f"CREATE TABLE t (n INTEGER); {_ENDLESS[engine].format('count(*)')}"
    with pytest.raises(InvalidSample, match="its script ran for more than"):
        open_session(Database(id="t", engine=engine, version=script, script=script), {})


@pytest.mark.parametrize(
    ("engine", "rows"),
    [
        ("sqlite", "zeroblob(300000000)"),
        ("sqlite", "zeroblob(300000000); PRAGMA temp_store = FILE"),
        ("duckdb", "repeat('x', 300000000)"),
    ],
)
@pytest.mark.slow
def test_a_script_that_fills_the_memory_is_stopped_and_its_senders_mistake(engine: EngineName, rows: str) -> None:
    script = f"CREATE TABLE t (n VARCHAR); INSERT INTO t SELECT {rows}"
    with pytest.raises(InvalidSample, match=r"(?i)it holds more than|out of memory"):
        open_session(Database(id="t", engine=engine, version=script, script=script), {})


def test_sessions_that_hold_their_databases_are_kept_while_they_hold_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_HELD", 3_000_000)
    kept = connections.Connections()
    held = []
    for number in range(6):
        script = f"CREATE TABLE t (n); INSERT INTO t SELECT zeroblob(1000000 + {number})"
        with kept.session(_database(id=f"t{number}", script=script), "answer", {}) as session:
            held.append(session)
    open_ = [session for session in held if _answers(session)]
    assert open_ == held[-2:]
    kept.close()


def _answers(session: Session) -> bool:
    try:
        return bool(session.schema())
    except apsw.ConnectionClosedError:
        return False
