"""Estimators over a group's scores, held against their definitions."""

from __future__ import annotations

import itertools
import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden_verifiers.group.statistics import describe, estimates, mean, pass_at_k, passes, powers_of_two, std
from rewarden_verifiers.outcome import right, scored, undecided, wrong

SCORES = st.lists(st.floats(-10, 10), min_size=2, max_size=30)


@pytest.mark.parametrize("n", range(1, 9))
def test_pass_at_k_is_the_share_of_draws_that_hold_a_pass(n: int) -> None:
    for passed, k in itertools.product(range(n + 1), range(1, n + 1)):
        draws = list(itertools.combinations(range(n), k))
        share = sum(any(place < passed for place in draw) for draw in draws) / len(draws)
        assert pass_at_k(n, passed, k) == pytest.approx(share)


@given(st.integers(1, 2000), st.data())
def test_pass_at_k_agrees_with_its_closed_form(n: int, data: st.DataObject) -> None:
    passed, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    exact = 1 - math.comb(n - passed, k) / math.comb(n, k)
    assert pass_at_k(n, passed, k) == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize(("n", "passed", "k"), [(4, 5, 1), (4, -1, 1), (4, 2, 5), (4, 2, 0), (0, 0, 1)])
def test_where_pass_at_k_is_not_defined_it_says_so(n: int, passed: int, k: int) -> None:
    with pytest.raises(ValueError, match="not defined"):
        pass_at_k(n, passed, k)


def test_powers_of_two_reach_the_size() -> None:
    assert [powers_of_two(n) for n in (0, 1, 2, 3, 8)] == [[], [1], [1, 2], [1, 2], [1, 2, 4, 8]]
    assert estimates(4, 1, [3, 4, 9]) == {3: pytest.approx(0.75), 4: 1.0}


@given(SCORES)
def test_mean_and_deviation_are_those_of_the_standard_library(scores: list[float]) -> None:
    assert mean(scores) == pytest.approx(statistics.fmean(scores), abs=1e-9)
    assert std(scores) == pytest.approx(statistics.pstdev(scores), abs=1e-6)
    assert std(scores, 1) == pytest.approx(statistics.stdev(scores), abs=1e-6)


def test_nothing_has_no_mean_and_one_score_no_sample_deviation() -> None:
    assert mean([]) is None
    assert std([]) is None
    assert std([1.0], 1) is None
    assert std([1.0]) == 0.0


def test_a_pass_is_what_the_verifier_says_or_full_marks() -> None:
    assert passes(right())
    assert not passes(wrong())
    assert passes(scored(0.5, passed=True))
    assert passes(scored(2.0, range=(0.0, 2.0)))
    assert not passes(scored(1.0, range=(0.0, 2.0)))
    assert passes(scored(0.5, passed=False), 0.5)
    assert not passes(undecided("x"), 0.0)


def test_unscored_members_are_counted_apart() -> None:
    group = describe("g", [right(), wrong(), undecided("x")])
    assert (group.size, group.scored, group.unscored, group.passed) == (3, 2, 1, 1)
    assert (group.mean, group.std) == (0.5, 0.5)
    assert dict(group.pass_at) == {1: 0.5, 2: 1.0}


def test_with_an_unscored_member_neither_all_nor_none_is_known() -> None:
    assert not describe("g", [right(), undecided("x")]).all_pass
    assert not describe("g", [wrong(), undecided("x")]).all_fail
    assert describe("g", [right(), right()]).all_pass
    assert describe("g", [wrong(), wrong()]).all_fail
    empty = describe("g", [undecided("x")])
    assert (empty.all_pass, empty.all_fail, empty.mean, dict(empty.pass_at)) == (False, False, None, {})
