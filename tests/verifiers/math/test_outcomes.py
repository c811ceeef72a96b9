"""The reason why an answer earned nothing, and the party at fault."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from rewarden.errors import MissingDependency
from rewarden.types import Outcome
from rewarden_verifiers.answer.math import verifier
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


@pytest.mark.parametrize(
    "reference",
    [
        r"\iiint \frac{", "3 +", "5 /", "(1,2", "[1, 2", r"\{1,2", "2 * (3", "1..2", "12 13", "7 maybe", "maybe 7",
        "12 or maybe 13", "12 (or 13)", "NaN", "The two circles touch each other in one point.",
        r"\int_0^1", r"\int x\,dx",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "answer", ["7", "3", r"\text{a circle}", "7^{7^{7^{7}}}", "?", "!", "", "1,2", r"7} or \boxed{8", "x" * 3000]
)
def test_an_unreadable_reference_is_not_the_policys_fault(reference: str, answer: str) -> None:
    if answer:
        assert ended(judge(reference, answer)) == ("undecided", None, "unreadable_reference", "reference")
    assert equal(reference, reference) or "{" in reference


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        (r"20 \cos \left(\frac{\pi}{6}\right) 200=3464.1", r"20\cos(\dfrac{\pi}{6})200=3464.1"),
        (r"The domain is \left( \frac{3}{4},\, 1 \right)", r"The domain is (\tfrac{3}{4}, 1)"),
    ],
)
def test_an_unreadable_reference_is_met_however_its_latex_is_set(reference: str, answer: str) -> None:
    assert judge(reference, answer).score == 1.0
    assert judge(reference, answer.replace("4", "5")).status == "undecided"
    assert judge(reference, answer.replace("1", "1 1")).status == "undecided"


def test_without_sympy_an_integral_as_reference_tells_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    verifier.warm()
    verifier.preload()
    for reference in (r"\int_0^1 x\,dx", ["1", r"\lim_{x\to0} \frac{\sin x}{x}"]):
        with pytest.raises(MissingDependency, match=r"'sympy': pip install 'rewarden-server\[sympy\]'$"):
            judge(reference, "1")
    # What only the answer has never asks for it: no response can make its verdict an error.
    assert ended(judge("1", r"\int_0^1 x\,dx")) == ("scored", 0.0, "unparseable_answer", "policy")
    # `\frac{d` may begin a derivative, and begins none here.
    assert equal(r"\frac{d}{2}", "d/2")
    assert equal(r"\frac12", "0.5")


def test_an_integral_that_diverges_has_no_value() -> None:
    assert judge(r"\int_0^{\infty} \sin x\,dx", "1").reason == "unreadable_reference"


@pytest.mark.parametrize(
    "reference", ["odd", "First player", "Class 3", "N/A", "non-positive number", "£33", "12 or 13"]
)
def test_a_short_name_or_price_is_a_reference_like_any_other(reference: str) -> None:
    assert equal(reference, reference)
    for answer in ("7", r"\text{even}", "Class 4", "?", "£34", "7^{7^{7^{7}}}"):
        assert ended(judge(reference, answer))[:2] == ("scored", 0.0)


@pytest.mark.parametrize(
    ("reference", "right", "wrong"),
    [
        (
            r"\int_0^1 x\,dx",
            [r"\frac12", "0.5", "I = 0.50", r"\frac{2!}{4}", r"\int_0^1 t\,dt"],
            [r"\frac13", "0.51", "x"],
        ),
        (r"\int_0^{10} x^6\,dx", [r"\frac{10^7}{7}", "1428571.43", "1428571.428571"], ["1428600", "1428571^2"]),
        (r"\int_{-1}^1 x\,dx", ["0", "0.0", "1-1"], ["1", "10^{-9}"]),
        (r"\int_0^4 x\,dx", ["8", "8.0", "2^3", r"8 \text{ square units}"], ["8.0000001", "9"]),
        (r"\lim_{x\to0} \frac{\sin x}{x}", ["1", "x = 1"], ["0", r"\infty"]),
        (
            r"\frac{d}{dx} x^2",
            ["2x", "y = 2x", "f'(x) = 2x", r"\frac{d}{dx} x^2 = 2x"],
            ["3x", "2y", "5 = 2x", "x = 3x"],
        ),
    ],
)
def test_a_reference_that_only_a_larger_parser_knows(reference: str, right: list[str], wrong: list[str]) -> None:
    for answer in right:
        assert equal(reference, answer), answer
        assert judge_text(reference, rf"\boxed{{{answer}}} and \boxed{{{answer}}}").score == 1.0
    for answer in wrong:
        assert not equal(reference, answer), answer


@pytest.mark.parametrize("reference", [r"\int_0^1 x^2\,dx", r"\lim_{x\to0} \frac{\sin x}{x}", r"\frac{d}{dx} x^2"])
@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (r"\boxed{5} or \boxed{6}", "hedged"),
        (r"\boxed{\frac13} or \boxed{1} or \boxed{2x}", "hedged"),
        (r"\boxed{7^{7^{7^{7}}}}", None),
        (r"\boxed{\text{no idea}!}", None),
        (r"\boxed{\frac{}{}}", None),
        (r"\boxed{\int_0^1}", None),
        (r"\boxed{5!^{2^{3^{4}}}}", None),
        (r"\boxed{\sum_{n=1}^{10^9} n!}", None),
        (r"\boxed{" + "9" * 400 + "}", None),
        (r"\boxed{" + "(" * 400 + ")" * 400 + "}", None),
    ],
)
def test_no_answer_unscores_itself_where_the_reference_is_read(
    reference: str, response: str, reason: str | None
) -> None:
    outcome = judge_text(reference, response)
    assert (outcome.status, outcome.score, outcome.fault) == ("scored", 0.0, "policy")
    assert reason in (None, outcome.reason)


def test_any_of_several_references() -> None:
    assert equal(["1", "2"], "2")
    assert equal({"any_of": ["1", 2]}, "2")
    assert not equal(["1", "2"], "3")
    assert not equal(["1", "2"], "1,2")


def test_a_text_that_is_a_list_of_texts_gives_several_references() -> None:
    assert equal('["34"]', "34")
    assert equal(r'["\\frac{1}{2}", "0.5"]', "1/2")
    assert not equal('["34"]', "35")
    assert equal("[1, 2]", "[1, 2]")
    assert not equal("[1, 2]", "1")
    assert judge('["34", 5]', "5").reason == "unreadable_reference"


def test_a_reference_may_be_a_number_or_a_worked_solution() -> None:
    assert equal(0.5, r"\frac12")
    assert equal(3.0, "3")
    assert equal(1e-7, r"10^{-7}")
    assert equal(r"We add and get \boxed{7}.", "7")
    assert equal("3 + 4 = 7\n#### 7", "7")
    assert equal("The answer is $7$.", "7")


def test_the_letter_of_a_point_only_names_it() -> None:
    assert equal("P(1,2)", "P(1,2)")
    assert equal("P(1,2)", "(1,2)")
    assert equal("(1,2)", "A(1,2)")
    for answer in ("P(2,1)", "(1,3)", "5", "2:1"):
        assert not equal("P(1,2)", answer)
    assert not equal("(1,2)", "t(1,2)")


def test_the_rule_that_fired_and_the_method_are_evidence() -> None:
    outcome = judge(r"\sqrt8", r"2\sqrt2")
    assert outcome.extracted == r"2\sqrt2"
    assert dict(outcome.evidence) == {"rule": "boxed", "method": "identity", "reference": 0}


def test_a_value_in_another_base_is_flagged() -> None:
    assert judge("36", "40_9").flags == ("other_base",)
    assert judge("36", "40_9").score == 1.0
    assert judge("36", "36").flags == ()


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
        ("as_written", r"\frac23", r"\dfrac23", r"\frac{4}{6}"),
        ("as_written", "(x-1)(x+1)", r"\left(x-1\right) (x+1)", "x^2-1"),
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
