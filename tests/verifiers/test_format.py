"""`format`: the form of a response, gated or by the share of constraints met."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.contract import spec_of
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.structure.format import FormatParams, format
from rewarden_verifiers.structure.tags import Tag, scanner
from rewarden_verifiers.structure.templates import TEMPLATES
from tests.verifiers.counting import HOSTILE, steps
from tests.verifiers.direct import outcome_of

PLANNER = Planner(Registry())


async def judged(response: Any, **params: Any) -> Outcome:
    return await outcome_of(PLANNER, Use(name="format", params=params), Sample(response=response))


GOOD = {
    "think_answer": "<think>x</think><answer>y</answer>",
    "think": "<think>x</think> y",
    "think_or_not": "<think></think><answer>y</answer>",
    "reasoning_answer": "<reasoning>x</reasoning>\n<answer>y</answer>",
    "caption_reason_answer": "<caption>c</caption><reason>x</reason><answer>y</answer>",
    "guess_think_answer": "<guess>c</guess><think>x</think><answer>y</answer>",
    "reasoning_observing_decision": "<reasoning>c</reasoning><observing>x</observing><decision>y</decision>",
    "think_class_extension": "<think>c</think><class>x</class><extension>y</extension>",
    "search": "<think>a</think><search>q</search><information></information><think>b</think><answer>y</answer>",
    "thinking_tool_call_response": "<thinking>a</thinking><tool_call>{}</tool_call><tool_call>{}</tool_call>",
    "think_tool_call_response": "<think>a</think><response>y</response>",
    "principle_critique_score": "<principle>a</principle><critique>b</critique><score>7</score>",
}


@pytest.mark.parametrize("name", TEMPLATES)
async def test_every_template_accepts_its_form_and_no_other(name: str) -> None:
    assert (await judged(GOOD[name], template=name)).score == 1.0
    assert (await judged("y", template=name)).score == 0.0
    assert (await judged("y " + GOOD[name], template=name)).score == 0.0
    assert (await judged(GOOD[name] * 2, template=name)).score == 0.0


def test_every_template_has_an_example() -> None:
    assert set(GOOD) == set(TEMPLATES)


@pytest.mark.parametrize(
    ("response", "failed"),
    [
        ("<think>x</think><answer>y</answer>", {}),
        ("<think>x<answer>y</answer>", {"tag:think", "tag:answer", "nesting", "order"}),
        ("<think>x</think><answer>y", {"tag:answer", "nesting"}),
        ("<think>x</think>", {"tag:answer", "nesting", "order"}),
        ("<think>x</think><answer> </answer>", {"tag:answer"}),
        ("<answer>y</answer><think>x</think>", {"order"}),
        ("a<think>x</think><answer>y</answer>", {"outside"}),
        ("<think>x</think>a<answer>y</answer>", {"outside"}),
        ("<think>x</think><answer>y</answer>a", {"outside"}),
        ("<think>x</think></think><answer>y</answer>", {"nesting"}),
        ("<think>x</think><think>x</think><answer>y</answer>", {"tag:think"}),
        ("y", {"tag:think", "tag:answer", "nesting", "order", "outside"}),
    ],
)
async def test_each_fault_fails_its_own_constraints(response: str, failed: set[str]) -> None:
    outcome = await judged(response, template="think_answer", mode="fraction")
    assert set(outcome.evidence.get("failed", {})) == set(failed)
    assert outcome.evidence["constraints"] == 5
    assert outcome.score == pytest.approx(1 - len(failed) / 5)
    assert outcome.passed is (not failed)
    assert ((await judged(response, template="think_answer")).score == 1.0) is (not failed)


@pytest.mark.parametrize(
    ("params", "good", "bad"),
    [
        ({"tags": ["a"], "outside": "allow"}, "x <a>1</a> y", "x y"),
        ({"tags": ["a"], "outside": "after"}, "<a>1</a> y", "<a>1</a>"),
        ({"tags": ["a", "b"], "ordered": False}, "<b>1</b><a>2</a>", "<b>1</b>"),
        ({"tags": [{"name": "a", "min": 2, "max": 3}]}, "<a>1</a><a>1</a>", "<a>1</a>"),
        ({"tags": [{"name": "a", "min": 2, "max": 3}]}, "<a>1</a><a>1</a>", "<a>1</a>" * 4),
        ({"tags": [{"name": "a", "min": 0}, "b"]}, "<b>1</b>", "<a>1</a>"),
        ({"tags": [{"name": "a", "min": 0, "max": None}], "contains": ["x"], "outside": "allow"}, "x", "y"),
        (
            {"tags": [{"name": "a", "text": False, "children": [{"name": "b", "max": 2}]}]},
            "<a><b>1</b> <b>2</b></a>",
            "<a>x<b>1</b></a>",
        ),
        ({"tags": [{"name": "a", "children": [{"name": "b"}]}]}, "<a>x<b>1</b></a>", "<a>x</a><b>1</b>"),
        ({"tags": ["a", "b"], "sequence": "(a b)+"}, "<a>1</a><b>2</b>", "<b>2</b><a>1</a>"),
        (
            {"tags": [{"name": "a", "max": None}, {"name": "a-b", "max": None}], "sequence": "(a a-b)+"},
            "<a>1</a><a-b>2</a-b><a>1</a><a-b>2</a-b>",
            "<a>1</a><a>1</a><a-b>2</a-b>",
        ),
        ({"boxed": 1}, "\\boxed{1}", "\\boxed{1} \\boxed{2}"),
        ({"boxed": {"min": 1}}, "\\boxed{1} \\boxed{2}", "\\boxed{1"),
        ({"tags": ["a"], "boxed": {"min": 1, "within": "a"}}, "<a>\\boxed{1}</a>", "<a>1</a>"),
        ({"patterns": [{"regex": "\\d+", "match": "full"}]}, " 12 ", "12 x"),
        ({"patterns": [{"regex": "\\d+"}]}, "x 12", "x"),
        ({"patterns": [{"regex": "\\d+", "min": 2, "max": 3}]}, "1 2 3", "1 2 3 4"),
        ({"patterns": [{"regex": "\\d+", "min": 2, "max": 3}]}, "1 2 3", "1"),
        ({"patterns": [{"regex": "x", "min": 0, "max": 0}]}, "y", "x"),
        ({"tags": ["a"], "patterns": [{"regex": "\\d", "match": "full", "within": "a"}]}, "<a> 1 </a>", "<a>x</a>"),
        ({"contains": ["Final:"]}, "Final: 1", "final: 1"),
        ({"lacks": ["As an AI"]}, "Yes.", "As an AI, yes."),
        ({"items": {"min": 2, "max": 3}}, "- a\n* b\n1. c\ntext", "- a"),
        ({"items": {"min": 0, "max": 1}}, "-5 is a number", "- a\n- b"),
    ],
)
async def test_each_requirement(params: dict[str, Any], good: str, bad: str) -> None:
    assert (await judged(good, **params)).score == 1.0
    outcome = await judged(bad, **params)
    assert (outcome.score, outcome.reason, outcome.fault) == (0.0, "malformed", "policy")
    assert outcome.feedback


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"template": "none"},
        {"template": "think", "tags": ["a"]},
        {"tags": ["a", "a"]},
        {"tags": ["1a"]},
        {"tags": [{"name": "a", "min": 2}]},
        {"tags": [{"name": "a", "min": -1}]},
        {"tags": [{"name": "a", "open": "["}]},
        {"tags": [{"name": "a", "open": "|", "close": "|"}]},
        {"tags": [{"name": "a", "open": "[", "close": "]"}, {"name": "b", "open": "[", "close": ")"}]},
        {"tags": [{"name": "a", "open": "[", "close": "]"}, {"name": "b", "open": "]", "close": "["}]},
        {"tags": [{"name": "a", "children": [{"name": "b"}]}, {"name": "b", "min": 0}]},
        {"tags": ["a"], "sequence": "a c"},
        {"tags": ["a"], "sequence": "a.*"},
        {"tags": ["a"], "sequence": "(a"},
        {"tags": ["a"], "boxed": {"within": "b"}},
        {"boxed": {"min": 2, "max": 1}},
        {"boxed": {"mni": 1}},
        {"patterns": [{"regex": "("}]},
        {"patterns": [{"regex": "(?=a)"}]},
        {"patterns": [{"regex": "a", "macth": "full"}]},
        {"contains": [""]},
        {"mode": "some"},
    ],
)
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="format", params=params))


def test_it_sees_the_thought_by_default() -> None:
    spec = spec_of(format)
    assert spec is not None
    assert spec.default_view.part == "full"
    assert spec.inline


async def test_an_unclosed_thought_is_a_fault_of_form() -> None:
    assert (await judged("<think>x", template="think")).reason == "malformed"
    assert (await judged("<think>x", template="think", view="final")).reason == "unclosed_thought"


@pytest.mark.parametrize("mode", ["all", "fraction"])
@pytest.mark.parametrize("response", ["", " \n\t"])
async def test_silence_earns_nothing(mode: str, response: str) -> None:
    outcome = await judged(response, lacks=["a", "b", "c"], patterns=[{"regex": "z", "min": 0, "max": 3}], mode=mode)
    assert (outcome.score, outcome.reason) == (0.0, "no_answer")


async def test_no_share_without_any_of_the_tags_that_must_be_there() -> None:
    outcome = await judged("plain", tags=["a"], lacks=["x", "y", "z"], outside="allow", mode="fraction")
    assert outcome.score == 0.0


async def test_halves_of_surrogate_pairs_do_not_break_patterns() -> None:
    assert (await judged("\ud800 12", patterns=[{"regex": "\\d+"}])).score == 1.0


TAGS = ("<think>", "</think>", "<answer>", "</answer>", "x", " ", "<b>", "\\boxed{1}", "- a\n")
EVERYTHING = FormatParams(
    tags=("think", Tag(name="answer", max=None, children=(Tag(name="b", min=0),))),
    boxed=1,
    lacks=("y",),
    mode="fraction",
)


@given(st.text() | st.lists(st.sampled_from([*TAGS, *HOSTILE])).map("".join))
def test_no_text_raises_and_every_outcome_is_a_score(text: str) -> None:
    for params in (FormatParams(template="think_answer"), EVERYTHING):
        outcome = format(text, params)
        assert outcome.score is not None
        assert 0.0 <= outcome.score <= 1.0
        assert (outcome.score == 1.0) is bool(outcome.passed)


@given(st.lists(st.sampled_from(TAGS)).map("".join))
def test_a_share_is_whole_exactly_when_the_gate_opens(text: str) -> None:
    gate = format(text, FormatParams(template="think_answer"))
    share = format(text, FormatParams(template="think_answer", mode="fraction"))
    assert (gate.score == 1.0) is (share.score == 1.0)


@given(st.lists(st.sampled_from(["<a>", "</a>", "<b>", "</b>", "x", " "])).map("".join))
def test_the_scan_finds_every_tag_once(text: str) -> None:
    tree = scanner((Tag(name="a", children=(Tag(name="b"),)),)).scan(text)
    found, waiting = 0, [tree.root]
    while waiting:
        element = waiting.pop()
        assert element.closed or element.name
        found += sum(1 + child.closed for child in element.children)
        waiting += element.children
    unclosed = sum("never closes" in stray for stray in tree.stray)
    assert found + len(tree.stray) - unclosed == sum(text.count(tag) for tag in ("<a>", "</a>", "<b>", "</b>"))


@pytest.mark.parametrize("piece", [*HOSTILE, *TAGS])
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    format(piece, EVERYTHING)
    small = steps(lambda: format(piece * 100, EVERYTHING))
    large = steps(lambda: format(piece * 1000, EVERYTHING))
    assert large <= 11 * small + 1000


def test_the_documentation_names_every_template() -> None:
    assert FormatParams.__doc__ is not None
    assert [name for name in TEMPLATES if f"`{name}`" not in FormatParams.__doc__] == []
