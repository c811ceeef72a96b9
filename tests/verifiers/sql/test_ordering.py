"""By which of its columns a query puts its rows in order, and that rows that tie there may be in any order."""

from __future__ import annotations

import pytest

from rewarden_verifiers.sql.comparison.comparison import Difference, difference
from rewarden_verifiers.sql.comparison.settings import Comparison
from rewarden_verifiers.sql.engines.engine import ResultSet
from rewarden_verifiers.sql.statement import read_statement, sorted_by


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("SELECT a, b FROM t ORDER BY b", (1,)),
        ("SELECT a, b FROM t ORDER BY 2 DESC, a NULLS LAST LIMIT 5", (1, 0)),
        ("SELECT a, t.b AS c FROM t ORDER BY c", (1,)),
        ("SELECT a, t.b AS c FROM t ORDER BY t.b", (1,)),
        ("SELECT a, t.b FROM t ORDER BY B", (1,)),
        ("SELECT a AS b, b AS c FROM t ORDER BY b", (0,)),
        ("SELECT a, count(*) FROM t GROUP BY a ORDER BY COUNT(*) DESC", (1,)),
        ("SELECT a FROM t UNION SELECT b FROM u ORDER BY 1", (0,)),
        ("WITH x AS (SELECT a FROM t) SELECT a FROM x ORDER BY a", (0,)),
        # Not told: none, or one that is not among the columns, or that could be several of them.
        ("SELECT a FROM t", ()),
        ("SELECT a FROM t ORDER BY b", ()),
        ("SELECT a FROM t ORDER BY a, b", ()),
        ("SELECT a FROM t ORDER BY 3", ()),
        ("SELECT a FROM t ORDER BY 'a'", ()),
        ("SELECT * FROM t ORDER BY a", ()),
        ("SELECT t.* FROM t ORDER BY 1", ()),
        ("SELECT t.a, u.a FROM t, u ORDER BY a", ()),
        ("SELECT upper(a) AS a FROM t ORDER BY t.a", ()),
        ("SELECT a FROM t ORDER BY a COLLATE NOCASE", ()),
        ("(SELECT a FROM t ORDER BY a)", ()),
    ],
)
def test_the_columns_of_the_outermost_order_by_are_found(text: str, places: tuple[int, ...]) -> None:
    assert sorted_by(read_statement(text, "duckdb")) == places


@pytest.mark.parametrize(
    ("got", "how", "told"),
    [
        ([("Ada", 36), ("Cyd", 36), ("Bob", 41)], Comparison(ordered=True, keys=(1,)), None),
        ([("Cyd", 36), ("Ada", 36), ("Bob", 41)], Comparison(ordered=True, keys=(1,)), None),
        ([("Cyd", 36), ("Bob", 41), ("Ada", 36)], Comparison(ordered=True, keys=(1,)), "order"),
        ([("Cyd", 36), ("Cyd", 36), ("Bob", 41)], Comparison(ordered=True, keys=(1,)), "values"),
        ([("Cyd", 36), ("Ada", 36), ("Bob", 41)], Comparison(ordered=True, keys=(1, 0)), "order"),
        ([("Cyd", 36), ("Ada", 36), ("Bob", 41)], Comparison(ordered=True), "order"),
        ([("Cyd", 36), ("Ada", 36), ("Bob", 41)], Comparison(ordered=True, keys=(1,), columns="name"), None),
        ([("Cyd", 36), ("Ada", 36), ("Bob", 41)], Comparison(ordered=True, keys=(1,), columns="any"), "order"),
        ([("Cyd", 36), ("Ada", 36), ("Bob", 41)], Comparison(ordered=True, keys=(7,)), "order"),
    ],
)
def test_rows_that_tie_may_stand_in_any_order(
    got: list[tuple[str, int]], how: Comparison, told: Difference | None
) -> None:
    expected = ResultSet(("name", "age"), [("Ada", 36), ("Cyd", 36), ("Bob", 41)])

    assert difference(expected, ResultSet(("name", "age"), list(got)), how) == told
