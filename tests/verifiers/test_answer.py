"""`answer`: who judges, and by what that is decided."""

from __future__ import annotations

from typing import Any

import pytest

from rewarden.errors import InvalidParams
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.answer.branches import branch_named, branch_of
from rewarden_verifiers.registry import Registry
from tests.verifiers.direct import outcome_of

PLANNER = Planner(Registry())


async def judged(response: str, reference: Any, params: dict[str, Any] | None = None, **fields: Any) -> Outcome:
    sample = Sample(response=response, reference=reference, **fields)
    return await outcome_of(PLANNER, Use(name="answer", params=params or {}), sample)


@pytest.mark.parametrize(
    ("reference", "branch"),
    [
        ("A", "choice"),
        ("(B)", "choice"),
        ("12", "math"),
        ("-3.5", "math"),
        ("1,234", "math"),
        ("12%", "math"),
        ("$5", "math"),
        ("10:30", "text"),
        (r"\frac12", "math"),
        ("x+1", "math"),
        ("2x", "math"),
        ("x", "math"),
        ("n(n+1)/2", "math"),
        ("(1, 2)", "math"),
        ("[0,1)", "math"),
        ("Paris", "text"),
        ("New York", "text"),
        ("A cat", "text"),
        ("a b", "text"),
        ("C++", "text"),
        ("3 apples", "math"),
        ("70 miles per hour", "math"),
        ("15th Day", "math"),
        ("Rs. 930", "math"),
        ("12 Angry Men", "text"),
        ("100 BC", "text"),
        ("1.5 million", "text"),
        ("y = mx + b", "math"),
        ("-xy", "math"),
        ("2xy", "math"),
        ("n!", "math"),
        ("f'(2)", "math"),
        (r"50\%", "math"),
        ("2 or -2", "math"),
        ("1, -7", "math"),
        ("-2 \u2264 x \u2264 7", "math"),
        ("b, a, d, c", "math"),
        ("All real numbers", "math"),
        ("No solution", "math"),
        ("None", "text"),
        ("x-ray", "text"),
        ("AC/DC", "text"),
        ("MP3", "text"),
        ("HCl + KOH", "text"),
        ("1939-1945", "text"),
        ("10–20", "text"),
        ("555-1234", "text"),
        ("50/50", "text"),
        ("1/2", "math"),
        ("1990s", "text"),
        ("14:30", "text"),
        ("12 a.m.", "time"),
        ("2:30 PM", "time"),
        ("2024/03/05", "time"),
        ("12/25/2020", "time"),
        ("05/03/2024", "text"),
        ("Mar 5, 2024", "time"),
        ("H2O", "text"),
        ("C6H12O6", "text"),
        ("x_1", "math"),
        ("user_name", "text"),
        ("π", "math"),
        ("sin(x)", "math"),
        ("$5 million", "number"),
        ("€5", "number"),
        ("50 mph", "number"),
        ("3.2 km", "number"),
        ("9.8 m/s^2", "number"),
        ("90 minutes", "number"),
        ("25 °C", "number"),
        ("2 h 30 min", "time"),
        ("1 hour and 5 minutes", "time"),
        ({"value": 3.2, "unit": "km"}, "number"),
        ({"any": [1, 2]}, "number"),
        ({"any": ["2024-05-06", "2024-05-07"]}, "time"),
        ("yes", "text"),
        ("", "text"),
        ("2024-05-06", "time"),
        ("2024-05-06T10:00Z", "time"),
        ("5 March 2024", "time"),
        ("May 2020", "time"),
        ("P3D", "time"),
        ("True", "label"),
        ("disproved", "label"),
        (True, "label"),
        (3, "number"),
        (3.5, "number"),
        ([1, 2, 3, 4], "number"),
        ({"low": 1, "high": 2}, "number"),
        ({"a": 0.5, "b": 0.5}, "number"),
        (["Paris", "Lutetia"], "text"),
        (["1", "2"], "math"),
        (["1", "Paris"], "text"),
        ([], "text"),
        ({"bbox": [1, 2, 3, 4]}, "box"),
        ([{"bbox_2d": [1, 2, 3, 4], "label": "cat"}], "box"),
        ({"answer": "B", "options": ["x", "y"]}, "choice"),
        ({"answer": "Paris"}, "text"),
    ],
)
def test_the_branch_of_a_reference_is_told_by_its_form(reference: Any, branch: str) -> None:
    assert branch_of(reference) == branch


