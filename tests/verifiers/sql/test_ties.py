"""Rows that tie in the reference's order: any of them may come before its LIMIT, in any order, and no other row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rewarden_verifiers.sql.statement import read_statement
from rewarden_verifiers.sql.ties import open_order
from tests.verifiers.sql.world import World

RUNNERS = """
CREATE TABLE runner (id INTEGER PRIMARY KEY, name VARCHAR(40), club VARCHAR(40), place INTEGER, time DOUBLE PRECISION);
INSERT INTO runner VALUES (1, 'Ada', 'North', 1, 9.5), (2, 'Bob', 'North', 2, 9.7), (3, 'Cyd', 'South', 2, 9.7),
  (4, 'Dan', 'South', 2, 9.7), (5, 'Eve', 'West', 5, 9.9), (6, 'Fay', 'West', 6, 9.95);
"""


@pytest.fixture(params=["sqlite", "duckdb"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    world = World(request.param, {})
    yield world
    world.close()


CUT = "SELECT name FROM runner ORDER BY place LIMIT 2"


@pytest.mark.parametrize(
    ("reference", "answer", "score"),
    [
        # Any of the three that tie may come before the LIMIT …
        (CUT, "SELECT name FROM runner ORDER BY place, name LIMIT 2", 1.0),
        (CUT, "SELECT name FROM runner ORDER BY place, name DESC LIMIT 2", 1.0),
        (CUT, "SELECT name FROM runner WHERE name IN ('Ada', 'Cyd') ORDER BY place", 1.0),
        # … and no other, nor one of them twice, nor in place of one that is before them.
        (CUT, "SELECT name FROM runner WHERE name IN ('Ada', 'Eve') ORDER BY place", 0.0),
        (CUT, "SELECT name FROM runner WHERE name IN ('Bob', 'Cyd') ORDER BY place", 0.0),
        (CUT, "SELECT name FROM runner WHERE name IN ('Ada', 'Cyd') ORDER BY place DESC", 0.0),
        (CUT, "SELECT name FROM runner WHERE name = 'Ada' UNION ALL SELECT name FROM runner WHERE name = 'Ada'", 0.0),
        (CUT, "SELECT name FROM runner ORDER BY place LIMIT 3", 0.0),
        ("SELECT name FROM runner ORDER BY place LIMIT 2 OFFSET 2", "SELECT name FROM runner WHERE id IN (2, 4)", 1.0),
        ("SELECT name FROM runner ORDER BY place LIMIT 2 OFFSET 2", "SELECT name FROM runner WHERE id IN (1, 4)", 0.0),
        (
            "SELECT name, place FROM runner ORDER BY place DESC LIMIT 3",
            "SELECT name, place FROM runner WHERE id IN (3, 5, 6) ORDER BY 2 DESC",
            1.0,
        ),
        (
            "SELECT club FROM runner GROUP BY club ORDER BY count(*) LIMIT 1",
            "SELECT club FROM runner WHERE club = 'South' LIMIT 1",
            1.0,
        ),
        (
            "SELECT name, time FROM runner ORDER BY place LIMIT 2",
            "SELECT name, time FROM runner WHERE id IN (1, 4)",
            1.0,
        ),
        # What the order does not show is open as well.
        ("SELECT name FROM runner ORDER BY place", "SELECT name FROM runner ORDER BY place, name DESC", 1.0),
        ("SELECT name FROM runner ORDER BY place", "SELECT name FROM runner ORDER BY name DESC", 0.0),
        # Where nothing ties nothing is open.
        ("SELECT name FROM runner ORDER BY id LIMIT 2", "SELECT name FROM runner WHERE id IN (1, 3)", 0.0),
        # An order that cannot be shown beside the columns leaves the engine's own answer.
        ("SELECT DISTINCT club FROM runner ORDER BY upper(club) LIMIT 1", "SELECT 'West' FROM runner LIMIT 1", 0.0),
    ],
)
def test_rows_that_tie_may_be_chosen_and_ordered_freely(
    world: World, reference: str, answer: str, score: float
) -> None:
    outcome = world.judge(answer, reference, script=RUNNERS)
    assert (outcome.status, outcome.score) == ("scored", score)


def test_the_evidence_says_that_rows_tied() -> None:
    world = World("sqlite", {})
    answer = "SELECT name FROM runner WHERE id IN (1, 4)"
    outcome = world.judge(answer, CUT, script=RUNNERS, metrics=("row_f1",))
    assert outcome.evidence["tied"] is True
    assert outcome.components["row_f1"].score == 1.0
    assert "tied" not in world.judge(CUT, CUT, script=RUNNERS).evidence
    world.close()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT name FROM runner LIMIT 2",
        "SELECT name FROM runner",
        "SELECT name FROM runner ORDER BY place LIMIT (SELECT 2)",
        "SELECT name FROM runner ORDER BY place FETCH FIRST 2 ROWS WITH TIES",
        "SELECT name FROM runner UNION SELECT club FROM runner ORDER BY upper(name) LIMIT 2",
    ],
)
def test_other_limits_leave_nothing_open(text: str) -> None:
    assert open_order(read_statement(text, "postgres")) is None
