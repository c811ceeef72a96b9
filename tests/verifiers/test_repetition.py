"""`repetition`: the measures against plain ones, shapes of the penalty, and loops in disguise."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.structure.repetition import (
    MOST_UNITS,
    RepetitionParams,
    longest_repeat,
    longest_run,
    near_repeats,
    repeated_share,
    repetition,
)
from tests.verifiers.counting import HOSTILE, steps
from tests.verifiers.direct import outcome_of

PLANNER = Planner(Registry())
EVERY = RepetitionParams(measures=("ngrams", "runs", "near", "longest", "lines", "compression"))


async def judged(response: str, reference: Any = None, **params: Any) -> Outcome:
    sample = Sample(response=response, reference=reference)
    return await outcome_of(PLANNER, Use(name="repetition", params=params), sample)


@given(st.lists(st.sampled_from("abc"), max_size=14), st.integers(1, 6))
def test_ngrams_and_spans_are_counted_exactly(units: list[str], n: int) -> None:
    grams = [tuple(units[i : i + n]) for i in range(len(units) - n + 1)]
    assert repeated_share(units, n) == pytest.approx(1 - len(set(grams)) / len(grams) if grams else 0.0)
    repeated = [
        size
        for size in range(1, len(units) + 1)
        if len({tuple(units[i : i + size]) for i in range(len(units) - size + 1)}) < len(units) - size + 1
    ]
    assert longest_repeat(units) == max(repeated, default=0)


@given(st.text("abc", max_size=24), st.integers(1, 4))
def test_runs_and_near_repeats_are_counted_exactly(text: str, n: int) -> None:
    grams = [text[i : i + n] for i in range(len(text) - n + 1)]
    runs = [times for gram in grams for times in range(len(text) // n) if gram * (times + 1) in text]
    assert longest_run(text, n) == max(runs, default=0)
    near = [text[i + n : i + 4 * n].count(gram) for i, gram in enumerate(grams)]
    assert near_repeats(text, n) == max(near, default=0)


def test_the_share_of_open_recipes() -> None:
    """Open recipes for reasoning subtract this share: 1 - distinct / all n-grams of words."""
    rng = random.Random(2)
    for _ in range(40):
        units = [rng.choice(["the", "a", "of", "and", "sum", "is", "x", "y", "z"]) for _ in range(rng.randint(3, 60))]
        grams = list(zip(*(units[i:] for i in range(3)), strict=False))
        outcome = repetition(" ".join(units), RepetitionParams())
        assert outcome.score == pytest.approx(len(set(grams)) / len(grams))


PROSE = (
    "We note that the sum of the angles is fixed. Because two sides are equal, two angles are too, and the third "
    "follows at once. Substituting the given value yields seventy degrees. A drawing agrees with it."
)


@pytest.mark.parametrize("kind", ["ngrams", "longest", "lines", "compression"])
async def test_every_measure_tells_a_loop_from_prose(kind: str) -> None:
    allowed = 0.6 if kind == "compression" else 0.1
    measure = {"kind": kind, "allowed": allowed}
    assert (await judged(PROSE, measures=[measure])).score == 1.0
    assert (await judged((PROSE + "\n") * 12, measures=[measure])).score < 0.4  # type: ignore[operator]


@pytest.mark.parametrize(
    "loop",
    [
        "wait let me check ",
        "Wait, let me check! wait LET me check... ",
        "w\u200bait let me che\u2060ck ",
        "ｗａｉｔ let me check ",
        "再检查一遍。",
        "もう一度確認します。",
        "ตรวจสอบอีกครั้ง ",
        "проверим ещё раз. ",
        "ha",
        "!?",
        "😂",
        "\\boxed{7} ",
        "0",
    ],
)
async def test_loops_in_disguise(loop: str) -> None:
    outcome = await judged(loop * 80)
    assert outcome.score is not None
    assert outcome.score < 0.2, outcome
    assert (outcome.passed, outcome.reason) == (False, "repetitive")


async def test_a_loop_with_a_counter_needs_the_numbers_to_be_the_same() -> None:
    loop = " ".join(f"Case {n}: fine." for n in range(60))
    assert (await judged(loop)).score == 1.0
    assert (await judged(loop, same_numbers=True)).score < 0.1  # type: ignore[operator]


async def test_shapes_of_the_penalty() -> None:
    text = "a b\nc d\na b\ne f"  # a quarter of the lines stood before
    measure = {"kind": "lines"}
    assert (await judged(text, measures=[measure])).score == 0.75
    assert (await judged(text, measures=[{**measure, "full": 0.5}])).score == 0.5
    assert (await judged(text, measures=[{**measure, "allowed": 0.25}])).score == 1.0
    assert (await judged(text, measures=[measure], max_penalty=0.4)).score == pytest.approx(0.9)
    assert (await judged(text, measures=[measure], shape="step")).score == 0.0
    assert (await judged(text, 0.1, measures=[measure], shape="adaptive")).score == pytest.approx(1 - 0.15 / 0.9)
    assert (await judged(text, "x y\nx y\nz", measures=[measure], shape="adaptive")).score == 1.0
    assert (await judged(text, 1.0, measures=[measure], shape="adaptive")).score == 1.0


@pytest.mark.parametrize("response", ["", " \n", "\u200b\u200b"])
async def test_silence_earns_nothing(response: str) -> None:
    outcome = await judged(response)
    assert (outcome.score, outcome.reason) == (0.0, "no_answer")


async def test_bounds() -> None:
    assert (await judged("x" * 600_001)).reason == "too_expensive"
    assert (await judged("a b " * (MOST_UNITS // 2 + 1))).reason == "too_expensive"


@pytest.mark.parametrize(
    "params",
    [
        {"measures": []},
        {"measures": ["ngrams", "ngrams"]},
        {"measures": ["rhymes"]},
        {"measures": [{"kind": "lines", "n": 3}]},
        {"measures": [{"n": 0}]},
        {"measures": [{"allowed": 0.5, "full": 0.5}]},
        {"measures": [{"weight": 0}]},
        {"measures": [{"wight": 1}]},
        {"max_penalty": 0},
        {"threshold": 0},
        {"unit": "pages"},
    ],
)
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="repetition", params=params))


@pytest.mark.parametrize("reference", [None, True, -0.1, 2, [0.5], float("nan")])
async def test_a_level_that_cannot_be_used_is_not_the_policys_fault(reference: Any) -> None:
    outcome = await judged(PROSE, reference, shape="adaptive")
    assert (outcome.status, outcome.fault) == ("undecided", "reference")


@given(st.text() | st.lists(st.sampled_from(HOSTILE)).map("".join))
def test_no_text_raises_and_every_outcome_is_a_score(text: str) -> None:
    for params in (EVERY, RepetitionParams(unit="characters"), RepetitionParams(combine="mean", same_numbers=True)):
        outcome = repetition(text, params)
        assert outcome.score is not None
        assert 0.0 <= outcome.score <= 1.0


@pytest.mark.parametrize("piece", ["a ", "a b\n", "ab", "猫", "é", "!", "0"])
@pytest.mark.parametrize("unit", ["words", "characters"])
def test_the_work_grows_hardly_faster_than_the_text(piece: str, unit: Any) -> None:
    params = RepetitionParams(measures=EVERY.measures, unit=unit)
    repetition(piece, params)
    counts = [steps(lambda size=size: repetition(piece * size, params)) for size in (100, 400, 1600)]  # type: ignore[misc]
    # Spans are doubled: a factor of the logarithm, 5/4 from one size to the next.
    assert counts[1] <= 5.5 * counts[0] + 1000
    assert counts[2] <= 5.5 * counts[1] + 1000
