"""Extraction: which part of a response is its answer."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams
from rewarden_verifiers.extraction import MAX_ANSWER, MAX_TEXTS, PRESETS, boxes, extract, lowered
from tests.verifiers.counting import HOSTILE, steps


def texts(response: str, extraction: Any = "lax") -> tuple[str, ...] | None:
    found = extract(response, extraction)
    return None if found is None else found.texts


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        (r"\boxed{42}", "42"),
        (r"$\boxed{\frac{1}{2}}$.", r"\frac{1}{2}"),
        (r"\boxed {x}", "x"),
        (r"\fbox{7}", "7"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\boxed{3}}", r"\boxed{3}"),
        (r"\boxed 7", "7"),
        (r"\boxed7.", "7"),
        (r"\boxed{a} text far away " + "x" * 90 + r"\boxed{b}", "b"),
        (r"\boxed{ \boxed{3}", "3"),
        (r"{ \boxed{3}", "3"),
        (r"} \boxed{3}", "3"),
        (r"\boxed\text{B}", r"\text{B}"),
    ],
)
def test_boxes_are_read(response: str, answer: str) -> None:
    assert texts(response, "boxed") == (answer,)


@pytest.mark.parametrize(
    "response", ["", r"\boxed{", r"\boxed{}", r"\boxed{ }", r"put it in \boxed format", r"\boxedfoo{3}"]
)
def test_what_is_no_box(response: str) -> None:
    assert texts(response, "boxed") is None


def test_a_box_that_was_cut_is_not_stripped_to_look_whole() -> None:
    """Else a second answer behind many blanks would be gone."""
    (text,) = texts(f"\\boxed{{12{' ' * MAX_ANSWER}or 13}}", "boxed") or ()
    assert len(text) > MAX_ANSWER


def test_of_a_longer_box_one_character_more_is_given_than_is_looked_at() -> None:
    assert texts(f"\\boxed{{{'1' * MAX_ANSWER}}}", "boxed") is not None
    assert texts(f"\\boxed{{{'1' * (MAX_ANSWER + 9)}}}", "boxed") == ("1" * (MAX_ANSWER + 1),)


@pytest.mark.parametrize(
    ("response", "answers"),
    [
        (r"\boxed{12} or \boxed{13}", ("12", "13")),
        (r"\boxed{12}, \boxed{12}", ("12", "12")),
        (r"\boxed{12}. Wait, no: \boxed{13}", ("13",)),
        (r"\boxed{12}, therefore \boxed{13}", ("13",)),
        ("<answer>A</answer> <answer>B</answer>", ("A", "B")),
        ("<answer>A</answer> Actually, <answer>B</answer>", ("B",)),
    ],
)
def test_answers_that_stand_together_hedge_unless_one_was_taken_back(response: str, answers: tuple[str, ...]) -> None:
    assert texts(response) == answers


def test_no_more_answers_of_a_cluster_are_read_than_the_bound() -> None:
    assert texts(r"\boxed{1} " * 1000) == ("1",) * MAX_TEXTS


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("<answer>42</answer>", "42"),
        ("<ANSWER> 42\n</Answer>", "42"),
        ("<answer>draft <answer>42</answer>", "42"),
        ("İ<answer>42</answer>", "42"),
    ],
)
def test_answer_tags_are_read(response: str, answer: str) -> None:
    assert texts(response, "strict") == (answer,)


@pytest.mark.parametrize("response", ["<answer>42", "<answer></answer>", "</answer>42", "<answer>1</answer><answer>2"])
def test_what_is_no_answer_tag(response: str) -> None:
    assert texts(response, "strict") is None


@pytest.mark.parametrize(
    ("response", "answer", "rule"),
    [
        ("Work.\n#### 1,234", "1,234", "hash"),
        ("#### 12\n\nQuestion: what else?", "12", "hash"),
        ("#### Step 4\nThe answer is 5.", "5", "phrase"),
        ("The answer is 42.", "42", "phrase"),
        ("The answer is 3.5. It is small.", "3.5", "phrase"),
        ("Answer: x = 5, because it is.", "x = 5", "phrase"),
        ("**Final Answer:** $\\frac{1}{2}$", "\\frac{1}{2}", "heading"),
        ("**Answer**: **B**", "B", "heading"),
        ("The correct option is C", "C", "phrase"),
        ("The final answer is\n\n 42", "42", "phrase"),
        ("The answer is 1. No, the answer is 2.", "2", "phrase"),
        ("The answer is 1. The answer is not 2.", "1", "phrase"),
        ("The answer must be 7.", "7", "phrase"),
        ("答案是：42。", "42", "phrase"),
        ("so it costs $1,200 in all", "1,200", "last_number"),
        ("between 2010-2020", "2020", "last_number"),
        ("x = -5", "-5", "last_number"),
        (".5", ".5", "last_number"),
        ("1e5 or so", "1e5", "last_number"),
    ],
)
def test_lax_rules(response: str, answer: str, rule: str) -> None:
    found = extract(response, "lax")
    assert found is not None
    assert (found.texts, found.rule) == ((answer,), rule)


@pytest.mark.parametrize("response", ["", "   ", "no idea", "an answer to this", "the answer isn't clear", "Answer:"])
def test_nothing_is_made_up(response: str) -> None:
    assert texts(response) is None


def test_rules_come_in_the_order_given() -> None:
    response = "\\boxed{1} The answer is 2. <out>3</out> [4]"
    assert texts(response, ["boxed", "phrase"]) == ("1",)
    assert texts(response, ["phrase", "boxed"]) == ("2",)
    assert texts(response, [{"tag": "out"}]) == ("3",)
    assert texts(response, [{"tag": "none"}, {"regex": r"\[(\d)\]"}]) == ("4",)
    assert texts(response, [{"regex": r"\d"}]) == ("4",)
    assert texts("a\nb \n", "last_line") == ("b",)
    assert texts(" a b ", "whole") == ("a b",)


@pytest.mark.parametrize(
    "extraction", ["stric", [], ["boxd"], [{"regex": "("}], [{"regex": r"(a)\1"}], [{"tag": ""}], [{"tag": 1}], 5]
)
def test_a_wrong_extraction_is_told(extraction: Any) -> None:
    with pytest.raises(InvalidParams, match="extraction"):
        extract("x", extraction)


TEXTS = st.text() | st.lists(st.sampled_from([*HOSTILE, "B", "42", ".", "\n", "}"])).map("".join)


@given(TEXTS, st.sampled_from([*PRESETS, (("regex", r"(\w+)"),)]))
def test_no_text_raises_and_an_answer_is_part_of_the_text(text: str, extraction: Any) -> None:
    if isinstance(extraction, tuple):
        extraction = [dict(extraction)]
    found = extract(text, extraction)
    if found is not None:
        start, end = found.span
        assert 0 <= start < end <= len(text)
        assert all(answer and len(answer) <= MAX_ANSWER for answer in found.texts)
        if found.rule != "regex":  # which sees question marks for halves of surrogate pairs
            assert all(answer in text[start:end] for answer in found.texts)


@given(TEXTS)
def test_boxes_are_outermost_and_in_order(text: str) -> None:
    found = boxes(text)
    assert all(first[1] <= second[0] for first, second in pairwise(found))


@given(st.text())
def test_lowering_keeps_places(text: str) -> None:
    assert len(lowered(text)) == len(text)


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    small, large = steps(lambda: extract(piece * 200, "lax")), steps(lambda: extract(piece * 2000, "lax"))
    assert large <= 11 * small + 1000


@pytest.mark.parametrize("piece", HOSTILE)
def test_long_hostile_texts_come_to_an_end(piece: str) -> None:
    extract(piece * 50_000, "lax")  # a quadratic scan of up to a megabyte would not