@pytest.mark.parametrize(
    ("name", "branch"),
    [("math", "math"), ("MCQ", "choice"), ("multiple-choice", "choice"), ("Free form", "text"), ("riddle", None)],
)
def test_names_that_data_sets_use(name: str, branch: str | None) -> None:
    assert branch_named(name) == branch


async def test_what_is_said_nearest_to_the_answer_decides() -> None:
    params = {"type": "text", "types": {"gsm*": "math"}}
    typed = {"type": "number", "value": 12}
    everything = {"metadata": {"answer_type": "mcq"}, "data_source": "gsm8k"}
    assert (await judged(r"\boxed{12}", typed, params, **everything)).evidence["by"] == "reference"
    assert (await judged("B", "B", params, **everything)).evidence["by"] == "metadata"
    assert (await judged(r"\boxed{12}", "12", params, data_source="gsm8k")).evidence["by"] == "data_source"
    assert (await judged(r"\boxed{12}", "12", params, data_source="nq")).evidence["by"] == "params"
    assert (await judged(r"\boxed{12}", "12")).evidence["by"] == "form"


@pytest.mark.parametrize(
    ("reference", "right", "wrong"),
    [
        ("1939-1945", "1939-1945", "-6"),
        ("H2O", "H_2O", "OH2"),
        ("50/50", "50/50", "1"),
        ("Fe^{2+}", "Fe^{2+}", "Fe^{3+}"),
        ("x^2 is even", "x^2 is even", "zebra"),
        ("test_file.py", "test_file.py", "sort_list"),
        ("True", "yes", "no"),
        ("False", "false", "true"),
        (["5 km", "5000 m"], "5 km", "6 km"),
        (["March 2024", "2024-03"], "March 2024", "April 2024"),
        ({"type": "text", "value": "Paris", "aliases": ["Lutetia"]}, "Lutetia", "Lyon"),
        ({"type": "number", "value": 3, "unit": "km"}, "3000 m", "3 m"),
    ],
)
async def test_references_that_look_like_something_else(reference: Any, right: str, wrong: str) -> None:
    assert (await judged(f"<answer>{right}</answer>", reference)).score == 1.0
    refused = await judged(f"<answer>{wrong}</answer>", reference)
    assert (refused.status, refused.score) == ("scored", 0.0)


@pytest.mark.parametrize(
    ("reference", "right", "wrong"),
    [
        ("y = mx + b", "y = b + mx", "y = mx - b"),
        ("-xy", "-yx", "xy"),
        ("n!", "n!", "n"),
        ("f'(2)", "f'(2)", "f(2)"),
        (r"50\%", "0.5", r"-(50\%)"),
        ("2xy", "2 x y", "2x + y"),
        ("2 or -2", r"\pm 2", "2"),
        ("495 cookies", "495", "496"),
        ("70 miles per hour", "70", "70 km per hour"),
        ("All real numbers", r"\mathbb{R}", r"\mathbb{Z}"),
        ("x<1 or x>2", "x>2 or x<1", "x<1 and x>2"),
        ("3 (mod 7)", r"3 \pmod 7", r"3 \pmod 6"),
        ("2k for all integers k", "2k", "3k"),
        ("|c| < 2 where c is real", "|c|<2", "|c| < 3"),
        ("C++", "C++", "C"),
        ("yes", "Yes.", "-(Yes)"),
        ("HCl + KOH", "HCl + KOH", "HCl KOH"),
    ],
)
async def test_what_carries_a_sign_is_not_compared_without_it(reference: str, right: str, wrong: str) -> None:
    assert (await judged(rf"\boxed{{{right}}}", reference)).score == 1.0
    refused = await judged(rf"\boxed{{{wrong}}}", reference)
    assert (refused.status, refused.score) == ("scored", 0.0)


