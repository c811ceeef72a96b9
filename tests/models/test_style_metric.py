"""`style_metric`: a classifier's say, whole or sentence by sentence."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rewarden_verifiers.inference import Facts, Logits
from rewarden_verifiers.models.outputs import shares
from rewarden_verifiers.models.segments import copied, segments_of
from tests.models.conftest import Differences, Judged
from tests.models.scripted import ScriptedModel

FACTS = Facts(model="main", version="1")
RESPONSE = "The soup is warm."


def rule(reply: Any, when: str = RESPONSE) -> dict[str, Any]:
    return {"task": "classify", "when": when, "reply": reply}


async def test_the_cases_hold(differences: Differences) -> None:
    assert await differences("style_metric") == {}


@pytest.mark.parametrize(
    ("values", "multi", "activation", "expected"),
    [
        ([0.0, 0.0], False, "auto", [0.5, 0.5]),
        ([2.0, 2.0], True, "auto", [1 / (1 + math.exp(-2))] * 2),
        ([0.0], False, "auto", [0.5]),
        ([2.0, 2.0], True, "softmax", [0.5, 0.5]),
        ([0.0, 9.0], False, "sigmoid", [0.5, 1 / (1 + math.exp(-9))]),
        ([1e300, -1e300], False, "auto", [1.0, 0.0]),
        ([-1e300, 1e300], True, "auto", [0.0, 1.0]),
        ([-0.5, 0.25, 7.0], False, "none", [0.0, 0.25, 1.0]),
    ],
)
def test_shares_are_what_the_models_labels_mean(
    values: list[float], multi: bool, activation: Any, expected: list[float]
) -> None:
    logits = Logits(values=values, labels=[str(place) for place in range(len(values))], multi=multi, facts=FACTS)
    assert shares(logits, activation) == pytest.approx(expected)


def test_sentences_end_where_a_reader_sees_them_end() -> None:
    text = 'It costs 3.50 pounds. Really?! "Yes." Good…\n- one\n - \n你好。再见！'
    assert segments_of(text, "sentences") == [
        "It costs 3.50 pounds.",
        "Really?!",
        '"Yes."',
        "Good…",
        "- one",
        "你好。",
        "再见！",
    ]
    assert segments_of("a\nb\n\n \n c", "paragraphs") == ["a\nb", "c"]
    assert segments_of("!!! ... \n\n", "lines") == []


def test_a_copy_is_seen_through_case_and_marks() -> None:
    prompt = "Say, in your own words, why the old mill by the river stopped turning."
    assert copied("SAY in your own words why the old mill, by the river, stopped turning", prompt)
    assert copied("words why the old mill by the river stopped", prompt)
    assert not copied("the old mill by the river", prompt)  # an honest answer may quote a phrase
    assert not copied("why the old mill by the riverside stopped turning", prompt)
    assert not copied("", prompt)


async def test_segments_are_steps_and_the_worst_of_each_measure_counts(scripted: ScriptedModel, judged: Judged) -> None:
    scripted.script(rule({"warm": 0.0, "toxic": -2.0}, "First."), rule({"warm": 2.0, "toxic": 0.0}, "Second."))
    measures = {
        "warm": {"label": "warm", "activation": "sigmoid"},
        "safe": {"label": "toxic", "activation": "sigmoid", "better": "lower"},
    }
    verdict = await judged("style_metric", {"measures": measures, "segments": "sentences"}, response="First. Second.")
    high = 1 / (1 + math.exp(-2))
    assert [step["score"] for step in verdict["steps"]] == pytest.approx([(0.5 + high) / 2, (high + 0.5) / 2])
    assert verdict["components"]["warm"]["score"] == verdict["components"]["safe"]["score"] == 0.5
    assert verdict["score"] == 0.5


async def test_measures_of_one_model_ask_it_once(scripted: ScriptedModel, judged: Judged) -> None:
    scripted.script(rule({"warm": 0.0, "dull": 0.0}))
    measures = {name: {"label": name} for name in ("warm", "dull")}
    verdict = await judged("style_metric", {"measures": measures}, response=RESPONSE)
    assert verdict["score"] == 0.5
    assert len(scripted.tasks) <= 2  # the same task twice, which the lane may do once


async def test_the_text_is_given_as_it_stands(scripted: ScriptedModel, judged: Judged) -> None:
    scripted.script(rule([0.0]))
    await judged("style_metric", prompt="How is it?", response=RESPONSE)
    given = scripted.tasks[0][1]["input"]
    assert (given["text"], given.get("pair"), given["candidate"]) == (RESPONSE, None, RESPONSE)


@pytest.mark.parametrize(
    "params",
    [
        {"label": {}},
        {"label": {"a": 0}},
        {"label": {"a": 2}},
        {"measures": {"a": {"label": 0}}, "label": 0},
        {"measures": {"": {"label": 0}}},
        {"measures": {"a": {"label": 0, "weight": 0}}},
        {"most_segments": 0},
        {"threshold": 2},
    ],
)
async def test_parameters_that_make_no_sense_are_the_callers(judged: Judged, params: dict[str, Any]) -> None:
    verdict = await judged("style_metric", params, response=RESPONSE)
    assert (verdict["status"], verdict["fault"], verdict["reason"]) == ("error", "caller", "invalid_params")
