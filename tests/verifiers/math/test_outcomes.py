"""The reason why an answer earned nothing, and the party at fault."""

from __future__ import annotations

from typing import Any

import pytest

from rewarden.types import Outcome
from tests.verifiers.math.judging import equal, judge, judge_text


def ended(outcome: Outcome) -> tuple[Any, ...]:
    return outcome.status, outcome.score, outcome.reason, outcome.fault


@pytest.mark.parametrize(
    "answer",
    [
        r"12 \text{ or } 13",
        "12, 13",
        r"\{12, 13\}",
        r"x=12 \text{ or } x=13",
        r"\pm 12",
        "x = 13 = 12",
        r"12 \text{ and } 13",
    ],
)
def test_several_values_for_one_are_a_hedge(answer: str) -> None:
    outcome = judge("12", answer)
    assert ended(outcome) == ("scored", 0.0, "hedged", "policy")
    assert "hedged" in outcome.flags


@pytest.mark.parametrize(
    "answer", [r"12 \text{ maybe } 13", r"12 \text{ but possibly thirteen}", r"12 \text{ if even else } 13", "12 (13)"]
)
def test_a_second_answer_in_words_earns_nothing(answer: str) -> None:
    assert judge("12", answer).score == 0.0


def test_two_boxes_hedge_unless_they_agree_or_the_reference_has_two_values() -> None:
    both = r"So \boxed{2} and \boxed{3}."
    assert judge_text("2", both).reason == "hedged"
    assert judge_text("2,3", both).score == 1.0
    assert judge_text("2", r"So \boxed{2}, \boxed{\frac42}.").score == 1.0


def test_no_answer_is_the_policys() -> None:
    assert ended(judge_text("12", "I do not know.")) == ("scored", 0.0, "no_answer", "policy")


@pytest.mark.parametrize("answer", ["__import__('os').system('true')", "(lambda: 1)()", r"\text{a circle}", "?", "%%%"])
def test_what_is_no_mathematics_earns_nothing(answer: str) -> None:
    assert ended(judge("7", answer)) == ("scored", 0.0, "unparseable_answer", "policy")


@pytest.mark.parametrize("reference", ["", "  ", "$$", [], {"any_of": []}])
def test_an_empty_reference_is_not_the_policys_fault(reference: Any) -> None:
    assert ended(judge(reference, "7")) == ("undecided", None, "empty_reference", "reference")


def test_a_reference_beyond_all_bounds_is_not_the_policys_fault() -> None:
    tower = "10^{10^{10^{10}}}"
    assert ended(judge(tower, "7")) == ("undecided", None, "reference_too_expensive", "reference")
    assert equal(tower, f"${tower}$")


def test_an_unreadable_reference_is_not_the_policys_fault() -> None:
    assert ended(judge(r"\iiint \frac{", "7")) == ("undecided", None, "unreadable_reference", "reference")


def test_a_reference_that_only_a_larger_parser_knows() -> None:
    assert equal(r"\int_0^1 x\,dx", r"\frac12")
    assert not equal(r"\int_0^1 x\,dx", r"\frac13")


def test_any_of_several_references() -> None:
    assert equal(["1", "2"], "2")
    assert equal({"any_of": ["1", 2]}, "2")
    assert not equal(["1", "2"], "3")
    assert not equal(["1", "2"], "1,2")


def test_a_reference_may_be_a_number_or_a_worked_solution() -> None:
    assert equal(0.5, r"\frac12")
    assert equal(3.0, "3")
    assert equal(1e-7, r"10^{-7}")
    assert equal(r"We add and get \boxed{7}.", "7")
    assert equal("3 + 4 = 7\n#### 7", "7")
    assert equal("The answer is $7$.", "7")


def test_the_rule_that_fired_and_the_method_are_evidence() -> None:
    outcome = judge(r"\sqrt8", r"2\sqrt2")
    assert outcome.extracted == r"2\sqrt2"
    assert dict(outcome.evidence) == {"rule": "boxed", "method": "identity", "reference": 0}


def test_units_as_asked() -> None:
    assert equal(r"5\text{ m}", "5")
    assert not equal(r"5\text{ m}", "5", units="require")
    assert equal(r"5\text{ m}", r"5\text{ cm}", units="ignore")


def test_strictness() -> None:
    for reference, answer in [("50", r"50\%"), (r"90^\circ", "90"), ("1,2", "(1,2)"), ("12_5", "12")]:
        assert equal(reference, answer)
        assert not equal(reference, answer, strict=True)


def test_symmetry_as_asked() -> None:
    assert not equal("2x-1", "y+1=2x")
    assert equal("2x-1", "y+1=2x", symmetric=True)


@pytest.mark.parametrize(
    ("form", "reference", "good", "echo"),
    [
        ("simplified", r"4\sqrt3", r"4\sqrt{3}", r"\sqrt{48}"),
        ("simplified", "x+1", "1+x", r"\frac{x^2-1}{x-1}"),
        ("simplified", "5x", "5x", "2x+3x"),
        ("simplified", r"\frac23", r"\frac{2}{3}", r"\frac{4}{6}"),
        ("lowest_terms", r"\frac23", r"\frac{2}{3}", r"\frac{10}{15}"),
        ("factored", "(x-1)(x+1)", "(x+1)(x-1)", "x^2-1"),
        ("factored", "(x-1)^2(x+1)", "(x+1)(x-1)^2", "(x^2-1)(x-1)"),
        ("expanded", "x^2-1", "-1+x^2", "(x-1)(x+1)"),
    ],
)
def test_form_as_asked(form: str, reference: str, good: str, echo: str) -> None:
    assert equal(reference, good, form=form)
    assert equal(reference, echo)
    assert judge(reference, echo, form=form).reason == "wrong_form"


@pytest.mark.parametrize("bad", [{"rel_tol": -1.0}, {"rel_tol": 2.0}, {"significant_digits": -1}])
def test_senseless_parameters_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must lie between"):
        judge("1", "1", **bad)