async def test_a_value_beside_a_letter_whose_options_are_unknown_is_not_wrong() -> None:
    outcome = await judged(r"\boxed{120^\circ}", "B")
    assert (outcome.status, outcome.reason, outcome.fault) == ("undecided", "option_unknown", "reference")
    for own in ("", r"\boxed{C}", r"\boxed{B or C}", r"\boxed{none}", r"\boxed{B12}", r"\boxed{2B}", "It is 120."):
        assert (await judged(own, "B")).score == 0.0
    assert (await judged(r"\boxed{120}", {"answer": "B", "options": ["60", "90"]})).score == 0.0


async def test_the_prompts_options_settle_a_boxed_value() -> None:
    async def asked(response: str) -> Outcome:
        sample = Sample(response=response, reference="B", prompt="How long?\nA. 60 cm\nB. 120 cm\nC. 90 cm")
        return await outcome_of(PLANNER, Use(name="answer"), sample)

    assert (await asked(r"\boxed{120}")).score == 1.0
    assert (await asked(r"\boxed{90 \text{ cm}}")).score == 0.0
    assert (await asked(r"\boxed{7}")).score == 0.0  # no option's value: not a way out


async def test_all_branches_see_what_the_router_sees() -> None:
    thought = r"<think>\boxed{12}</think> \boxed{13}"
    assert (await judged(thought, "12")).score == 0.0
    assert (await judged(thought, "12", {"view": "thinking"})).score == 1.0


async def test_the_outcome_is_the_branchs_own() -> None:
    use = Use(name="math", params={"view": {"part": "full"}})
    sample = Sample(response=r"\boxed{12} or \boxed{13}", reference="12")
    alone = await outcome_of(PLANNER, use, sample)
    routed = await judged(sample.response, "12")  # type: ignore[arg-type]
    assert (routed.reason, routed.flags, routed.extracted) == (alone.reason, alone.flags, alone.extracted)


async def test_a_fallback_that_cannot_tell_leaves_the_verdict_as_it_was() -> None:
    params = {"fallback": {"name": "math"}, "fallback_on": "wrong", "type": "text"}
    outcome = await judged("<answer>Lyon</answer>", "Paris", params)
    assert (outcome.status, outcome.score) == ("scored", 0.0)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"type": "riddle"}, "unknown kind of answer 'riddle'"),
        ({"types": {"*": "riddle"}}, "unknown kind of answer 'riddle'"),
        ({"params": {"riddle": {}}}, "unknown branch 'riddle'"),
        ({"params": {"math": {"view": "full"}}}, "params.math.view"),
        ({"params": {"math": {"extractoin": "lax"}}}, "extractoin"),
        ({"fallback": {"nmae": "math"}}, "params.fallback"),
    ],
)
def test_mistakes_are_named(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParams, match=message):
        PLANNER.bind(Use(name="answer", params=params))


@pytest.mark.parametrize(
    "reference",
    [
        r"\frac{1}{",
        r"\boxed{",
        r"\begin{pmatrix} 1 & 2",
        "x^{2",
        r"\sqrt{",
        "1 + + 2 =",
        r"\undefinedmacro{x}{y}",
        r"\int_0^",
    ],
)
async def test_a_formula_that_cannot_be_read_makes_no_response_wrong(reference: str) -> None:
    outcome = await judged(r"\boxed{7}", reference)
    assert (outcome.status, outcome.reason, outcome.fault) == ("undecided", "unreadable_reference", "reference")
    # The policy's own failures stay its own.
    assert (await judged("I do not know.", reference)).fault == "policy"


@pytest.mark.parametrize("reference", ["Fe^{2+}", "x^2 is even"])
async def test_a_text_that_looks_like_a_formula_is_a_text(reference: str) -> None:
    assert (await judged(rf"\boxed{{{reference}}}", reference)).score == 1.0
    assert (await judged(r"\boxed{7}", reference)).score == 0.0


@pytest.mark.parametrize("sign", [" ", "\n", "\t", "\u2600", "[1]"])
async def test_a_megabyte_of_blanks_amid_a_response_is_read_at_once(sign: str) -> None:
    """A search for signs behind the text tried the rest of them at each: sixteen thousand took ten seconds, and as many
    again four times as long, so that this would never end."""
    outcome = await judged("So it is 5" + sign * 1_000_000 + "x. It is 7.", "7")
    assert (outcome.status, outcome.score) == ("scored", 1.0)
