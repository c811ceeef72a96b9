"""The agreement of two results, and what tells them apart."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden_verifiers.sql.comparison.comparison import Difference, difference
from rewarden_verifiers.sql.comparison.settings import Comparison
from rewarden_verifiers.sql.engines.engine import ResultSet

Rows = list[tuple[Any, ...]]
ORDERED = Comparison(ordered=True)
SETS = Comparison(duplicates=False)
ANY = Comparison(columns="any")
NAME = Comparison(columns="name")
SUBSET = Comparison(columns="subset")
WIDE = Comparison(abs=1.0, rel=0)


def result(rows: Rows, columns: str | None = None) -> ResultSet:
    """A result; its columns are letters."""
    width = len(rows[0]) if rows else 1
    return ResultSet(tuple(columns if columns is not None else "abcdefghijklmnopqrstuvwxyz"[:width]), rows)


@pytest.mark.parametrize(
    ("expected", "got", "how", "told"),
    [
        # Bags: rows in any order, each as often.
        ([(1, "x"), (2, "y")], [(2, "y"), (1, "x")], Comparison(), None),
        ([(1,), (1,), (2,)], [(1,), (2,), (1,)], Comparison(), None),
        ([(1,), (1,), (2,)], [(1,), (2,), (2,)], Comparison(), "duplicates"),
        ([(1,), (1,)], [(1,)], Comparison(), "duplicates"),
        ([(1,), (2,)], [(1,)], Comparison(), "row_count"),
        ([(1,), (2,)], [(1,), (3,)], Comparison(), "values"),
        ([(1, 2)], [(2, 1)], Comparison(), "values"),
        ([(1, 2)], [(1,)], Comparison(), "column_count"),
        ([(1, "a"), (2, "b")], [(1, "b"), (2, "a")], Comparison(), "values"),
        # Order.
        ([(1,), (2,)], [(1,), (2,)], ORDERED, None),
        ([(1,), (2,)], [(2,), (1,)], ORDERED, "order"),
        ([(1,), (1,), (2,)], [(1,), (2,)], ORDERED, "duplicates"),
        ([(1,), (2,)], [(1,), (3,)], ORDERED, "values"),
        ([(1, 0.1 + 0.2)], [(1, 0.3)], ORDERED, None),
        # Sets, as BIRD's script and Spider's first one compare.
        ([(1,), (1,), (2,)], [(2,), (1,)], SETS, None),
        ([(1,)], [(1,), (2,)], SETS, "values"),
        ([(1.0,), (1.0 + 1e-12,)], [(1.0,)], SETS, None),
        ([(1,), (2,), (1,)], [(1,), (1,), (2,)], Comparison(duplicates=False, ordered=True), None),
        ([(1,), (2,)], [(2,), (1,)], Comparison(duplicates=False, ordered=True), "order"),
        # Nothing.
        ([], [], Comparison(), None),
        ([], [(1,)], Comparison(), "row_count"),
        ([], [(1,)], SETS, "values"),
        ([(1,)], [], SETS, "values"),
        # Columns in any order, with the rows held together.
        ([(1, "a"), (2, "b")], [("b", 2), ("a", 1)], ANY, None),
        ([(1, "a"), (2, "b")], [("b", 1), ("a", 2)], ANY, "values"),
        ([(1, 2), (2, 1), (3, 3)], [(2, 1), (1, 2), (3, 3)], ANY, None),
        ([(0, 0), (0, 1), (1, 1)], [(0, 0), (1, 0), (1, 1)], ANY, None),
        ([(0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1)], [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)], ANY, "values"),
        ([(1, 2)], [(2, 1)], Comparison(columns="any", ordered=True), None),
        ([(1, "a"), (2, "b")], [("b", 2), ("a", 1)], Comparison(columns="any", ordered=True), "order"),
        ([(1, "a"), (1, "a")], [("a", 1)], ANY, "duplicates"),
        ([(1, 1)], [(1,)], ANY, "column_count"),
        ([(1.0, 5.0), (2.0, 6.0)], [(6.0 + 1e-12, 2.0), (5.0, 1.0 - 1e-12)], ANY, None),
        # The expected columns among others.
        ([(1,), (2,)], [("b", 2), ("a", 1)], SUBSET, None),
        ([(1, "a"), (2, "b")], [("b", 0, 2), ("a", 0, 1)], SUBSET, None),
        ([(1, "a"), (2, "b")], [("b", 0, 1), ("a", 0, 2)], SUBSET, "values"),
        ([(1, 2)], [(1,)], SUBSET, "column_count"),
        ([(1, 1)], [(1, 2)], SUBSET, "values"),
        ([(1,), (1,)], [(1, "x"), (1, "y")], Comparison(columns="subset", duplicates=False), None),
    ],
)
def test_results_agree_or_are_told_apart(expected: Rows, got: Rows, how: Comparison, told: Difference | None) -> None:
    assert difference(result(expected), result(got), how) == told


def test_results_without_rows_agree_only_where_they_have_as_many_columns() -> None:
    assert difference(ResultSet(("a",), []), ResultSet(("b",), []), Comparison()) is None
    assert difference(ResultSet(("a",), []), ResultSet(("a", "b"), []), Comparison()) == "column_count"
    assert difference(ResultSet(("a",), []), ResultSet(("a", "b"), []), SUBSET) is None
    assert difference(ResultSet((), [(), ()]), ResultSet((), [()]), ANY) == "duplicates"


@pytest.mark.parametrize(
    ("expected", "got", "told"),
    [
        (("a", "b"), ("B", "A"), None),
        (("a", "b"), ("a", "c"), "column_names"),
        (("a", "a"), ("a", "b"), "column_names"),
    ],
)
def test_columns_are_found_by_name_without_case(
    expected: tuple[str, ...], got: tuple[str, ...], told: Difference | None
) -> None:
    assert difference(ResultSet(expected, [(1, 2)]), ResultSet(got, [(2, 1)]), NAME) == told


def test_equal_names_are_matched_in_their_order() -> None:
    assert difference(ResultSet(("a", "b", "a"), [(1, 2, 3)]), ResultSet(("a", "a", "b"), [(1, 3, 2)]), NAME) is None
    assert difference(ResultSet(("a", "b", "a"), [(1, 2, 3)]), ResultSet(("a", "a", "b"), [(3, 1, 2)]), NAME)


def test_the_same_values_in_one_place_do_not_hide_other_names() -> None:
    assert difference(ResultSet(("a", "b"), [(1, 2)]), ResultSet(("b", "a"), [(1, 2)]), NAME) == "values"


@pytest.mark.parametrize(
    ("expected", "got", "agree"),
    [
        # 0-1 and 1-2: to pair the two ones first would leave 0 and 2.
        ([0.0, 1.0], [1.0, 2.0], True),
        ([0.0, 1.0], [1.0, 2.1], False),
        # Rounding to whole numbers would part these.
        ([0.49], [0.51], True),
        ([1.0, 1.9, 2.8], [2.0, 2.9, 3.8], True),
        ([1.0, 1.0, 3.0], [1.0, 3.0, 3.0], False),
    ],
)
def test_numbers_within_the_tolerance_are_matched_one_to_one(
    expected: list[float], got: list[float], agree: bool
) -> None:
    told = difference(result([(cell,) for cell in expected]), result([(cell,) for cell in got]), WIDE)
    assert (told is None) == agree


def test_whole_numbers_agree_with_equal_ones_and_with_floats_that_are_near() -> None:
    assert difference(result([(10,), (9.5,)]), result([(11.0,), (10,)]), Comparison(abs=1.5, rel=0)) is None
    # 11 has to go to 9.5, which lies beyond the 10 between them; 10 and 11 are whole and do not agree.
    wide = Comparison(abs=2.0, rel=0)
    assert difference(result([(9.5, 1.5), (10, 2)]), result([(11, 1.5), (10, 2)]), wide) is None
    assert difference(result([(10,), (20.0,)]), result([(11,), (20.0,)]), wide) == "values"


def test_rows_of_several_numbers_are_matched_as_rows() -> None:
    expected: Rows = [(1.0, 10.0), (1.0 + 1e-10, 20.0), (1.0 + 2e-10, 30.0)]
    got: Rows = [(1.0 + 2e-10, 10.0), (1.0, 30.0), (1.0 + 1e-10, 20.0)]
    assert difference(result(expected), result(got), Comparison()) is None
    assert difference(result(expected), result([(1.0, 10.0), (1.0, 20.0), (1.0, 20.0)]), Comparison()) == "values"


def brute_force(expected: list[tuple[float, ...]], got: list[tuple[float, ...]], reach: float) -> bool:
    """Returns whether some order of the rows agrees: the definition."""
    return any(
        all(
            abs(a - b) <= reach
            for one, other in zip(expected, order, strict=True)
            for a, b in zip(one, other, strict=True)
        )
        for order in permutations(got)
    )


NUMBERS = st.integers(0, 8).map(lambda number: number / 2)
PLANES = st.integers(1, 3).flatmap(
    lambda width: st.integers(1, 5).flatmap(
        lambda size: st.tuples(*[st.lists(st.tuples(*[NUMBERS] * width), min_size=size, max_size=size)] * 2)
    )
)


@given(PLANES)
def test_a_matching_is_found_exactly_where_there_is_one(sides: tuple[Rows, Rows]) -> None:
    found = difference(result(sides[0]), result(sides[1]), WIDE) is None
    assert found == brute_force(sides[0], sides[1], 1.0)


TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.tuples(*[st.sampled_from([None, 0, 1, 1.0, 0.5, "a", float("nan")])] * width), min_size=1, max_size=6
    )
)
HOWS = st.builds(
    Comparison,
    ordered=st.booleans(),
    duplicates=st.booleans(),
    columns=st.sampled_from(["position", "any", "name", "subset"]),
    abs=st.sampled_from([0.0, 1e-9, 0.5]),
    rel=st.sampled_from([0.0, 1e-6]),
    folded=st.booleans(),
)


@given(TABLES, HOWS)
def test_a_result_agrees_with_itself(rows: Rows, how: Comparison) -> None:
    assert difference(result(rows), result([tuple(row) for row in rows]), how) is None


@given(TABLES, st.randoms(use_true_random=False), HOWS)
def test_rows_may_be_shuffled_where_their_order_does_not_count(
    rows: Rows, chance: random.Random, how: Comparison
) -> None:
    shuffled = chance.sample(rows, len(rows))
    told = difference(result(rows), result(shuffled), how)
    assert told is None or (how.ordered and told == "order")


@given(TABLES, st.randoms(use_true_random=False), st.sampled_from([ANY, SUBSET]))
def test_columns_may_be_permuted_where_their_order_does_not_count(
    rows: Rows, chance: random.Random, how: Comparison
) -> None:
    places = chance.sample(range(len(rows[0])), len(rows[0]))
    shuffled = [tuple(row[place] for place in places) for row in chance.sample(rows, len(rows))]
    assert difference(result(rows), result(shuffled), how) is None


@given(TABLES, TABLES, HOWS.filter(lambda how: how.columns in ("position", "any")))
def test_it_does_not_matter_which_of_two_results_is_the_expected_one(one: Rows, other: Rows, how: Comparison) -> None:
    assert difference(result(one), result(other), how) == difference(result(other), result(one), how)


def test_a_large_result_is_compared_exactly() -> None:
    rows: Rows = [tuple((row * 7 + column) % 1000 for column in range(10)) for row in range(20_000)]
    shuffled = random.Random(1).sample(rows, len(rows))
    assert difference(result(rows), result(shuffled), Comparison()) is None
    assert difference(result(rows), result([*shuffled[1:], (0,) * 10]), Comparison()) == "values"


def test_results_too_much_alike_to_be_matched_in_time_are_not_called_equal() -> None:
    # ATTACK: near-ties by the thousand, so that the matching never ends.
    chance = random.Random(1)
    sides = [[(chance.random(), chance.random()) for _ in range(1500)] for _ in range(2)]
    assert difference(result(list(sides[0])), result(list(sides[1])), Comparison(abs=0.02, rel=0)) is not None


def test_columns_that_are_all_alike_do_not_take_for_ever() -> None:
    chance = random.Random(1)
    rows: Rows = [tuple(chance.randint(0, 1) for _ in range(24)) for _ in range(24)]
    flipped: Rows = [tuple(1 - cell for cell in row) for row in rows]
    assert difference(result(rows), result([tuple(reversed(row)) for row in rows]), ANY) is None
    assert difference(result(rows), result(flipped), ANY) == "values"
