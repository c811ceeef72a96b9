"""`temporal`: readings of times, overlap of intervals and of sets, recall at thresholds."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams, InvalidReference, InvalidSample
from rewarden.types import Outcome, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.vision import intervals
from rewarden_verifiers.vision.clock import Time, time_of
from rewarden_verifiers.vision.interval_reader import read_spans
from rewarden_verifiers.vision.temporal import TemporalParams, prepare, temporal
from tests.verifiers.counting import HOSTILE, steps

PLANNER = Planner(Registry())


def judged(response: str, reference: Any, metadata: Any = None, **params: Any) -> Outcome:
    checked = PLANNER.bind(Use(name="temporal", params=params)).params
    return temporal(response, prepare(reference, checked), checked, metadata)


# --- reading -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "time"),
    [
        (3, Time(3.0)),
        ("3.25", Time(3.25)),
        ("3.25s", Time(3.25, "seconds")),
        ("3 seconds", Time(3.0, "seconds")),
        ("2 min", Time(120.0, "seconds")),
        ("1.5 hours", Time(5400.0, "seconds")),
        ("250 ms", Time(0.25, "seconds")),
        ("90 frames", Time(90.0, "frames")),
        ("01:02", Time(62.0, "seconds")),
        ("1:02:03.5", Time(3723.5, "seconds")),
        ("00:01:02,500", Time(62.5, "seconds")),
        ("100:00", Time(6000.0, "seconds")),
        ("0:75", None),
        ("1:60:00", None),
        ("soon", None),
        ("", None),
        (True, None),
        (math.nan, None),
        (10**400, None),
    ],
)
def test_times(text: Any, time: Time | None) -> None:
    assert time_of(text) == time


@pytest.mark.parametrize(
    "text",
    [
        "[63, 68.5]",
        "63, 68.5",
        "63 - 68.5",
        "63s-68.5s",
        "from 63 to 68.5 seconds",
        "between 63 and 68.5 s",
        "from 63 s until 68.5 s",
        "starts at 63 seconds, ends at 68.5 seconds",
        "It starts at 63 and ends at 68.5.",
        "01:03 - 01:08.5",
        "from 1:03 to 1:08.500",
        "00:01:03,000 --> 00:01:08,500",
        "[01:03, 01:08.5]",
        "frames 630 to 685",
        "frame 630 to frame 685",
        '{"start": 63, "end": 68.5}',
        '{"start_time": "1:03", "end_time": "1:08.5"}',
        '{"from": "63s", "to": "68.5s"}',
        '{"timestamps": [63, 68.5]}',
        '{"time": "63 - 68.5"}',
        "<time>63 68.5</time>",
        "<interval>[63, 68.5]</interval>",
        "```json\n[[63, 68.5]]\n```",
        "{'interval': (63, 68.5)}",
    ],
)
def test_every_usual_spelling_is_read(text: str) -> None:
    outcome = judged(text, [63, 68.5], fps=10)
    assert (outcome.score, outcome.extracted) == (1.0, [63.0, 68.5])


@pytest.mark.parametrize("reference", [[63, 68], "01:03 - 01:08", {"start": "1:03", "end": 68}, {"interval": [63, 68]}])
def test_one_interval_asked_for(reference: Any) -> None:
    assert prepare(reference, TemporalParams()).single
    assert judged("63 to 68", reference).score == 1.0


@pytest.mark.parametrize(
    "reference", [[[63, 68]], {"intervals": [[63, 68]]}, [{"start": 63, "end": 68}], ["1:03-1:08"]]
)
def test_a_list_asked_for(reference: Any) -> None:
    if reference != ["1:03-1:08"]:
        assert not prepare(reference, TemporalParams()).single
    assert judged("[[63, 68]]", reference).score == 1.0


@pytest.mark.parametrize(("which", "score"), [("all", 0.0), ("first", 1.0), ("last", 0.0)])
def test_which_of_several_counts(which: str, score: float) -> None:
    assert judged("First 3 to 8 s, then 20 to 30 s.", [3, 8], which=which).score == score


def test_frames_take_a_frame_rate() -> None:
    options: dict[str, Any] = {"unit": "frames"}
    assert judged("[90, 240]", [90, 240], {"fps": 30}, **options).score == 1.0
    assert judged("3 s to 8 s", [90, 240], {"fps": 30}, **options).score == 1.0
    assert judged("[90, 240]", {"interval": [90, 240], "fps": 30}, **options).score == 1.0
    with pytest.raises(InvalidSample, match="fps"):
        judged("[90, 240]", [90, 240], **options)
    assert judged("frames 90 to 240", [3, 8]).reason == "malformed"


# --- overlap -------------------------------------------------------------------------------------------------------

ends = st.integers(0, 40).map(lambda value: value / 4)
spans = st.tuples(ends, ends).map(lambda pair: (min(pair), max(pair) + 0.25))


def cells(found: list[tuple[float, float]]) -> set[int]:
    return {cell for start, end in found for cell in range(round(start * 4), round(end * 4))}


@given(st.lists(spans, min_size=1, max_size=6), st.lists(spans, min_size=1, max_size=6))
def test_unions_are_counted_cell_by_cell(a: list[tuple[float, float]], b: list[tuple[float, float]]) -> None:
    ours, theirs = cells(a), cells(b)
    expected = len(ours & theirs) / len(ours | theirs)
    assert intervals.union_iou(a, b) == pytest.approx(expected)
    assert intervals.union_iou(b, a) == pytest.approx(expected)
    assert intervals.union_iou(a * 3, b) == pytest.approx(expected)


@given(spans, spans)
def test_overlap_of_two(a: tuple[float, float], b: tuple[float, float]) -> None:
    assert intervals.iou(a, b) == intervals.iou(b, a) == pytest.approx(intervals.union_iou([a], [b]))
    assert intervals.iou(a, a) == 1.0
    assert judged(json.dumps(a), list(b)).score == pytest.approx(intervals.iou(a, b))


def test_intervals_are_matched_for_the_greatest_sum() -> None:
    rng = random.Random(9)

    def some() -> list[tuple[float, float]]:
        starts = [rng.randrange(12) for _ in range(rng.randint(1, 5))]
        return [(float(start), float(start + rng.randint(1, 8))) for start in starts]

    for _ in range(50):
        ours, theirs = some(), some()
        table = [[intervals.iou(a, b) for b in theirs] for a in ours]
        if len(ours) > len(theirs):
            table = [list(row) for row in zip(*table, strict=True)]
        best = max(
            sum(table[row][column] for row, column in enumerate(one))
            for one in itertools.permutations(range(len(table[0])), len(table))
        )
        outcome = judged(json.dumps(ours), [list(one) for one in theirs], aggregate="mean")
        assert outcome.score == pytest.approx(best / max(len(ours), len(theirs)), abs=1e-6)


@pytest.mark.parametrize(("aggregate", "score"), [("mean", 0.4), ("precision", 0.4), ("recall", 0.5), ("f", 4 / 9)])
def test_aggregates(aggregate: str, score: float) -> None:
    theirs = [[100 * place, 100 * place + 10] for place in range(4)]
    ours = [*theirs[:2], [50, 60], [550, 560], [950, 960]]
    assert judged(json.dumps(ours), theirs, aggregate=aggregate).score == pytest.approx(score)


@pytest.mark.parametrize(("end", "score"), [(10, 1.0), (6.9, 2 / 3), (5, 2 / 3), (4.9, 1 / 3), (2.9, 0.0)])
def test_recall_at_thresholds(end: float, score: float) -> None:
    outcome = judged(json.dumps([0, end]), [0, 10], thresholds=[0.3, 0.5, 0.7])
    assert outcome.score == pytest.approx(score)


def test_the_video_bounds_intervals() -> None:
    reference = {"interval": [90, 120], "duration": 120}
    assert judged("[90, 500]", reference).score == 1.0
    assert judged("[90, 500]", reference, clamp=False).score == pytest.approx(30 / 410)
    assert judged("[130, 140]", reference).reason == "malformed"
    assert judged("[90, 500]", [90, 120], {"duration": 120}).score == 1.0
    assert judged("[-10, 20]", [0, 20]).score == 1.0


def test_the_whole_video_is_known_where_its_duration_is() -> None:
    assert judged("[0, 100]", [0, 80], duration=100).reason == "whole_video"
    assert judged("[0, 100]", [0, 80], duration=100, whole_video="keep").score == pytest.approx(0.8)
    assert judged("[0, 100]", [0, 80]).score == pytest.approx(0.8)
    assert judged("[[0, 100], [3, 8]]", [[3, 8], [20, 30]], duration=100).score == pytest.approx(1 / 6)


# --- what never pays -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aggregate", ["union", "mean", "precision", "recall", "f"])
@pytest.mark.parametrize(
    "response", ["", "I do not know.", "[]", "{}", "[[]]", "[5, 5]", "[8, 3]", "[NaN, 3]", "[1, 2, 3]", "soon"]
)
def test_nothing_and_junk_earn_nothing(aggregate: str, response: str) -> None:
    outcome = judged(response, [[3, 8], [20, 30]], aggregate=aggregate)
    assert (outcome.score, outcome.fault) == (0.0, "policy")


@given(st.integers(2, 30))
def test_copies_never_pay(copies: int) -> None:
    theirs = [[3, 8], [20, 30]]
    for aggregate in ("mean", "f", "precision"):
        assert judged(json.dumps(theirs * copies), theirs, aggregate=aggregate).score < 1.0
    assert judged(json.dumps([[3, 8]] * copies), theirs).score == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "params",
    [
        {"unit": "minutes"},
        {"fps": 0},
        {"duration": -1},
        {"thresholds": [0]},
        {"thresholds": [0.5, 0.3]},
        {"thresholds": [1.1]},
        {"beta": 0},
        {"limit": 0},
        {"empty_score": 2},
        {"pass_score": 0},
        {"aggregate": "map"},
        {"extraction": []},
    ],
)
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="temporal", params=params))


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "soon",
        {},
        [1],
        [1, 2, 3],
        [8, 3],
        [3, 3],
        [math.nan, 3],
        {"start": 3},
        [[3, 8], [9]],
        {"interval": [3, 8], "fps": -1},
    ],
)
def test_bad_references_are_told(reference: Any) -> None:
    with pytest.raises(InvalidReference):
        prepare(reference, TemporalParams())


# --- robustness ----------------------------------------------------------------------------------------------------

PIECES = [
    *HOSTILE,
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "[1,2],",
    "1 to 2 ",
    "00:01 - 00:02 ",
    "1:",
    "frames ",
    "frames 1 to 2 ",
    "3 s, ",
    "3 s and ends at ",
    "<time>",
    "</time>",
    "<time>1 2</time>",
    '{"start": ',
    '{"start": 1, "end": 2},',
    "-1-",
    "1 - ",
    "to ",
    "```",
    "nan",
    "9" * 30,
    "1.",
    "'",
    '"',
]
KINDS: list[tuple[Any, dict[str, Any]]] = [
    ([3, 8], {}),
    ([[3, 8], [20, 30]], {"aggregate": "f", "thresholds": [0.5], "duration": 100}),
    ({"intervals": [[3, 8]], "fps": 30}, {"unit": "frames", "aggregate": "mean"}),
    ([], {}),
]
CHECKED = [PLANNER.bind(Use(name="temporal", params=params)).params for _, params in KINDS]
PREPARED = [prepare(reference, checked) for (reference, _), checked in zip(KINDS, CHECKED, strict=True)]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_no_text_raises_and_every_outcome_is_a_finite_score(text: str) -> None:
    for gold, checked in zip(PREPARED, CHECKED, strict=True):
        outcome = temporal(text, gold, checked)
        assert outcome.score is not None
        assert 0.0 <= outcome.score <= 1.0
        json.dumps([outcome.extracted, dict(outcome.evidence)], allow_nan=False)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.sampled_from(["1:03", "3s", "1 to 2", "5 frames"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["start", "end", "interval", "fps", "duration", "time"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(json_values)
def test_no_json_raises(value: Any) -> None:
    text = json.dumps(value)
    for gold, checked in zip(PREPARED, CHECKED, strict=True):
        outcome = temporal(text, gold, checked)
        assert outcome.score is not None
        json.dumps([outcome.extracted, dict(outcome.evidence)], allow_nan=False)


@given(json_values)
def test_no_reference_raises_anything_but_that_it_is_bad(value: Any) -> None:
    if isinstance(value, (str, list, dict)):
        for checked in CHECKED:
            with contextlib.suppress(InvalidReference, InvalidSample):
                temporal("[1, 2]", prepare(value, checked), checked)


@pytest.mark.parametrize("piece", PIECES)
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    def work(times: int) -> int:
        return steps(lambda: read_spans((piece * times)[:19_000]))

    work(3)
    small, middle, large = (work(max(1, size // len(piece))) for size in (300, 1500, 7500))
    assert middle <= 6 * small + 2000
    assert large <= 5.5 * middle + 2000


def test_an_answer_too_long_to_be_read_is_scored() -> None:
    outcome = judged("3 to 8 seconds. " * 2000, [3, 8])
    assert (outcome.score, outcome.reason) == (0.0, "too_expensive")
