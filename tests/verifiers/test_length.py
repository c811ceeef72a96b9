"""`length`: what is counted, the curves, and that padding does not pay."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.contract import spec_of
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.structure.length import LengthParams, count, length
from rewarden_verifiers.words import tokens, visible, words
from tests.verifiers.counting import HOSTILE, steps
from tests.verifiers.direct import outcome_of

PLANNER = Planner(Registry())
UNITS: tuple[Any, ...] = ("characters", "words", "sentences", "lines", "paragraphs", "steps", "code_characters")


async def judged(response: Any, sample: dict[str, Any] | None = None, **params: Any) -> Outcome:
    return await outcome_of(PLANNER, Use(name="length", params=params), Sample(response=response, **(sample or {})))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I don't know", ["I", "don't", "know"]),
        ("l’été, 3.14 and 1,000", ["l’été", "3.14", "and", "1,000"]),
        ("'quoted' words'", ["quoted", "words"]),
        ("well-known snake_case", ["well", "known", "snake", "case"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("我爱Python3", ["我", "爱", "Python3"]),
        ("カタカナ", ["カ", "タ", "カ", "ナ"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("العربية لغة", ["العربية", "لغة"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("... !!! 😂", []),
    ],
)
def test_words_of_any_script(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_tokens_are_compared_without_dress() -> None:
    assert tokens("ＡＢＣ Ze\u200bro DON'T") == ["abc", "zero", "don", "t"]
    for unseen in "\u00ad\u034f\u200d\u2060\u3164\ufe0f\ufeff\U000e0041\U000e0100":
        assert tokens(f"wo{unseen}rd") == ["word"]
        assert visible(f"a{unseen}b") == "ab"
    assert visible(" a\u200b  b\n\n") == "a b"


@pytest.mark.parametrize(
    ("unit", "text", "number"),
    [
        ("characters", " naïve  café\n", 10),
        ("characters", "e\u0301", 1),
        ("sentences", "One. Two! Three? Four…", 4),
        ("sentences", "Mr. Smith and Dr. Lee met at 3.30 p.m. on Monday.", 1),
        ("sentences", "It was J. R. R. Tolkien. He wrote it.", 2),
        ("sentences", 'He said "Stop." Then he left.', 2),
        ("sentences", "no end", 1),
        ("sentences", "- one point\n- another point", 2),
        ("sentences", "这是一句。这是第二句！", 2),
        ("lines", "a\r\nb\n\n c", 3),
        ("paragraphs", "a\n\n\nb\n \nc", 3),
        ("steps", "1. do this\n2. do that", 2),
        ("steps", "**Step 1:** add\n### Step 2: divide", 2),
        ("steps", "第一步：相加\n第二步：相除", 2),
        ("steps", "First a paragraph.\n\nThen another one.", 2),
        ("code_characters", "~~~\nab\n~~~\ntext\n```py\ncd", 5),
        ("code_characters", "<svg/>", 6),
    ],
)
def test_what_is_counted(unit: Any, text: str, number: int) -> None:
    assert count(text, unit) == number


CURVES = (
    LengthParams(min=10, max=20),
    LengthParams(min=10),
    LengthParams(max=20, zero_above=25),
    LengthParams(target=15, tolerance=0.2, exponent=2),
    LengthParams(min=10, zero_below=10, max=20, zero_above=20),
    LengthParams(prefer="more", min=5, max=25),
    LengthParams(prefer="fewer", min=5, max=25, exponent=0.5),
)


@pytest.mark.parametrize("params", CURVES, ids=str)
def test_a_curve_rises_to_full_marks_and_falls_after_them(params: LengthParams) -> None:
    scores = [params.score(number) for number in range(80)]
    assert all(0 <= score <= 1 for score in scores)
    low, high = params.full_marks
    for number, (before, after) in enumerate(itertools.pairwise(scores)):
        assert after >= before if number + 1 <= low else True
        assert after <= before if number >= high else True
        assert (before == 1.0) is (low <= number <= high)


def test_the_curves_of_the_papers() -> None:
    long_writer = LengthParams(min=100, max=200, zero_above=400)  # a line at both sides of the range
    assert [long_writer.score(n) for n in (0, 50, 100, 200, 300, 400, 900)] == [0, 0.5, 1, 1, 0.5, 0, 0]
    turning = LengthParams(target=50, zero_above=100, exponent=2)
    assert [turning.score(n) for n in (0, 25, 50, 75, 100)] == [0, 0.75, 1, 0.75, 0]


async def test_silence_earns_nothing_however_short_is_good() -> None:
    for unit in (*UNITS, "tokens"):
        for response in ("", " \n\t "):
            outcome = await judged(response, {"token_count": 0}, unit=unit, max=10)
            assert (outcome.score, outcome.reason) == (0.0, "no_answer")


async def test_tokens_are_the_trainers() -> None:
    assert (await judged("a b c", {"token_count": 12}, unit="tokens", max=12)).score == 1.0
    assert (await judged("a b c", {"token_count": 18}, unit="tokens", max=12)).score == 0.5
    missing = await judged("a b c", unit="tokens", max=12)
    assert (missing.status, missing.fault) == ("error", "caller")


@pytest.mark.parametrize("reference", [None, "", "...", 0, -1, True, [1], float("nan")])
async def test_a_reference_without_length_is_not_the_policys_fault(reference: Any) -> None:
    outcome = await judged("a b", {"reference": reference}, relative=True, max=1)
    assert (outcome.status, outcome.fault) == ("undecided", "reference")
    assert (await judged("a b", {"reference": reference}, max=2)).score == 1.0  # unread unless it is asked for


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"min": 3, "max": 2},
        {"target": 3, "max": 2},
        {"target": 0},
        {"min": -1},
        {"max": float("inf")},
        {"min": 1, "tolerance": 0.1},
        {"min": 1, "exponent": 0},
        {"prefer": "more", "min": 1},
        {"prefer": "more", "min": 2, "max": 2},
        {"prefer": "more", "min": 1, "max": 2, "zero_below": 0},
        {"min": 5, "zero_below": 6},
        {"max": 5, "zero_above": 4},
        {"min": 5, "threshold": 0},
        {"min": 5, "unit": "pages"},
    ],
)
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="length", params=params))


@given(st.text(max_size=60), st.text(alphabet=" \n\t\u200b\u2060\ufeff\u00ad", max_size=60))
def test_what_cannot_be_seen_adds_nothing(text: str, padding: str) -> None:
    for unit in ("characters", "words"):
        assert count(f"{text} {padding}", unit) == count(text, unit)  # type: ignore[arg-type]


@given(st.text() | st.lists(st.sampled_from(HOSTILE)).map("".join))
def test_no_text_raises_and_every_outcome_is_a_score(text: str) -> None:
    for unit in UNITS:
        outcome = length(text, LengthParams(unit=unit, min=3, max=6))
        assert outcome.score is not None
        assert 0.0 <= outcome.score <= 1.0
        assert (outcome.score == 1.0) is bool(outcome.passed)


@pytest.mark.parametrize(
    "piece", ["a ", "a.b. ", "Dr. ", "```\n", "Step 1: ", "1. a\n", "\n \n", "!", "...", "猫", "é", "'a", "1,"]
)
@pytest.mark.parametrize("unit", UNITS)
def test_the_work_grows_no_faster_than_the_text(piece: str, unit: Any) -> None:
    length(piece, LengthParams(unit=unit, min=3))
    counts = [steps(lambda size=size: length(piece * size, LengthParams(unit=unit, min=3))) for size in (50, 200, 800)]  # type: ignore[misc]
    assert counts[1] <= 4.5 * counts[0] + 1000
    assert counts[2] <= 4.5 * counts[1] + 1000


def test_it_is_cheap_enough_for_the_servers_own_thread() -> None:
    spec = spec_of(length)
    assert spec is not None
    assert spec.inline
