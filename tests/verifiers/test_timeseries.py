"""`timeseries`: errors by their definitions, the naive forecast's scale, and references that name their fields."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.science.timeseries import SeriesParams, SeriesReference, prepare, timeseries
from tests.verifiers.counting import HOSTILE

NUMBERS = st.integers(-100, 100).map(float)
RISING = SeriesReference(values=(12.0, 14.0), history=(6.0, 8.0, 10.0))


def judged(answer: Any, reference: SeriesReference = RISING, **params: Any) -> Outcome:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    options = SeriesParams(**params)
    return timeseries(f"<answer>{text}</answer>", prepare(reference, options), options)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8), st.lists(NUMBERS, min_size=3, max_size=9))
def test_errors_are_those_of_the_definitions(pairs: list[tuple[float, float]], history: list[float]) -> None:
    values, forecast = zip(*pairs, strict=True)
    reference = SeriesReference(values=values, history=tuple(history))
    found = judged(list(forecast), reference, scale=1.0).evidence
    gaps = [abs(one - other) for one, other in pairs]
    assert found["mae"] == pytest.approx(sum(gaps) / len(gaps))
    assert found["mse"] == pytest.approx(sum(gap**2 for gap in gaps) / len(gaps))
    assert found["rmse"] == pytest.approx(math.sqrt(found["mse"]))
    shares = [0.0 if one == other else 2 * abs(one - other) / (abs(one) + abs(other)) for one, other in pairs]
    assert found["smape"] == pytest.approx(sum(shares) / len(shares))
    steps = [abs(later - earlier) for earlier, later in itertools.pairwise(history)]
    if any(steps):
        assert found["mase"] == pytest.approx(found["mae"] / (sum(steps) / len(steps)))


@pytest.mark.parametrize("measure", ["mae", "mse", "rmse", "smape", "mase"])
@given(
    values=st.lists(NUMBERS, min_size=1, max_size=6),
    history=st.lists(NUMBERS, min_size=4, max_size=8),
    season=st.integers(1, 3),
)
def test_the_naive_forecast_earns_nothing_and_the_truth_everything(
    measure: str, values: list[float], history: list[float], season: int
) -> None:
    reference = SeriesReference(values=tuple(values), history=tuple(history), season=season)
    naive = [history[len(history) - season + place % season] for place in range(len(values))]
    try:
        found = judged(naive, reference, measure=measure)
    except InvalidReference:
        assert naive == values or measure == "mase"
        return
    assert found.score == 0.0
    assert judged(values, reference, measure=measure).score == 1.0


@given(st.lists(st.sampled_from((*HOSTILE, "1", "2.5", ",", " ", "[", "]", "-", "e9", "NaN")), max_size=20))
def test_hostile_answers_are_scored(parts: list[str]) -> None:
    assert judged("".join(parts)).status == "scored"


@pytest.mark.parametrize(
    ("changed", "params", "path"),
    [
        ({"values": ()}, {}, "reference.values"),
        ({"values": (math.nan,)}, {}, "reference.values"),
        ({"values": (10.0, 10.0)}, {}, "reference.values"),
        ({"history": None}, {}, "reference.history"),
        ({"history": (math.inf,)}, {}, "reference.history"),
        ({"history": (1.0, 1.0)}, {"measure": "mase"}, "reference.history"),
        ({"season": 4}, {}, "reference.history"),
        ({"season": 0}, {}, "reference.season"),
    ],
)
def test_a_bad_reference_names_its_field(changed: dict[str, Any], params: dict[str, Any], path: str) -> None:
    given_one = {"values": (12.0, 14.0), "history": (6.0, 8.0, 10.0)} | changed
    with pytest.raises(InvalidReference) as caught:
        prepare(SeriesReference(**given_one), SeriesParams(**params))
    assert caught.value.details["path"] == path
