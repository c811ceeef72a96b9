"""The verdicts on whole responses: honest ones score 1, and a fault of the reference or the caller is not scored 0."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewarden.wire.json import outcome_to_json
from rewarden_verifiers.sql.databases import CarriedDatabase
from rewarden_verifiers.sql.reference import SqlReference, StoredResult
from tests.verifiers.sql.world import SCRIPT, World

RIGHT = "SELECT name FROM person WHERE age = 41"
WRONG = "SELECT name FROM person WHERE age = 36"


@pytest.fixture(scope="module")
def sqlite() -> Iterator[World]:
    """SQLite alone."""
    world = World("sqlite", {})
    yield world
    world.close()


def fenced(text: str, label: str = "sql") -> str:
    """A text in a block."""
    return f"```{label}\n{text}\n```"


@pytest.mark.parametrize(
    ("response", "score"),
    [
        (RIGHT, 1.0),
        (f"Here is the SQL query:\n\n{fenced(RIGHT, 'SQL')}\n\nIt picks who is 41.", 1.0),
        (fenced(f"-- who?\n{RIGHT};; -- done"), 1.0),
        (f"1. The query:\n   ```sqlite\n   {RIGHT}\n   ```", 1.0),
        (f"```sql {RIGHT} ```", 1.0),
        (f"The query is ```sql {RIGHT}```, which picks who is 41.", 1.0),
        (f"First ```sql {WRONG}```, better ```sql {RIGHT}```.", 1.0),
        ("The query is ```sql SELECT `name` FROM person WHERE age = 41``` here.", 1.0),
        (f"{fenced(RIGHT)}\nIt answers:\n{fenced('Bob', '')}", 1.0),
        (f"<answer>\n{fenced(RIGHT)}\n</answer>", 1.0),
        (f"I look it up.\n<sql>{RIGHT}</sql>", 1.0),
        (f"<sql>\n{fenced(RIGHT)}\n</sql>", 1.0),
        (f"<answer><sql>{RIGHT}</sql></answer>", 1.0),
        (f"{fenced(WRONG)}\nNo, rather:\n<sql>{RIGHT}</sql>", 1.0),
        (f"<sql>{WRONG}</sql>\nSo the answer is\n{fenced(RIGHT)}", 1.0),  # an agent explores in tags
        (f"SQL: {RIGHT}", 1.0),
        (f"The table holds ages.\n\n**SQL Query:**\n{RIGHT};\n\nIt picks who is 41.", 1.0),
        (f"SQL: {WRONG}\n\nCorrected.\n\nSQL: {RIGHT}", 1.0),
        # The last one counts.
        (f"<sql>{RIGHT}</sql> or <sql>{WRONG}</sql>", 0.0),
        (f"{fenced(RIGHT)}\n<sql>{WRONG}</sql>", 0.0),
        (f"<sql>{RIGHT}; {WRONG}</sql>", 0.0),
        (f"<sql>{RIGHT}", 0.0),
        (f"SQL: {RIGHT}\n\nSQL: {WRONG}", 0.0),
        (f"SQL: {RIGHT}\n{WRONG}", 0.0),
        (f"SQL: {RIGHT}\n\n```sql\n{RIGHT}", 0.0),
        (f"{fenced(RIGHT)}\nor\n{fenced(WRONG)}", 0.0),
        (f"```sql {RIGHT}``` or ```sql {WRONG}```", 0.0),
        (f"{fenced(RIGHT)}\n<answer>{WRONG}</answer>", 0.0),
        (f"{RIGHT}; {WRONG}", 0.0),
        (f"```sql\n{RIGHT}", 0.0),
    ],
)
def test_the_last_statement_of_a_response_is_judged(sqlite: World, response: str, score: float) -> None:
    assert sqlite.judge(response, RIGHT).score == score


@pytest.mark.parametrize("prefix", ["SELECT", "select ", "-- who is 41?\nSELECT\n"])
@pytest.mark.parametrize("response", [RIGHT, RIGHT[7:], RIGHT[6:], fenced(RIGHT)])
def test_a_response_goes_on_from_the_prompts_last_word(sqlite: World, prefix: str, response: str) -> None:
    assert sqlite.judge(response, RIGHT, prefix=prefix).score == 1.0


@pytest.mark.parametrize("columns", [2000, 18])
@pytest.mark.parametrize("score", ["execution", "row_f1"])
def test_a_row_of_guesses_does_not_hold_the_answer(sqlite: World, columns: int, score: str) -> None:
    guesses = ", ".join(f"count(*) * 0 + {number}" for number in range(columns))

    outcome = sqlite.judge(
        fenced(f"SELECT {guesses} FROM person"), "SELECT count(*) FROM city", columns="subset", score=score
    )

    assert (outcome.score, outcome.passed, outcome.reason) == (0.0, False, "wrong_result")


def test_rows_that_tie_may_stand_in_any_order_where_the_reference_shows_by_what_it_orders(sqlite: World) -> None:
    answer = fenced("SELECT name, age FROM person WHERE age > 0 ORDER BY age, name DESC")

    assert sqlite.judge(answer, "SELECT name, age FROM person WHERE age > 0 ORDER BY age").score == 1.0
    assert sqlite.judge(answer, "SELECT name, age FROM person WHERE age > 0 ORDER BY age, name").score == 0.0
    assert sqlite.judge(answer, "SELECT name, age FROM person WHERE age > 0 ORDER BY age DESC").score == 0.0


def test_one_reference_of_several_that_finds_nothing_is_enough_to_be_undecided(sqlite: World) -> None:
    outcome = sqlite.judge(
        fenced("SELECT name FROM person WHERE id < 0"), (RIGHT, "SELECT name FROM person WHERE id = 99")
    )

    assert (outcome.status, outcome.reason, outcome.fault) == ("undecided", "empty_reference", "reference")


def test_a_query_where_a_change_is_asked_for_is_told_so_even_if_it_is_constant(sqlite: World) -> None:
    outcome = sqlite.judge(fenced("SELECT 1"), "DELETE FROM person WHERE id = 1", writes=True)

    assert (outcome.score, outcome.reason) == (0.0, "not_a_write")


@pytest.mark.parametrize(
    ("reference", "params", "status", "words"),
    [
        ({"sql": "SELECT soundex(name) FROM person"}, {}, "undecided", "reference.result instead"),
        ({"sql": "DELETE FROM person"}, {}, "undecided", "params.writes"),
        ({"result": StoredResult(rows=())}, {"empty": "allow"}, "undecided", "give columns"),
        ({"result": StoredResult(rows=((),))}, {}, "undecided", "no columns"),
        ({"sql": "SELECT 1", "database": CarriedDatabase(base64="\xe9")}, {}, "error", "database.base64"),
        ({"sql": "SELECT 1", "database": CarriedDatabase(base64="AAAA")}, {}, "error", "not a database"),
    ],
)
def test_what_is_wrong_with_a_reference_says_what_to_do(
    sqlite: World, reference: dict[str, Any], params: dict[str, Any], status: str, words: str
) -> None:
    whole = SqlReference(**{"database": CarriedDatabase(script=SCRIPT), **reference})

    outcome = sqlite.judge(fenced(RIGHT), reference=whole, **params)

    assert (outcome.status, outcome.score) == (status, None)
    assert words in (outcome.feedback or "")


def test_names_that_are_no_text_are_the_databases_fault(sqlite: World, tmp_path: Path) -> None:
    file = tmp_path / "t.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE t (a, bbbb)")
        connection.execute("INSERT INTO t VALUES (1, 2)")
    connection.close()
    image = base64.b64encode(file.read_bytes().replace(b"bbbb", b"b\xffbb")).decode()
    reference = SqlReference(database=CarriedDatabase(base64=image), sql="SELECT a FROM t")

    outcome = sqlite.judge(fenced("SELECT * FROM t"), reference=reference)

    assert (outcome.status, outcome.reason, outcome.fault) == ("error", "invalid_sample", "caller")


@pytest.mark.parametrize(
    "row",
    [(float("nan"), float("-inf")), (10**5000, 2**70), (b"\xff", "\ud800"), ([{"\ud800": [float("nan")]}], None)],
    ids=["floats", "integers", "texts", "lists"],
)
def test_a_verdict_is_json_whatever_the_rows_hold(sqlite: World, row: tuple[Any, ...]) -> None:
    reference = SqlReference(database=CarriedDatabase(script=SCRIPT), result=StoredResult(rows=(row,)))

    outcome = sqlite.judge(fenced("SELECT id, name FROM person"), reference=reference, metrics=("cell_f1", "soft_f1"))

    json.dumps(outcome_to_json(outcome), allow_nan=False, ensure_ascii=False).encode()
    assert outcome.reason == "wrong_result"


def test_an_answer_is_as_the_same_one_of_several_references_on_all_databases(sqlite: World) -> None:
    first = "CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER); INSERT INTO t VALUES (1, 2, 1)"
    second = "CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER); INSERT INTO t VALUES (1, 2, 2)"
    reference = SqlReference(
        database=CarriedDatabase(script=first),
        sql=("SELECT a FROM t", "SELECT b FROM t"),
        suite=(CarriedDatabase(script=second),),
    )

    lucky = sqlite.judge(fenced("SELECT c FROM t"), reference=reference, databases="suite")
    right = sqlite.judge(fenced("SELECT b FROM t"), reference=reference, databases="suite")

    assert (lucky.score, lucky.reason) == (0.0, "differs_on_another_database")
    assert right.score == 1.0


def test_statements_that_may_write_do_not_keep_queries_from_further_databases(sqlite: World) -> None:
    guess = fenced("SELECT 36 + 0 * id FROM person WHERE id = 1")

    outcome = sqlite.judge(guess, "SELECT age FROM person WHERE id = 1", writes=True, mutations=8)

    assert (outcome.score, outcome.reason) == (0.0, "differs_on_another_database")


@pytest.mark.parametrize(
    "query", ["SELECT max(age) FROM person WHERE age > 100", "SELECT age, city_id FROM person WHERE name = 'Dan'"]
)
def test_a_reference_that_says_nothing_but_null_is_empty(world: World, query: str) -> None:
    outcome = world.judge("SELECT max(age) FROM person WHERE 1 = 0", query)
    assert (outcome.status, outcome.reason, outcome.fault) == ("undecided", "empty_reference", "reference")
    assert world.judge(query, query, empty="allow").score == 1.0
