"""Partial credit, with numbers worked out by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams, InvalidReference, SampleError
from rewarden_verifiers.sql.comparison.comparison import difference
from rewarden_verifiers.sql.comparison.settings import Comparison
from rewarden_verifiers.sql.engines.engine import ResultSet
from rewarden_verifiers.sql.metrics.metrics import METRICS, CostUnknown, MetricName, Pair, work_out
from rewarden_verifiers.sql.statement import Statement, read_statement

Rows = list[tuple[Any, ...]]
OF_RESULTS: tuple[MetricName, ...] = METRICS[: METRICS.index("linking_tables")]
OF_STATEMENTS: tuple[MetricName, ...] = METRICS[METRICS.index("linking_tables") :]
SELECT = read_statement("SELECT a FROM t", "sqlite")
FRUIT: Rows = [("Apple", 325), ("Orange", 191), ("Banana", 119)]


def result(rows: Rows, cost: float | None = 1.0) -> ResultSet:
    """A result whose columns are letters."""
    return ResultSet(tuple(f"c{place}" for place in range(len(rows[0]) if rows else 1)), rows, cost)


def of_results(name: MetricName, expected: Rows, got: Rows, how: Comparison | None = None) -> float:
    """One metric of two results."""
    pair = Pair(expected=result(expected), got=result(got), reference=SELECT, answer=SELECT, how=how or Comparison())
    return work_out([name], pair)[name]


def of_statements(name: MetricName, reference: str, answer: str) -> float:
    """One metric of two statements."""
    pair = Pair(
        expected=result([(1,)]),
        got=result([(1,)]),
        reference=read_statement(reference, "sqlite"),
        answer=read_statement(answer, "sqlite"),
        how=Comparison(),
    )
    return work_out([name], pair)[name]


@pytest.mark.parametrize(
    ("expected", "got", "precision", "recall", "f1"),
    [
        ([("a", "b"), ("c", "d")], [("a", "b"), ("c", "d")], 1, 1, 1),
        ([("a", "b"), ("c", "d")], [("a", "b"), ("c", "e")], 3 / 4, 3 / 4, 3 / 4),
        ([("a", "b"), ("c", "d")], [("a",), ("b",), ("c",), ("d",)], 1, 1, 1),
        # Six cells, of which four are wanted. QATCH, of sets, has a precision of 1.
        ([("a", "b"), ("c", "d")], [("a", "a"), ("b", "b"), ("c", "d")], 4 / 6, 1, 0.8),
        ([("a", "b"), ("c", "d")], [("a", "b")], 1, 1 / 2, 2 / 3),
        ([(1, 0.1 + 0.2)], [(1.0, 0.3)], 1, 1, 1),
        ([(1,), (2,)], [(3,)], 0, 0, 0),
        ([(1,)], [], 0, 0, 0),
        ([], [], 1, 1, 1),
    ],
)
def test_cells(expected: Rows, got: Rows, precision: float, recall: float, f1: float) -> None:
    assert of_results("cell_precision", expected, got) == pytest.approx(precision)
    assert of_results("cell_recall", expected, got) == pytest.approx(recall)
    assert of_results("cell_f1", expected, got) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("expected", "got", "columns", "score"),
    [
        ([(1, "a"), (2, "b"), (3, "c")], [(3, "c"), (2, "b"), (1, "a")], "position", 1),
        # One row of two got, of three expected: 2 x 1 / (2 + 3).
        ([(1, "a"), (2, "b"), (3, "c")], [(1, "a"), (2, "x")], "position", 0.4),
        ([(1,), (1,), (2,)], [(1,), (2,), (2,)], "position", 4 / 6),
        ([(1, "a")], [("a", 1)], "position", 0),
        ([(1, "a"), (2, "b")], [("a", 1)], "any", 2 / 3),
        ([(1,), (2,)], [("a", 1), ("b", 2), ("c", 3)], "subset", 0.8),
        ([(1,), (2,)], [(1, "a"), (2, "b")], "position", 0),
        ([(1.0,), (2.0,)], [(1.0 + 1e-12,), (3.0,)], "position", 0.5),
        ([(1,)], [], "position", 0),
        ([], [], "position", 1),
    ],
)
def test_rows(expected: Rows, got: Rows, columns: Any, score: float) -> None:
    assert of_results("row_f1", expected, got, Comparison(columns=columns)) == pytest.approx(score)


@pytest.mark.parametrize(
    ("expected", "got", "score"),
    [
        ([(1, "a"), (2, "b")], [("b", 1), ("a", 2)], 1),
        # One column of two is right on either side.
        ([(1, "a"), (2, "b")], [(2, "x"), (1, "x")], 0.5),
        # The right column among four: 2 x 1 / (4 + 1).
        ([(1,), (2,)], [(1, 7, 8, 9), (2, 7, 8, 9)], 0.4),
        # Half of the one column.
        ([(1,), (2,)], [(1,)], 0.5),
        ([(1,), (2,)], [(1,), (2,), (3,), (4,)], 0.5),
    ],
)
def test_columns(expected: Rows, got: Rows, score: float) -> None:
    assert of_results("column_f1", expected, got) == pytest.approx(score)


@pytest.mark.parametrize(
    ("got", "how", "score"),
    [
        (FRUIT, Comparison(), 1),
        # In whatever column, and in whatever order of rows where it does not count.
        ([(119, "Banana"), (191, "Orange"), (325, "Apple")], Comparison(), 1),
        # Matched 1 + 1 + 1/2, surplus 1/2, missing 1/2: 5 / (5 + 1).
        ([("Apple", 325), (191, "Orange"), ("Banana", None)], Comparison(), 5 / 6),
        ([("Banana", None), ("Apple", 325), (191, "Orange")], Comparison(), 5 / 6),
        # Two rows are missing whole: 2 / (2 + 2).
        ([("Apple", 325)], Comparison(), 0.5),
        # In order, only the first row is next to its own: matched 1, surplus 2, missing 2.
        ([("Apple", 325), ("Banana", 119), ("Orange", 191)], Comparison(ordered=True), 2 / 6),
        # A third column: matched 3, surplus 3/2: 6 / 7.5.
        ([(*row, "x") for row in FRUIT], Comparison(), 0.8),
        # A duplicate row: matched 3, surplus 1.
        ([*FRUIT, FRUIT[0]], Comparison(), 6 / 7),
        ([*FRUIT, FRUIT[0]], Comparison(duplicates=False), 1),
        ([("Kiwi", 1)], Comparison(), 0),
        ([], Comparison(), 0),
    ],
)
def test_soft_f1_of_bird(got: Rows, how: Comparison, score: float) -> None:
    assert of_results("soft_f1", FRUIT, got, how) == pytest.approx(score)


@pytest.mark.parametrize(("expected", "got", "score"), [(4, 2, 0.5), (2, 4, 0.5), (3, 3, 1), (3, 0, 0), (0, 0, 1)])
def test_tuple_cardinality_is_the_smaller_number_of_rows_by_the_greater(expected: int, got: int, score: float) -> None:
    assert of_results("tuple_cardinality", [(1,)] * expected, [(2,)] * got) == score


@pytest.mark.parametrize(
    "flood",
    [
        pytest.param([(number,) for number in range(1000)], id="all of the database"),
        pytest.param([(1,)] * 1000, id="the right row a thousand times"),
        pytest.param([(1,) * 1000], id="the right cell in a thousand columns"),
        pytest.param([tuple(range(1000))], id="a thousand columns"),
    ],
)
@pytest.mark.parametrize("columns", ["position", "any", "subset"])
def test_a_flood_earns_next_to_nothing(flood: Rows, columns: Any) -> None:
    # ATTACK: to answer everything, and so the right thing too. One right in a thousand: 2 x 1 / (1 + 1000).
    how = Comparison(columns=columns)
    assert of_results("cell_precision", [(1,)], flood, how) == pytest.approx(1 / 1000)
    assert of_results("cell_f1", [(1,)], flood, how) == pytest.approx(2 / 1001)
    assert of_results("soft_f1", [(1,)], flood, how) <= 2 / 1000
    assert of_results("column_f1", [(1,)], flood, how) <= 2 / 1000
    if columns != "subset":  # which asks for no more than that the right columns are there
        assert of_results("row_f1", [(1,)], flood, how) <= 2 / 1000


def test_one_right_cell_repeated_within_a_row_matches_once() -> None:
    # ATTACK: in BIRD's script `SELECT a, a, …` matches as often as it stands there, 0.9995 for this.
    # Matched 1/2, surplus 999/2, missing 1/2: 1 / (1 + 500).
    assert of_results("soft_f1", [(1, 2)], [(1,) * 1000]) == pytest.approx(1 / 501)


@pytest.mark.parametrize(
    ("reference", "answer", "score"),
    [
        ("SELECT a FROM t", "select  A\nfrom T -- what?", 1),
        # Five bigrams each, the ends among them; three in common: 3 / 7.
        ("SELECT a FROM t", "SELECT b FROM t", 3 / 7),
        ("SELECT 'a' FROM t", "SELECT 'A' FROM t", 3 / 7),
        # Nine bigrams, the five of the reference among them.
        ("SELECT a FROM t", "SELECT a, a, a FROM t", 5 / 9),
    ],
)
def test_ngrams(reference: str, answer: str, score: float) -> None:
    assert of_statements("ngrams", reference, answer) == pytest.approx(score)


JOIN = "SELECT x.a, y.b FROM t AS x JOIN u AS y ON x.id = y.t_id"


@pytest.mark.parametrize(
    ("reference", "answer", "tables", "columns"),
    [
        (JOIN, "select T.A, U.B from T, U where T.ID = U.T_ID", 1, 1),
        (JOIN, "SELECT a, b FROM t JOIN u ON t.id = t_id", 1, 1),
        # Of {t.a, t.id, u.b, u.t_id} the answer names t.a alone: 2 x 1 / (4 + 1).
        (JOIN, "SELECT a FROM t", 2 / 3, 0.4),
        ("SELECT a FROM t WHERE b = 1", "SELECT x.a FROM t x WHERE x.c = 1", 1, 0.5),
        ("SELECT a FROM t", "WITH q AS (SELECT a FROM t) SELECT q.a FROM q", 1, 1),
        ("SELECT a FROM t WHERE b IN (SELECT c FROM u)", "SELECT a FROM t WHERE b IN (SELECT d FROM v)", 0.5, 2 / 3),
        ("SELECT a FROM t", "SELECT a FROM u", 0, 0),
        ("SELECT * FROM t", "SELECT * FROM t", 1, 1),
        ("SELECT count(*) FROM t", "SELECT count(*) FROM t", 1, 1),
        # Every table there is: 2 x 1 / (1 + 4).
        ("SELECT 1 FROM t", "SELECT 1 FROM t, u, v, w", 0.4, 1),
    ],
)
def test_schema_linking(reference: str, answer: str, tables: float, columns: float) -> None:
    assert of_statements("linking_tables", reference, answer) == pytest.approx(tables)
    assert of_statements("linking_columns", reference, answer) == pytest.approx(columns)


@pytest.mark.parametrize(
    ("reference", "answer", "score", "same"),
    [
        ("SELECT a FROM t WHERE b = 1", "select X.A from T as X where X.B = 'other'", 1, True),
        ("SELECT a, count(*) FROM t GROUP BY a", "SELECT a AS k, count(*) FROM t GROUP BY k", 1, True),
        ("SELECT a, b FROM t ORDER BY b", "SELECT b, a FROM t ORDER BY 1", 1, True),
        ("SELECT a FROM t WHERE b = 1 AND c > 2", "SELECT a FROM t WHERE c > 7 AND (b = 4)", 1, True),
        ("SELECT a FROM t", "SELECT a FROM u", 1, False),
        # select 1, where 2/3, and_or 0, order 0, keywords {where, order, asc} and {where} 1/2: 13/6 by 5.
        ("SELECT a FROM t WHERE b = 1 AND c = 2 ORDER BY a", "SELECT a FROM t WHERE b = 9", 13 / 30, False),
        # select 1, order 0, keywords {order, asc} and {order, desc} 1/2.
        ("SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a DESC", 0.5, False),
        # where 1, and_or 0, keywords {where} and {where, or} 2/3, select 1.
        ("SELECT a FROM t WHERE b=1 AND c=1", "SELECT a FROM t WHERE b=1 OR c=1", (1 + 1 + 0 + 2 / 3) / 4, False),
        # select 1, set_operations 0, keywords 0.
        ("SELECT a FROM t UNION SELECT b FROM u", "SELECT a FROM t", 1 / 3, False),
        ("SELECT a FROM t UNION SELECT b FROM u", "SELECT a FROM t x UNION SELECT y.b FROM u AS y", 1, True),
        # select: one of ten, 2 x 1 / (1 + 10).
        ("SELECT a FROM t", "SELECT a,b,c,d,e,f,g,h,i,j FROM t", 2 / 11, False),
    ],
)
def test_clauses(reference: str, answer: str, score: float, same: bool) -> None:
    assert of_statements("clauses", reference, answer) == pytest.approx(score)
    assert of_statements("exact_set", reference, answer) == same


@pytest.mark.parametrize(
    ("reference", "answer", "score"), [(100, 200, 0.5), (200, 100, 1), (100, 100, 1), (0, 0, 1), (0, 5, 0)]
)
def test_efficiency_is_the_references_cost_by_the_answers(reference: float, answer: float, score: float) -> None:
    pair = Pair(
        expected=result([(1,)], reference),
        got=result([(1,)], answer),
        reference=SELECT,
        answer=SELECT,
        how=Comparison(),
    )
    assert work_out(["efficiency"], pair) == {"efficiency": score}


def test_a_wrong_answer_is_not_efficient_however_little_it_costs() -> None:
    assert of_results("efficiency", [(1,)], [(2,)]) == 0


@pytest.mark.parametrize(("reference", "answer"), [(None, 1.0), (1.0, None)])
def test_an_unknown_cost_is_told_and_makes_no_number(reference: float | None, answer: float | None) -> None:
    rows: Rows = [(1,)]
    pair = Pair(
        expected=result(rows, reference), got=result(rows, answer), reference=SELECT, answer=SELECT, how=Comparison()
    )
    with pytest.raises(CostUnknown, match="efficiency"):
        work_out(["efficiency"], pair)
    assert issubclass(CostUnknown, SampleError)


@pytest.mark.parametrize("name", OF_STATEMENTS)
def test_what_compares_statements_needs_the_references(name: MetricName) -> None:
    pair = Pair(expected=result([(1,)]), got=result([(1,)]), reference=None, answer=SELECT, how=Comparison())
    with pytest.raises(InvalidParams, match=name):
        work_out([name], pair)
    assert work_out(OF_RESULTS, pair) == dict.fromkeys(OF_RESULTS, 1.0)


@pytest.mark.parametrize("name", ["linking_tables", "linking_columns", "clauses", "exact_set"])
def test_an_answer_that_cannot_be_read_has_no_clauses_and_a_reference_is_to_blame(name: MetricName) -> None:
    unread = Statement("SELECT a FROM t", "sqlite", None)
    rows = result([(1,)])
    assert work_out([name], Pair(expected=rows, got=rows, reference=SELECT, answer=unread, how=Comparison())) == {
        name: 0.0
    }
    with pytest.raises(InvalidReference):
        work_out([name], Pair(expected=rows, got=rows, reference=unread, answer=SELECT, how=Comparison()))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t WHERE " + " OR ".join(["a = 1"] * 600),
        "SELECT " + "+".join(["a"] * 300) + " AS q FROM t WHERE " + " AND ".join(["q = 1"] * 300),
        "SELECT 1" + " UNION SELECT 1" * 400,
        "SELECT " + ", ".join(["a"] * 1000) + " FROM t GROUP BY " + ", ".join(["1"] * 1000),
    ],
)
def test_a_huge_statement_is_measured(text: str) -> None:
    pair = Pair(
        expected=result([(1,)]),
        got=result([(1,)]),
        reference=SELECT,
        answer=read_statement(text, "sqlite"),
        how=Comparison(),
    )
    assert all(0 <= value <= 1 for value in work_out(OF_STATEMENTS, pair).values())


CELLS = st.sampled_from([None, 0, 1, 1.0, 0.5, "a", "b", float("nan"), "2020-01-02", b"x", (1, 0.5)])
TABLES = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), max_size=5))
HOWS = st.builds(
    Comparison,
    ordered=st.booleans(),
    duplicates=st.booleans(),
    columns=st.sampled_from(["position", "any", "name", "subset"]),
)


@given(TABLES, TABLES, HOWS, st.randoms(use_true_random=False))
def test_every_metric_of_results_is_from_0_to_1_and_does_not_depend_on_an_order_that_does_not_count(
    expected: Rows, got: Rows, how: Comparison, chance: random.Random
) -> None:
    pair = Pair(expected=result(expected), got=result(got), reference=SELECT, answer=SELECT, how=how)
    found = work_out(OF_RESULTS, pair)
    assert all(0 <= value <= 1 for value in found.values()), found
    if not how.ordered:
        shuffled = result(chance.sample(got, len(got)))
        again = work_out(
            OF_RESULTS, Pair(expected=result(expected), got=shuffled, reference=SELECT, answer=SELECT, how=how)
        )
        assert again == pytest.approx(found)
    same = how.columns in ("position", "name") and difference(pair.expected, pair.got, how) is None
    if same and how.duplicates:
        assert found == pytest.approx(dict.fromkeys(OF_RESULTS, 1.0))


@pytest.mark.parametrize("columns", ["position", "name", "any", "subset"])
@pytest.mark.parametrize("name", ["row_f1", "column_f1", "soft_f1"])
def test_rows_without_columns_differ_in_number_only(name: MetricName, columns: Any) -> None:
    how = Comparison(columns=columns)

    def metric(expected: ResultSet, got: ResultSet) -> float:
        return work_out([name], Pair(expected=expected, got=got, reference=SELECT, answer=SELECT, how=how))[name]

    bare, more = ResultSet((), [(), ()], 1.0), ResultSet((), [(), (), ()], 1.0)
    filled = ResultSet(("a",), [(1,), (2,)], 1.0)
    assert metric(bare, bare) == 1.0
    assert metric(filled, filled) == 1.0
    assert [metric(bare, more), metric(bare, filled), metric(filled, bare)] == [0.0, 0.0, 0.0]
