"""The curves of length shaping: published values, bounds, and monotonicity."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidSample
from rewarden.types import Sample
from rewarden_verifiers.recipes.shaping import cosine, length_of, linear, soft_overlong

ends = st.floats(-10, 10)
lengths = st.integers(0, 50_000)


def test_cosine_has_the_values_of_its_formula() -> None:
    """cos 0 = 1, cos(pi/3) = 1/2, cos(pi/2) = 0, cos pi = -1."""
    assert cosine(0, start=1.0, end=0.5, max=300) == 1.0
    assert cosine(100, start=1.0, end=0.5, max=300) == pytest.approx(0.5 + 0.25 * (1 + 0.5))
    assert cosine(150, start=1.0, end=0.5, max=300) == pytest.approx(0.75)
    assert cosine(300, start=1.0, end=0.5, max=300) == 0.5


def test_cosine_beyond_max_stays_at_the_end_or_pays_what_exceeding_costs() -> None:
    assert cosine(301, start=1.0, end=0.5, max=300) == 0.5
    assert cosine(300, start=1.0, end=0.5, max=300, exceeded=-10.0) == -10.0
    assert cosine(299, start=1.0, end=0.5, max=300, exceeded=-10.0) > 0.5


def test_linear_has_the_values_of_its_formula() -> None:
    assert linear(100, start=0.5, end=-0.5, min=100, max=300) == 0.5
    assert linear(150, start=0.5, end=-0.5, min=100, max=300) == 0.25
    assert linear(300, start=0.5, end=-0.5, min=100, max=300) == -0.5
    assert linear(99, start=0.5, end=-0.5, min=100, max=300) == 0.5
    assert linear(999, start=0.5, end=-0.5, min=100, max=300) == -0.5


def test_soft_overlong_has_the_values_of_the_dapo_run() -> None:
    """L_max = 20480 and L_cache = 4096: nothing up to 16384 tokens."""
    values = {16384: 0.0, 17408: -0.25, 18432: -0.5, 20480: -1.0, 30000: -1.0, 0: 0.0}
    for length, value in values.items():
        assert soft_overlong(length, max=20480, buffer=4096) == value


@given(lengths, lengths, ends, ends, st.integers(1, 20_000))
def test_cosine_and_linear_are_monotone_and_stay_between_their_ends(
    one: int, other: int, start: float, end: float, limit: int
) -> None:
    short, long = sorted((one, other))
    for curve in (cosine, linear):
        first, second = (curve(length, start=start, end=end, max=limit) for length in (short, long))
        low, high = min(start, end), max(start, end)
        slack = 1e-12 * max(abs(low), abs(high), 1.0)
        assert low - slack <= first <= high + slack
        assert (second - first) * (end - start) >= -slack * abs(end - start)


@given(lengths, lengths, st.integers(1, 20_000), st.floats(0.01, 1.0))
def test_soft_overlong_only_ever_falls_and_stays_within_minus_one_and_zero(
    one: int, other: int, limit: int, share: float
) -> None:
    short, long = sorted((one, other))
    buffer = limit * share
    assert (
        -1.0 <= soft_overlong(long, max=limit, buffer=buffer) <= soft_overlong(short, max=limit, buffer=buffer) <= 0.0
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: cosine(1, start=1.0, end=0.0, max=0),
        lambda: linear(1, start=1.0, end=0.0, max=10, min=10),
        lambda: soft_overlong(1, max=10, buffer=0),
        lambda: soft_overlong(1, max=10, buffer=11),
    ],
)
def test_limits_that_make_no_sense_are_refused(call: object) -> None:
    with pytest.raises(ValueError, match=r"max|buffer"):
        call()  # type: ignore[operator]


def test_length_is_counted_over_the_whole_response() -> None:
    sample = Sample(response="<think>two words</think> ja", token_count=7)
    assert length_of(sample, "tokens") == 7
    assert length_of(sample, "characters") == 27
    assert length_of(sample, "words") == 3


def test_a_missing_token_count_is_the_callers_fault_and_names_the_field() -> None:
    with pytest.raises(InvalidSample) as raised:
        length_of(Sample(response="x"), "tokens")
    assert raised.value.details["path"] == "token_count"
