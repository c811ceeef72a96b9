"""The feedback that the policy gets on a difference."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from rewarden_verifiers.sql.comparison.settings import Comparison
from rewarden_verifiers.sql.engines.engine import ResultSet
from rewarden_verifiers.sql.feedback import MOST, difference

Rows = list[tuple[Any, ...]]


def said(how: str, expected: Rows, got: Rows, rows: int = 3, comparison: Comparison | None = None) -> list[str]:
    """The lines of the feedback."""
    names = [tuple(f"c{place}" for place in range(len(side[0]) if side else 1)) for side in (expected, got)]
    return difference(how, ResultSet(names[0], expected), ResultSet(names[1], got), rows, comparison).split("\n")


def test_it_shows_the_rows_that_one_side_has_alone() -> None:
    assert said("values", [(1, "a"), (2, "b")], [(2, "b"), (3, None)]) == [
        "the values differ: expected 2 rows of 2 columns, got 2 rows of 2 columns",
        "expected, but not there:",
        "  (1, a)",
        "there, but not expected:",
        "  (3, NULL)",
    ]


def test_a_row_is_shown_as_often_as_it_is_too_often_there() -> None:
    assert said("duplicates", [(1,), (1,), (2,)], [(1,), (2,), (2,), (2,)])[1:] == [
        "expected, but not there:",
        "  (1)",
        "there, but not expected:",
        "  (2)",
        "  (2)",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [(0.1 + 0.2, 0.3), (2, Decimal("2.00")), (float("nan"), float("nan")), (date(2020, 1, 2), "2020-01-02")],
)
def test_a_row_that_agrees_is_not_shown(one: Any, other: Any) -> None:
    assert said("values", [(one,), (5,)], [(other,), (6,)])[1:] == [
        "expected, but not there:",
        "  (5)",
        "there, but not expected:",
        "  (6)",
    ]


def test_rows_agree_as_they_were_compared() -> None:
    assert len(said("values", [("A ",), (1,)], [("a",), (2,)], comparison=Comparison(folded=True))) == 5
    swapped = said("values", [(1, "a"), (2, "b")], [("a", 1), ("c", 3)], comparison=Comparison(columns="any"))
    assert swapped[1:] == ["expected, but not there:", "  (2, b)", "there, but not expected:", "  (c, 3)"]


def test_where_only_the_order_differs_the_first_places_that_do_are_shown() -> None:
    assert said("order", [(1,), (2,), (3,)], [(1,), (3,), (2,)])[1:] == [
        "expected, but not there:",
        "  (2)",
        "  (3)",
        "there, but not expected:",
        "  (3)",
        "  (2)",
    ]


def test_where_columns_differ_their_names_are_shown() -> None:
    assert said("column_count", [(1,)], [(1, 2)])[1:] == ["columns expected: c0", "columns got: c0, c1"]


def test_no_rows_are_shown_where_none_are_wanted() -> None:
    assert said("values", [(1,)], [(2,)], rows=0) == [
        "the values differ: expected 1 row of 1 column, got 1 row of 1 column"
    ]


def test_more_rows_are_counted() -> None:
    assert said("row_count", [(number,) for number in range(9)], [], rows=2)[1:] == [
        "expected, but not there (9, the first 2):",
        "  (0)",
        "  (1)",
    ]


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("a\nthere, but not expected:\r\n  (1)", r"a\nthere, but not expected:\r\n  (1)"),
        ("\u202e\x1b[2J\x00\u2028", r"\u202e\x1b[2J\x00\u2028"),
        ("\ud800", r"\ud800"),
        (b"\x00\xff", "<2 bytes>"),
        ([1, "1", None], "[1, '1', None]"),
        pytest.param(10**5000, "<int>", id="digits"),
        ("x" * 1000, "x" * 59 + "…"),
    ],
)
def test_a_cell_stays_in_its_place(cell: Any, shown: str) -> None:
    # ATTACK: a cell with a line break forges feedback.
    assert said("values", [(1,)], [(cell,)])[-2:] == ["there, but not expected:", f"  ({shown})"]


def test_it_is_bounded_whatever_the_result() -> None:
    rows: Rows = [tuple("\U0010ffff" * 500 + str(row) for _ in range(500)) for row in range(100)]
    got = ResultSet(tuple("n\n" * 500 for _ in range(500)), rows)
    for how in ("values", "column_count", "column_names", "other"):
        text = difference(how, ResultSet(("a",), [(1,)]), got, 50)
        assert len(text) <= MOST
        text.encode()


def test_a_value_nested_too_deep_to_print_is_named() -> None:
    cell: Any = 1
    for _ in range(10_000):
        cell = [cell]
    assert said("values", [(1,)], [(cell,)])[-1] == "  (<list>)"
