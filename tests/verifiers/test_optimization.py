"""`optimization`: feasibility by brute force, the scale, and references that name their fields."""

from __future__ import annotations

import itertools
import json
import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.optimisation.optimization import OptimizationParams, optimization, prepare
from rewarden_verifiers.optimisation.reference import OptimizationReference
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import parse_reference
from tests.verifiers.counting import HOSTILE

SPEC = Registry().get("optimization")
PARAMS = OptimizationParams()
SACK = {"problem": "knapsack", "weights": [3, 4, 5], "values": [30, 50, 60], "capacity": 8, "best": 90}
BINS = {"problem": "bin_packing", "weights": [6, 4], "capacity": 10, "best": 1}
JOBS = {"problem": "scheduling", "jobs": {"a": {"duration": 1}, "b": {"duration": 2}}, "best": 2}
PROGRAM: dict[str, Any] = {"problem": "program", "variables": {"x": {}}, "terms": {"x": 1}, "best": 0, "baseline": 9}


def read(reference: dict[str, Any]) -> OptimizationReference:
    found = parse_reference(SPEC, reference)
    assert isinstance(found, OptimizationReference)
    return found


def judged(answer: Any, reference: dict[str, Any]) -> Outcome:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return optimization(f"<answer>{text}</answer>", prepare(read(reference), PARAMS), PARAMS)


@pytest.mark.parametrize("seed", range(6))
def test_tours_earn_their_place_between_the_given_order_and_the_best(seed: int) -> None:
    rng = random.Random(seed)
    points = [[rng.uniform(0, 9), rng.uniform(0, 9)] for _ in range(6)]

    def length(order: tuple[int, ...]) -> float:
        return sum(math.dist(points[one], points[other]) for one, other in itertools.pairwise((*order, order[0])))

    every = [(0, *rest) for rest in itertools.permutations(range(1, 6))]
    best, given_order = min(map(length, every)), length(tuple(range(6)))
    if given_order < best + 0.1:
        return
    reference = {"problem": "tsp", "points": points, "best": best}
    for order in every:
        share = (given_order - length(order)) / (given_order - best)
        assert judged(list(order), reference).score == pytest.approx(min(1.0, max(0.0, share)), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_set_of_items_is_feasible_if_and_only_if_it_fits(seed: int) -> None:
    rng = random.Random(seed)
    weights = [rng.randint(1, 9) for _ in range(6)]
    values = [rng.randint(1, 9) for _ in range(6)]
    reference = {"problem": "knapsack", "weights": weights, "values": values, "capacity": 15, "best": 40}
    for count in range(7):
        for chosen in itertools.combinations(range(6), count):
            found = judged(list(chosen), reference)
            fits = sum(weights[place] for place in chosen) <= 15
            assert (found.reason == "infeasible") is not fits
            if fits:
                worth = sum(values[place] for place in chosen) / 40
                assert found.score == pytest.approx(min(1.0, worth))


@settings(max_examples=200)
@given(
    st.lists(st.integers(1, 4), min_size=2, max_size=5),
    st.integers(1, 3),
    st.lists(st.integers(0, 8), min_size=5, max_size=5),
)
def test_jobs_fit_if_and_only_if_no_moment_has_more_than_there_are_machines(
    durations: list[int], machines: int, starts: list[int]
) -> None:
    jobs = {f"j{place}": {"duration": duration} for place, duration in enumerate(durations)}
    reference = {"problem": "scheduling", "jobs": jobs, "machines": machines, "best": 0.5}
    answer = {f"j{place}": starts[place] for place in range(len(durations))}
    busy = [
        sum(start <= moment < start + duration for start, duration in zip(starts, durations, strict=False))
        for moment in range(13)
    ]
    found = judged(answer, reference)
    assert (found.reason == "infeasible") == (max(busy) > machines)
    if found.reason != "infeasible":
        end = max(start + duration for start, duration in zip(starts, durations, strict=False))
        assert found.evidence["value"] == end


@given(st.integers(0, 9), st.integers(0, 9))
def test_a_program_is_feasible_if_and_only_if_its_constraints_hold(x: int, y: int) -> None:
    reference = {
        "problem": "program",
        "variables": {"x": {"high": 6}, "y": {"low": 1, "integer": True}},
        "terms": {"x": 2, "y": 3},
        "constraints": [
            {"terms": {"x": 1, "y": 2}, "sense": "<=", "bound": 11},
            {"terms": {"x": 1}, "sense": ">=", "bound": 2},
            {"terms": {"x": 1, "y": -1}, "sense": "==", "bound": 1},
        ],
        "best": 40,
        "baseline": 0,
        "maximize": True,
    }
    feasible = x <= 6 and y >= 1 and x + 2 * y <= 11 and x >= 2 and x - y == 1
    found = judged({"x": x, "y": y}, reference)
    assert (found.reason != "infeasible") is feasible
    if feasible:
        assert found.score == pytest.approx(min(1.0, (2 * x + 3 * y) / 40))


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        ({"problem": "tsp", "best": 1}, "reference.points"),
        ({"problem": "tsp", "best": 1, "distances": [[0, 1], [1]]}, "reference.distances"),
        ({"problem": "tsp", "best": 1, "points": [[0, 0], [1, 1]], "names": ["a"]}, "reference.names"),
        ({**SACK, "capacity": -1}, "reference.capacity"),
        ({**SACK, "capacity": None}, "reference.capacity"),
        ({**SACK, "values": [1, 2]}, "reference.values"),
        ({**SACK, "weights": [1, 2, -3]}, "reference.weights"),
        ({**SACK, "best": 0}, "reference.best"),
        ({**SACK, "baseline": 100}, "reference.best"),
        ({**SACK, "jobs": {}}, "reference.jobs"),
        ({**BINS, "best": 2}, "reference.best"),
        ({**BINS, "capacity": 5}, "reference.weights"),
        ({**JOBS, "machines": 0}, "reference.machines"),
        ({**JOBS, "objective": "tardiness"}, "reference.baseline"),
        ({**JOBS, "jobs": {"a": {"duration": -1}}}, "reference.jobs.a"),
        ({**JOBS, "jobs": {"a": {"duration": 1, "after": ["z"]}}}, "reference.jobs.a.after"),
        ({**PROGRAM, "baseline": None}, "reference.baseline"),
        ({**PROGRAM, "terms": {"z": 1}}, "reference.terms"),
        ({**PROGRAM, "constraints": [{"terms": {"z": 1}, "sense": "<=", "bound": 1}]}, "reference.constraints[0]"),
    ],
)
def test_a_bad_reference_names_its_field(reference: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidReference) as caught:
        prepare(read(reference), PARAMS)
    assert caught.value.details["path"] == path


@settings(max_examples=200)
@given(
    st.sampled_from((SACK, BINS, JOBS, PROGRAM)),
    st.lists(
        st.sampled_from((*HOSTILE, "[", "]", "{", "}", "0", "1", ",", ":", '"', "a", "x", "1e300", "-")), max_size=20
    ),
)
def test_hostile_answers_are_scored(reference: dict[str, Any], parts: list[str]) -> None:
    found = judged("".join(parts), reference)
    assert found.status == "scored"
