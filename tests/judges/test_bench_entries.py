"""Entries of published sets: what verifiers of each way are asked, and how their verdicts are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rewarden.types import StepScore, Use, Verdict
from rewarden_server.studies.bench.contest import Contest, Contested
from rewarden_server.studies.bench.entry import UnusableError, Way, way_of
from rewarden_server.studies.bench.prm_bench import Counts, prm_score
from rewarden_server.studies.bench.reward_bench_2 import Rated, ties_score
from rewarden_server.studies.bench.row import Row
from rewarden_server.studies.bench.sets import SETS
from rewarden_server.studies.bench.solution import Solution
from tests.judges import bench_rows as rows_of

RATING, OWN = Way("rating"), Way("rating", own=True)
COMPARISON, RANKING = Way("comparison"), Way("ranking")

CONTEST = Contest(id="one", subset="part", prompt="Name a bird.", best="Auk", others=["Brick", "Boat"])


def verdict(score: float | None, raw: Any = None, steps: Sequence[StepScore] = ()) -> Verdict:
    return Verdict(status="scored" if score is not None else "error", score=score, raw=raw, steps=steps)


@pytest.mark.parametrize(
    ("use", "way"),
    [
        (Use(name="pairwise"), COMPARISON),
        (Use(name="rm_pairwise", params={"by": "scalar"}), COMPARISON),
        (Use(name="listwise"), RANKING),
        (Use(name="judge", params={"mode": "scale"}), RATING),
        (Use(name="rm_scalar"), OWN),
        # What these add is not in the model's own number.
        (Use(name="rm_scalar", params={"length_penalty": 0.1}), RATING),
        (Use(name="rm_scalar", params={"models": {"a": 1}}), RATING),
        (Use(name="rm_scalar", params={"transform": "probability"}), RATING),
        (Use(recipe={"name": "mine", "score": "1.0"}), RATING),
        (Use(name="known.only_to_the_server"), RATING),
    ],
)
def test_the_way_of_a_verifier(use: Use, way: Way) -> None:
    assert way_of(use) == way


def test_what_is_asked_follows_the_way() -> None:
    compared = CONTEST.samples(COMPARISON)
    assert [(one.response, one.reference) for one in compared] == [("Auk", "Brick"), ("Auk", "Boat")]
    rated = CONTEST.samples(RATING)
    assert [(one.response, one.reference, one.group) for one in rated] == [
        ("Auk", None, None),
        ("Brick", None, None),
        ("Boat", None, None),
    ]
    ranked = CONTEST.samples(RANKING)
    assert {one.group for one in ranked} == {"part/one"}, "names are unique in a part alone"


@pytest.mark.parametrize(
    ("scores", "above", "level", "tied"),
    [((0.9, 0.1, 0.2), 0, 0, False), ((0.9, 0.9, 0.2), 0, 1, True), ((0.1, 0.9, 0.1), 1, 1, False)],
)
def test_the_place_of_the_best_one(scores: Sequence[float], above: int, level: int, tied: bool) -> None:
    for way in (RATING, RANKING):
        found = CONTEST.result(way, [verdict(score) for score in scores])
        assert (found.above, found.level, found.tied, found.rated) == (above, level, tied, True)


def test_of_comparisons_half_is_a_tie() -> None:
    found = CONTEST.result(COMPARISON, [verdict(1.0), verdict(0.5)])
    assert (found.above, found.level, found.tied, found.won) == (0, 1, True, False)
    assert CONTEST.result(COMPARISON, [verdict(0.6), verdict(1.0)]).won


def test_large_rewards_are_told_apart_by_the_models_own_number() -> None:
    # Their sigmoid is 1.0 to the last digit for all three.
    found = CONTEST.result(OWN, [verdict(1.0, raw=60.0), verdict(1.0, raw=41.0), verdict(1.0, raw=40.0)])
    assert found.won


def test_a_response_that_the_model_was_not_asked_about_is_below_all_rewards() -> None:
    assert CONTEST.result(OWN, [verdict(0.001, raw=-7.0), verdict(0.0), verdict(0.0)]).won
    assert CONTEST.result(OWN, [verdict(0.0), verdict(0.0), verdict(0.001, raw=-7.0)]).above == 1


@pytest.mark.parametrize(
    ("rated", "tie"),
    [(True, 0.0), (False, 0.5)],
)
def test_a_tie_in_rewardbench_counts_by_the_way(rated: bool, tie: float) -> None:
    tied = Contested(subset="hep-go", tied=True, above=0, level=1, rated=rated)
    assert SETS["rewardbench"].lines([tied], 0)[0].figure.value == tie


def test_a_gap_beside_no_spread_is_as_wide_as_can_be() -> None:
    single = Rated(subset="Ties", unit="1", single=True, spread=0.0, gap=2.0)
    several = Rated(subset="Ties", unit="1", single=False, spread=0.0, gap=3.0)
    assert ties_score([single, several]) == pytest.approx(0.3 + 0.3 + 0.2 + 0.2 + 0.01)
    # Of a prompt without its other half there is no margin.
    assert ties_score([several]) == pytest.approx(0.3)


def test_prm_score_of_steps_that_are_all_right_is_not_defined() -> None:
    assert prm_score([Counts(subset="circular", right_good=4, right_bad=0, wrong_good=0, wrong_bad=0)]) is None


SOLUTION = Solution(id="one", subset="gsm8k", problem="?", steps=["One.", "", "Two."], errors=[2])


def step(index: int, score: float | None = None, label: str | None = None) -> StepScore:
    return StepScore(index=index, score=score, label=label)


def test_the_steps_of_a_solution_are_named() -> None:
    sample = SOLUTION.sample
    assert isinstance(sample.response, str)
    assert [sample.response[one.start : one.end] for one in sample.steps or ()] == ["One.", "", "Two."]


def test_marks_are_labels_or_else_scores() -> None:
    marks = [step(2, 0.2), step(0, 0.1, "right"), step(1, 0.9, "wrong")]
    assert SOLUTION.result(RATING, [verdict(0.0, steps=marks)]).good == [True, False, False]
    joined = [step(0, 1.0), step(1, None, "empty"), step(2, 0.5)]
    assert SOLUTION.result(RATING, [verdict(0.0, steps=joined)]).first is None


def test_as_many_marks_as_steps_or_none() -> None:
    with pytest.raises(UnusableError, match="2 steps, the solution 3"):
        SOLUTION.result(RATING, [verdict(1.0, steps=[step(0, 1.0), step(1, 1.0)])])


# --- as labelled responses ---


def test_pairs_occur_in_both_places_and_the_worse_one_fails() -> None:
    first, second = CONTEST.labelled(COMPARISON, coin=True)
    assert (first.sample.response, first.sample.reference, first.label.right) == ("Auk", "Brick", True)
    assert (second.sample.response, second.sample.reference, second.label.right) == ("Boat", "Auk", False)
    assert [one.failing and (one.failing.response, one.failing.reference) for one in (first, second)] == [
        ("Brick", "Auk"),
        ("Boat", "Auk"),
    ]


def test_rated_ones_are_right_or_wrong_by_themselves() -> None:
    found = CONTEST.labelled(RATING, coin=True)
    assert [(one.sample.response, one.label.right) for one in found] == [
        ("Auk", True),
        ("Brick", False),
        ("Boat", False),
    ]


def test_evenly_divided_physicians_say_nothing() -> None:
    chosen = SETS["healthbench-meta"]
    for labels, right in (([True, False], []), ([True, True, False], [True]), ([False], [False])):
        entry = chosen.entry(Row(rows_of.healthbench("c", "Rest.", "advises rest", labels), "f", 1))
        assert [one.label.right for one in entry.labelled(RATING, coin=True)] == right


def test_every_set_names_its_fields_files_and_verifier() -> None:
    for name, chosen in SETS.items():
        assert chosen.name == name
        assert way_of(chosen.use).kind in chosen.kinds
        assert chosen.files
        assert chosen.overall
