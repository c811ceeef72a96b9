"""Early answers: when most are not read, which extraction would find them is told, once, and nothing else changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rewarden.early_answers import FIRST, EarlyAnswers, Unread
from rewarden.reading import read_by
from rewarden.types import Sample, Use, Verdict, VerifierRef

MATH = Use(name="math", params={"extraction": "strict", "form": None})
FEEDBACK = "The prompt asks for a box."


def verdict(passed: bool, *flags: str, fingerprint: str = "f", feedback: str | None = None) -> Verdict:
    ref = VerifierRef(name="math", version="2", fingerprint=fingerprint)
    return Verdict(status="scored", score=float(passed), passed=passed, flags=flags, verifier=ref, feedback=feedback)


def counted(right: int, unread: int, wrong: int, early: EarlyAnswers | None = None) -> list[Unread | None]:
    early = early or EarlyAnswers()
    given = (
        [verdict(True)] * right + [verdict(False, "no_answer", feedback=FEEDBACK)] * unread + [verdict(False)] * wrong
    )
    sample = Sample(response="#### 4", reference="4", id="a", group="g", group_size=2, data_source="d")
    return [early.add(MATH, sample, one) for one in given if early.watches(one)]


@pytest.mark.parametrize(
    ("right", "unread", "wrong", "told"), [(3, 61, 0, True), (0, 33, 31, True), (32, 32, 0, False)]
)
def test_it_is_told_with_the_last_of_the_first_where_most_are_not_read(
    right: int, unread: int, wrong: int, told: bool
) -> None:
    found = counted(right, unread, wrong)
    assert found[:-1] == [None] * (FIRST - 1)
    last = found[-1]
    assert (last is not None) == told
    if last is not None:
        assert (last.total, last.passed, len(last.samples), last.feedback) == (FIRST, right, unread, FEEDBACK)
        # A sample that is judged again is not a sibling of anybody, and belongs to nobody's figures.
        assert {(one.id, one.group, one.group_size, one.data_source) for one in last.samples} == {(None,) * 4}


def test_a_use_is_told_of_once_and_others_are_watched_beside_it() -> None:
    early = EarlyAnswers()
    assert counted(0, FIRST, 0, early)[-1] is not None
    assert counted(0, FIRST, 0, early) == []
    assert early.watches(verdict(True, fingerprint="other"))
    assert list(early.rest()) == []


def test_what_has_no_score_or_no_verifier_is_not_watched() -> None:
    early = EarlyAnswers()
    assert not early.watches(replace(verdict(False), status="undecided", score=None))
    assert not early.watches(replace(verdict(False), verifier=None))


def test_callers_who_invent_parameters_fill_no_memory() -> None:
    early = EarlyAnswers()
    for number in range(1000):
        one = verdict(False, "no_answer", fingerprint=str(number))
        if early.watches(one):
            early.add(MATH, Sample(response="x"), one)
    assert len(list(early.rest())) == 256


def test_the_rest_of_a_short_run_is_told_at_its_end() -> None:
    early = EarlyAnswers()
    assert counted(1, 9, 0, early) == [None] * 10
    (unread,) = early.rest()
    assert (unread.total, unread.passed) == (10, 1)
    assert list(early.rest()) == []


@pytest.mark.parametrize(
    ("right", "extraction"),
    [
        ({"explicit": 58, "lax": 60}, "explicit"),
        ({"explicit": 10, "lax": 60}, "lax"),
        ({"explicit": 0, "lax": 4}, "lax"),
        ({"explicit": 4, "lax": 4}, "explicit"),
        ({"explicit": 0, "lax": 3}, None),
    ],
)
async def test_the_strictest_extraction_that_finds_the_answers_is_advised(
    right: dict[str, int], extraction: str | None
) -> None:
    asked: list[Use | None] = []

    async def judge(samples: Sequence[Sample]) -> list[Verdict]:
        asked.append(samples[0].use)
        assert samples[0].use is not None
        many = right[samples[0].use.params["extraction"]]
        return [verdict(place < many) for place in range(len(samples))]

    unread = counted(2, 62, 0)[-1]
    assert unread is not None
    advice = await unread.advice(judge)
    assert asked == [Use(name="math", params={"extraction": name, "form": None}) for name in ("explicit", "lax")]
    if extraction is None:
        assert advice is None
    else:
        would = right[extraction] + 2
        assert advice == (
            f"{would} of the first 64 responses would be right with extraction: {extraction}; 2 are now, because math "
            f"reads no answer in 62 of them. {FEEDBACK}"
        )


LAX = {"extraction": "lax"}
READERS = ("math", "choice", "number", "label", "text", "time")


@pytest.mark.parametrize(
    ("use", "read"),
    [
        (Use(name="number", params={"rel_tol": 0.1}), Use(name="number", params={"rel_tol": 0.1, **LAX})),
        (
            Use(name="answer", params={"type": "math", "params": {"math": {"form": None}}}),
            Use(
                name="answer",
                params={"type": "math", "params": {"math": {"form": None, **LAX}, **dict.fromkeys(READERS[1:], LAX)}},
            ),
        ),
        (
            Use(recipe={"uses": {"a": "math", "b": {"name": "text", "params": {"x": 1}}, "c": "length"}, "score": "1"}),
            Use(
                recipe={
                    "uses": {
                        "a": {"name": "math", "params": LAX},
                        "b": {"name": "text", "params": {"x": 1, **LAX}},
                        "c": "length",
                    },
                    "score": "1",
                }
            ),
        ),
        (
            Use(name="answer", params={"fallback": "judge"}),  # nobody is asked unasked
            Use(name="answer", params={"params": dict.fromkeys(READERS, LAX)}),
        ),
        (Use(recipe={"uses": {"c": "length"}, "score": "1"}), None),
        (Use(recipe={"uses": {"a": "math", "b": "judge"}, "score": "1"}), None),
        (Use(recipe={"uses": {"a": "math", "b": {"recipe": {}}}, "score": "1"}), None),
        (Use(recipe={"uses": {"a": "math", "b": 7}, "score": "1"}), None),
        (Use(recipe={"uses": "mended by hand"}), None),
        (Use(name="code"), None),
        (Use(name="a_recipe"), None),
    ],
)
def test_another_extraction_goes_to_all_that_reads_an_answer(use: Use, read: Any) -> None:
    assert read_by(use, "lax") == read
