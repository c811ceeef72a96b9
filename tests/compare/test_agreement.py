"""Agreement of two judges, beside scikit-learn and SciPy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, spearmanr
from sklearn.metrics import cohen_kappa_score

from rewarden_server.studies.comparison.agreement import kappa, mcnemar, pearson, ranks, spearman

COUNT = st.integers(0, 60)


@given(COUNT, COUNT, COUNT, COUNT)
def test_kappa_is_scikit_learns(both: int, first: int, second: int, neither: int) -> None:
    found = kappa(both, first, second, neither)
    a = [1] * (both + first) + [0] * (second + neither)
    b = [1] * both + [0] * first + [1] * second + [0] * neither
    if found is None:
        assert len(set(a + b)) < 2
        return
    assert math.isclose(found[0], cohen_kappa_score(a, b), abs_tol=1e-9)
    assert found[1] <= found[0] <= found[2]


@given(*[st.integers(2, 60)] * 4)
def test_the_interval_of_kappa_is_that_of_the_delta_method(both: int, first: int, second: int, neither: int) -> None:
    """The spread of a function of shares, from its slopes, taken numerically, and the shares' covariance."""
    n = both + first + second + neither
    shares = [both / n, first / n, second / n, neither / n]

    def value(p: list[float]) -> float:
        observed = p[0] + p[3]
        chance = (p[0] + p[1]) * (p[0] + p[2]) + (p[2] + p[3]) * (p[1] + p[3])
        return (observed - chance) / (1 - chance)

    step = 1e-6
    slopes = []
    for place in range(4):
        up, down = shares.copy(), shares.copy()
        up[place] += step
        down[place] -= step
        slopes.append((value(up) - value(down)) / (2 * step))
    average = sum(p * slope for p, slope in zip(shares, slopes, strict=True))
    variance = sum(p * (slope - average) ** 2 for p, slope in zip(shares, slopes, strict=True)) / n
    centre, low, high = kappa(both, first, second, neither) or (0.0, 0.0, 0.0)
    assert centre == pytest.approx(value(shares))
    assert high == pytest.approx(min(1.0, centre + 1.959964 * math.sqrt(variance)), abs=1e-4)
    assert low == pytest.approx(max(-1.0, centre - 1.959964 * math.sqrt(variance)), abs=1e-4)


@given(st.integers(0, 200), st.integers(0, 200))
def test_mcnemar_is_the_binomial_test(first: int, second: int) -> None:
    expected = 1.0 if first + second == 0 else binomtest(first, first + second).pvalue
    assert math.isclose(mcnemar(first, second), expected, rel_tol=1e-6)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), max_size=40))
def test_rank_correlation_is_scipys(pairs: list[tuple[int, int]]) -> None:
    xs, ys = [float(x) for x, _ in pairs], [float(y) for _, y in pairs]
    found = spearman(xs, ys)
    if len(set(xs)) < 2 or len(set(ys)) < 2:
        assert found is None
    else:
        assert math.isclose(found or 0.0, spearmanr(xs, ys).statistic, abs_tol=1e-9)


def test_equal_values_share_their_rank() -> None:
    assert ranks([5.0, 1.0, 5.0, 9.0]) == [2.5, 1.0, 2.5, 4.0]
    assert pearson([1.0, 2.0], [3.0, 3.0]) is None
