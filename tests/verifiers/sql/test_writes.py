"""Statements that write: judged by the tables' content afterwards, on throw-away copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import duckdb
import pytest

from rewarden.errors import SampleError
from rewarden_server.engine import failures
from rewarden_verifiers.contract import Unwatched
from rewarden_verifiers.sql.databases import Database, Databases
from rewarden_verifiers.sql.engines.engine import Caps, QueryFailed
from rewarden_verifiers.sql.gold import prepare
from rewarden_verifiers.sql.params import SqlParams
from rewarden_verifiers.sql.reference import SqlReference
from rewarden_verifiers.sql.verifier import sql as verifier
from rewarden_verifiers.sql.writing import StateUnknown, state
from tests.verifiers.sql.world import World

PASSES = [
    ("DELETE FROM person WHERE age > 40", "DELETE FROM person WHERE name = 'Bob'"),
    ("UPDATE person SET age = 37 WHERE id = 1", "UPDATE person SET age = age + 1 WHERE name = 'Ada'"),
    ("INSERT INTO city VALUES (4, 'Bonn')", "INSERT INTO city (name, id) SELECT 'Bonn', 4"),
    ("DELETE FROM person", "DELETE FROM person WHERE id < 100"),
]


@pytest.mark.parametrize(("reference", "answer"), PASSES)
def test_another_statement_that_leaves_the_tables_the_same_passes(world: World, reference: str, answer: str) -> None:
    outcome = world.judge(answer, reference, writes=True)

    assert (outcome.reason, outcome.score) == (None, 1.0)


FAILS = [
    ("DELETE FROM person WHERE id = 1", "DELETE FROM person", "wrong_state"),
    ("DELETE FROM person WHERE id = 1", "DELETE FROM person WHERE id = 2", "wrong_state"),
    ("UPDATE person SET age = 1 WHERE id = 1", "UPDATE person SET age = 1", "wrong_state"),
    ("INSERT INTO city VALUES (4, 'Bonn')", "INSERT INTO person VALUES (4, 'Bonn', 1, 1)", "runtime_error"),
    ("INSERT INTO city VALUES (4, 'Bonn')", "DELETE FROM city WHERE id > 100", "wrong_state"),
    ("DELETE FROM person WHERE id = 1", "SELECT * FROM person", "not_a_write"),
    ("SELECT name FROM city", "DELETE FROM city", "writes"),
]


@pytest.mark.parametrize(("reference", "answer", "reason"), FAILS)
def test_a_statement_that_leaves_other_tables_behind_scores_zero(
    world: World, reference: str, answer: str, reason: str
) -> None:
    outcome = world.judge(answer, reference, writes=True)

    assert (outcome.reason, outcome.score, outcome.fault) == (reason, 0.0, "policy")


def test_the_difference_names_the_table_and_shows_its_rows(world: World) -> None:
    outcome = world.judge("DELETE FROM person WHERE id = 2", "DELETE FROM person WHERE id = 1", writes=True)

    assert "person" in outcome.evidence["differs_in"]["table"]
    assert "Ada" in (outcome.feedback or "")


def test_one_of_several_references_is_enough(world: World) -> None:
    references = ("DELETE FROM person WHERE id = 1", "DELETE FROM person WHERE id = 2")

    assert world.judge("DELETE FROM person WHERE id = 2", references, writes=True).score == 1.0


def test_a_reference_that_changes_nothing_is_undecided_unless_that_is_allowed(world: World) -> None:
    nothing = "DELETE FROM person WHERE id > 100"

    outcome = world.judge(nothing, nothing, writes=True)

    assert (outcome.status, outcome.reason) == ("undecided", "empty_reference")
    assert world.judge(nothing, nothing, writes=True, empty="allow").score == 1.0


def test_a_reference_that_fails_is_undecided(world: World) -> None:
    outcome = world.judge("DELETE FROM person", "INSERT INTO city VALUES (1, 'Rome')", writes=True)

    assert (outcome.status, outcome.reason) == ("undecided", "reference_failed")


def test_foreign_keys_hold(world: World) -> None:
    outcome = world.judge("DELETE FROM city", "DELETE FROM person", writes=True)

    assert (outcome.reason, outcome.score) == ("runtime_error", 0.0)


@pytest.mark.parametrize("statement", ["DROP TABLE person", "CREATE TABLE x (a INTEGER)", "ALTER TABLE city ADD x INT"])
def test_what_changes_the_schema_stays_refused(world: World, statement: str) -> None:
    outcome = world.judge(statement, "DELETE FROM person", writes=True)

    assert (outcome.score, outcome.fault) == (0.0, "policy")


def test_each_sample_begins_with_the_same_tables(world: World) -> None:
    for _ in range(3):
        assert world.judge("DELETE FROM person", "DELETE FROM person WHERE id > 0", writes=True).score == 1.0
    assert world.judge("SELECT count(*) FROM person", "SELECT count(*) FROM person").score == 1.0


def test_more_rows_than_may_be_compared_are_no_verdict(world: World) -> None:
    outcome = world.judge("DELETE FROM person WHERE id = 1", "DELETE FROM person WHERE id = 2", writes=True, max_rows=5)

    assert (outcome.status, outcome.fault, outcome.reason) == ("error", "verifier", "state_unknown")


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("DELETE FROM person WHERE id = 1 RETURNING name", 1.0),
        ("DELETE FROM person WHERE id = 1 RETURNING age", 0.0),
        ("DELETE FROM person WHERE id = 1", 0.0),
    ],
)
def test_returned_rows_are_compared_as_well(engine: Any, answer: str, score: float) -> None:
    world = World(engine, {})
    try:
        outcome = world.judge(answer, "DELETE FROM person WHERE id = 1 RETURNING name", writes=True)
    finally:
        world.close()

    assert outcome.score == score


def _file(folder: Path, engine: Any) -> Path:
    file = folder / f"people.{engine}"
    script = "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2)"
    with duckdb.connect(str(file)) if engine == "duckdb" else apsw.Connection(str(file)) as connection:
        connection.execute(script)
    connection.close()
    return file


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("writes", [True, False])
def test_a_delete_leaves_the_files_bytes_unchanged(tmp_path: Path, engine: Any, writes: bool) -> None:
    file = _file(tmp_path, engine)
    before = file.read_bytes()
    resources = Databases(known={"t": (Database(id="t", engine=engine, version="1", file=str(file)),)})
    params = SqlParams(writes=writes)
    sql = "DELETE FROM t WHERE a > 0" if writes else "SELECT a FROM t"

    try:
        gold = prepare(SqlReference(database="t", sql=sql), params, resources, Unwatched())
        outcome = verifier("DELETE FROM t", gold, params, Unwatched())
    except SampleError as error:
        outcome = failures.outcome_of(error)

    if writes:
        assert outcome.score == 1.0
    else:
        assert outcome.score == 0.0
        assert outcome.reason is not None
    assert file.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == [file.name]


def test_the_state_is_the_tables_rows_without_views_but_for_mysql(world: World) -> None:
    session = world.session("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1); CREATE VIEW v AS SELECT a FROM t")

    tables = state(session, world.engine, Caps(), Unwatched())

    assert [result.rows for result in tables.values()] == [[(1,)]] * (2 if world.engine == "mysql" else 1)


def test_the_rows_of_all_tables_together_are_bounded(world: World) -> None:
    with pytest.raises(StateUnknown, match="rows"):
        state(world.session(), world.engine, Caps(rows=6), Unwatched())


def test_only_a_copy_is_written(world: World) -> None:
    session = world.session()

    with pytest.raises(QueryFailed) as failed:
        session.write("DELETE FROM person", Caps(), Unwatched())

    assert failed.value.reason == "forbidden"
    assert world.session().query("SELECT count(*) FROM person", Caps(), Unwatched()).rows == [(4,)]
