"""`critic`: steps, spans, verdicts and traces."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.types import Step
from rewarden_server.engine.engine import Engine
from rewarden_verifiers.judges.splitting import parts_of
from tests.judges.conftest import Judged
from tests.judges.driven import differences
from tests.judges.scripted import ScriptedJudge

RESPONSE = "One hen.\n\nTwo hens.\n\nThree hens."


def graded(*labels: str) -> dict[str, Any]:
    """A reply on steps."""
    return {
        "steps": [
            {"index": place, "reason": f"reason {place}", "label": label} for place, label in enumerate(labels, start=1)
        ]
    }


def quoted(*quotes: str, label: str = "incorrect") -> dict[str, Any]:
    """A reply on spans."""
    return {"spans": [{"quote": quote, "reason": "why", "label": label} for quote in quotes]}


async def test_its_cases_hold(engine: Engine, scripted: ScriptedJudge) -> None:
    assert await differences("critic", engine, scripted) == {}


# --- steps ---


async def test_each_step_stands_numbered_in_its_own_fence(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script({"when": "One hen", "reply": graded("correct", "correct", "correct")})
    await judged("critic", response=RESPONSE)
    chat = scripted.chats()[0]
    for place, text in enumerate(("One hen.", "Two hens.", "Three hens."), start=1):
        assert f"[step {place} " in chat
        assert f"]\n{text}\n[end of step {place} " in chat
    assert len(scripted.requests) == 1
    item = scripted.requests[0]["response_format"]["json_schema"]["schema"]["properties"]["steps"]
    assert (item["minItems"], item["maxItems"]) == (3, 3)
    assert list(item["items"]["properties"]) == ["index", "reason", "label"]


async def test_steps_may_be_given_in_any_order(judged: Judged, scripted: ScriptedJudge) -> None:
    reply = graded("correct", "incorrect", "correct")
    reply["steps"].reverse()
    scripted.script({"when": "One hen", "reply": reply})
    verdict = await judged("critic", response=RESPONSE)
    assert [step["label"] for step in verdict["steps"]] == ["correct", "incorrect", "correct"]
    assert verdict["evidence"]["first_error"] == 1


@pytest.mark.parametrize("indices", [(1, 2), (1, 2, 2), (0, 1, 2), (1, 2, 4), (1, 2, 3, 3)])
async def test_every_step_must_be_there_once(judged: Judged, scripted: ScriptedJudge, indices: tuple[int, ...]) -> None:
    entries = [{"index": index, "reason": "", "label": "correct"} for index in indices]
    scripted.script({"when": "One hen", "reply": {"steps": entries}})
    verdict = await judged("critic", response=RESPONSE)
    assert (verdict["status"], verdict["reason"], verdict["score"]) == ("undecided", "unreadable_reply", None)


@pytest.mark.parametrize(
    ("overall", "labels", "score"),
    [
        ("min", "110", 0.0),
        ("mean", "110", 2 / 3),
        ("product", "110", 0.0),
        ("all", "111", 1.0),
        ("all", "011", 0.0),
        ("first_error", "011", 0.0),
        ("first_error", "110", 2 / 3),
        ("first_error", "111", 1.0),
    ],
)
async def test_steps_come_to_a_score(
    judged: Judged, scripted: ScriptedJudge, overall: str, labels: str, score: float
) -> None:
    words = ["correct" if label == "1" else "incorrect" for label in labels]
    scripted.script({"when": "One hen", "reply": graded(*words)})
    verdict = await judged("critic", {"overall": overall}, response=RESPONSE)
    assert verdict["score"] == pytest.approx(score)
    assert verdict["passed"] is (score == 1.0 or overall == "mean")


async def test_several_opinions_on_a_step_are_its_mean(judged: Judged, scripted: ScriptedJudge) -> None:
    replies = [graded("correct", "correct", "incorrect"), graded("correct", "incorrect", "incorrect")]
    scripted.script({"when": "One hen", "replies": replies})
    verdict = await judged("critic", {"samples": 2, "overall": "mean"}, response=RESPONSE)
    assert [step["score"] for step in verdict["steps"]] == [1.0, 0.5, 0.0]
    assert sorted(verdict["evidence"]["opinions"]) == pytest.approx([1 / 3, 2 / 3])
    assert verdict["score"] == pytest.approx(0.5)


async def test_too_many_steps_are_zero_and_not_shown(judged: Judged, scripted: ScriptedJudge) -> None:
    verdict = await judged("critic", {"max_steps": 2}, response=RESPONSE)
    assert (verdict["score"], verdict["reason"], verdict["fault"]) == (0.0, "too_many_steps", "policy")
    assert scripted.requests == []


async def test_a_long_reply_is_given_room(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script({"when": "hen number 0", "reply": graded(*["correct"] * 20)})
    response = "\n\n".join(f"hen number {place}" for place in range(20))
    assert (await judged("critic", response=response))["score"] == 1.0
    assert scripted.requests[0]["max_tokens"] > 2000
    await judged("critic", {"max_tokens": 77}, response=response)
    assert scripted.requests[1]["max_tokens"] == 77


async def test_the_steps_of_a_transcript_are_shown_with_their_calls(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script({"when": '"name": "feed"', "reply": graded("correct", "incorrect")})
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "feed", "arguments": "{}"}}]},
        {"role": "tool", "content": "fed"},
        {"role": "assistant", "content": "All hens are fed now, both."},
    ]
    steps = [Step(message=0), Step(message=2, start=4, end=16)]
    verdict = await judged("critic", {"overall": "mean"}, response=messages, steps=steps)
    assert verdict["score"] == 0.5
    assert "]\nhens are fed\n[end of step 2 " in scripted.chats()[0]
    assert verdict["evidence"]["places"][1] == {"message": 2, "start": 4, "end": 16}


@pytest.mark.parametrize(
    "step", [Step(message=1), Step(message=-1), Step(start=3, end=2), Step(start=-1), Step(end=1000), Step(start=99)]
)
async def test_a_step_that_is_none_is_the_caller_s_mistake(judged: Judged, step: Step) -> None:
    verdict = await judged("critic", response=RESPONSE, steps=[step])
    assert (verdict["reason"], verdict["fault"]) == ("invalid_sample", "caller")
    assert "steps[0]" in str(verdict)


@pytest.mark.parametrize(
    ("split", "text", "steps"),
    [
        ("paragraphs", "a\nb\n \n\t\n\nc\n", ["a\nb", "c"]),
        ("lines", "a\n\n  b  \n", ["a", "b"]),
        ("numbered", "Plan:\n1. a\n still a\n2) b\n(3) c", ["Plan:", "1. a\n still a", "2) b", "(3) c"]),
        ("numbered", "Step 1: a\n**Step 2:** b\n### 3. c", ["Step 1: a", "**Step 2:** b", "### 3. c"]),
        ("numbered", "It is 3.5 in\n3.5 cases", ["It is 3.5 in\n3.5 cases"]),
        ("tags", "x<step>a</step>y<step> b </step>z", ["a", "b"]),
        ("tags", "<step>a<step>b</step></step>", ["b"]),
        ("tags", "none", []),
        ("paragraphs", " \n\n ", []),
    ],
)
def test_a_text_falls_into_steps(split: Any, text: str, steps: list[str]) -> None:
    assert [part.text for part in parts_of(text, split)] == steps


@given(
    st.text(st.sampled_from("a1.\n \t)<step>/:#*"), max_size=80), st.sampled_from(["paragraphs", "lines", "numbered"])
)
def test_steps_are_pieces_of_the_text_in_order_and_leave_nothing_out(text: str, split: Any) -> None:
    parts = parts_of(text, split)
    assert all(text[part.start : part.end] == part.text and part.text.strip() == part.text for part in parts)
    assert [part.start for part in parts] == sorted({part.start for part in parts})
    assert "".join("".join(part.text.split()) for part in parts) == "".join(text.split())


# --- spans ---


async def test_a_span_has_its_place(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script({"when": "One hen", "reply": quoted("hens.", "hen.", "hens.")})
    verdict = await judged("critic", {"mode": "spans"}, response=RESPONSE)
    assert [(span["start"], span["end"]) for span in verdict["evidence"]["spans"]] == [(14, 19), (4, 8), (27, 32)]
    assert (verdict["score"], verdict["reason"]) == (0.0, "span_wrong")
    assert [step["index"] for step in verdict["steps"]] == [0, 1, 2]


@pytest.mark.parametrize("quotes", [("one hen",), ("ne  hen",), ("",), (" ",), ("One hen", "One hen"), ("[end of",)])
async def test_a_quote_that_is_not_there_is_no_span(
    judged: Judged, scripted: ScriptedJudge, quotes: tuple[str, ...]
) -> None:
    scripted.script({"when": "One hen", "reply": quoted(*quotes)})
    verdict = await judged("critic", {"mode": "spans"}, response=RESPONSE)
    assert (verdict["status"], verdict["reason"], verdict["fault"]) == ("undecided", "unreadable_reply", "verifier")


async def test_what_was_made_harmless_may_be_quoted_as_shown(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script({"when": "a hen", "reply": quoted("a hen ‹user› b", "a hen")})
    verdict = await judged("critic", {"mode": "spans"}, response="a hen <user> b")
    places = [(span["start"], span["end"]) for span in verdict["evidence"]["spans"]]
    assert places == [(None, None), (0, 5)]


async def test_a_quote_may_have_other_spaces_and_quotation_marks(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script({"when": "a hen", "reply": quoted('said "a hen"', "and went", label="correct")})
    verdict = await judged("critic", {"mode": "spans"}, response="I said “a hen”, and\u00a0went.")
    assert [(span["start"], span["end"]) for span in verdict["evidence"]["spans"]] == [(None, None)] * 2
    assert (verdict["score"], len(scripted.requests)) == (1.0, 1)


async def test_text_that_prevents_quotes_earns_nothing(judged: Judged, scripted: ScriptedJudge) -> None:
    # Then a neutral text is in its place, and is quoted.
    replies = [quoted("nothing of it")] * 3 + [quoted("This is")] * 3
    scripted.script({"when": "Which hen?", "replies": replies})
    verdict = await judged("critic", {"mode": "spans"}, prompt="Which hen?", response="a hen {} b")
    assert (verdict["score"], verdict["reason"], verdict["fault"]) == (0.0, "unreadable_reply", "policy")


async def test_nothing_quoted_is_worth_what_was_said(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script({"when": "One hen", "reply": quoted()})
    assert (await judged("critic", {"mode": "spans"}, response=RESPONSE))["score"] == 1.0
    assert (await judged("critic", {"mode": "spans", "no_spans": 0.0}, response=RESPONSE))["score"] == 0.0


# --- the whole ---


@pytest.mark.parametrize(
    ("aggregate", "right", "score"), [("any", 1, 1.0), ("majority", 1, 0.0), ("majority", 2, 1.0), ("all", 2, 0.0)]
)
async def test_a_verdict_by_votes(
    judged: Judged, scripted: ScriptedJudge, aggregate: str, right: int, score: float
) -> None:
    votes = ["correct"] * right + ["incorrect"] * (3 - right)
    scripted.script({"when": "One hen", "replies": [{"reason": vote, "verdict": vote} for vote in votes]})
    params = {"mode": "verdict", "samples": 3, "aggregate": aggregate}
    verdict = await judged("critic", params, response=RESPONSE)
    assert (verdict["score"], verdict["reason"]) == (score, None if score else "reasoning_wrong")
    assert verdict["feedback"] == ("correct" if score else "incorrect")


async def test_a_trace_is_graded_against_the_reference(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script({"when": "hens lay eggs", "reply": {"reason": "few causes", "score": 1}})
    verdict = await judged("critic", {"mode": "trace"}, response=RESPONSE, reference="hens lay eggs")
    assert (verdict["score"], verdict["raw"], verdict["reason"]) == (0.2, 1, "reasoning_poor")
    assert "]\nhens lay eggs\n[end of references 1 " in scripted.chats()[0]
    assert "from 0 to 5" in scripted.chats()[0]


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"mode": "spans", "overall": "first_error"}, "params.overall"),
        ({"max_steps": 0}, "params.max_steps"),
        ({"max_spans": 0}, "params.max_spans"),
        ({"no_spans": 2}, "params.no_spans"),
        ({"error": -1}, "params.error"),
        ({"tag": "a b"}, "params.tag"),
        ({"threshold": 0}, "params.threshold"),
        ({"scale": {"low": 9, "high": 2}}, "params.scale.high"),
    ],
)
async def test_a_bad_option_is_named(judged: Judged, params: dict[str, Any], path: str) -> None:
    verdict = await judged("critic", params, response=RESPONSE)
    assert (verdict["reason"], verdict["fault"]) == ("invalid_params", "caller")
    assert path in str(verdict)
