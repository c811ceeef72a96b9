"""`rubric` with `generate`: criteria that a judge writes for a prompt, and that no response can sway."""

from __future__ import annotations

from typing import Any

import pytest

from tests.judges.conftest import Judged
from tests.judges.scripted import ScriptedJudge

PROMPT = "How do I put out a pan fire?"
WRITING = "You write the criteria"
ANSWER = "Put a lid on the pan, and turn off the heat."
WRITTEN = {"criteria": [{"text": "says to cover the pan", "points": 6}, {"text": "advises water", "points": -8}]}
GENERATE = {"generate": {"most": 5}}


def verdicts(*met: str) -> dict[str, Any]:
    """A reply to the criteria."""
    rows = [{"number": n, "evidence": "", "reason": "so", "verdict": one} for n, one in enumerate(met, start=1)]
    return {"criteria": rows}


def script(scripted: ScriptedJudge, written: Any, found: Any) -> None:
    """Script the writing, and the judging by it."""
    scripted.script(
        {"when": [PROMPT, WRITING], "reply": written}, {"when": [PROMPT, "under its number"], "reply": found}
    )


async def test_the_criteria_are_written_without_a_response_and_then_judged_by(
    judged: Judged, scripted: ScriptedJudge
) -> None:
    script(scripted, WRITTEN, verdicts("met", "not_met"))
    found = await judged("rubric", GENERATE, prompt=PROMPT, response=ANSWER)
    assert (found["score"], [step["label"] for step in found["steps"]]) == (
        1.0,
        ["says to cover the pan", "advises water"],
    )
    assert found["evidence"]["generation"]["criteria"] == WRITTEN["criteria"]
    writing, judging = scripted.chats()
    assert (ANSWER in writing, ANSWER in judging, "at most 5 criteria" in writing) == (False, True, True)


async def test_responses_to_one_prompt_share_the_criteria(judged: Judged, scripted: ScriptedJudge) -> None:
    script(scripted, WRITTEN, verdicts("not_met", "met"))
    rows = [{"prompt": PROMPT, "response": f"Throw {number} litres of water on it."} for number in range(6)]
    found: Any = await judged("rubric", GENERATE, samples=rows)
    assert {one["score"] for one in found} == {0.0}
    assert sum(WRITING in chat for chat in scripted.chats()) == 1


async def test_they_stand_beside_the_caller_s_criteria(judged: Judged, scripted: ScriptedJudge) -> None:
    script(scripted, WRITTEN, verdicts("met", "met", "not_met", "met"))
    params = {**GENERATE, "criteria": ["is polite"]}
    found = await judged("rubric", params, prompt=PROMPT, response=ANSWER, reference=["names the heat"])
    labels = ["is polite", "says to cover the pan", "advises water", "names the heat"]
    assert ([step["label"] for step in found["steps"]], found["score"]) == (labels, 1.0)


async def test_they_take_no_id_of_the_caller_s_criteria(judged: Judged, scripted: ScriptedJudge) -> None:
    script(scripted, WRITTEN, verdicts("met", "met", "not_met", "met"))
    params = {**GENERATE, "criteria": [{"id": "c2", "text": "is polite"}]}
    reference = [{"id": "c3", "text": "names the heat"}]
    found = await judged("rubric", params, prompt=PROMPT, response=ANSWER, reference=reference)
    assert (found["score"], len(found["components"])) == (1.0, 4)


async def test_the_prompt_and_its_writer_are_parameters(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script(
        {"when": "Rubricate: ", "reply": WRITTEN}, {"when": "under its number", "reply": verdicts("met", "not_met")}
    )
    own = {"generate": {"most": 3, "judge": "main", "prompt": {"user": "Rubricate: {{ prompt }}, {{ most }}"}}}
    assert (await judged("rubric", own, prompt=PROMPT, response=ANSWER))["score"] == 1.0
    assert "Rubricate: " not in scripted.chats()[1]
    other = {"generate": {"most": 3, "judge": "nobody"}}
    found = await judged("rubric", other, prompt=PROMPT, response=ANSWER)
    assert (found["status"], found["fault"]) == ("error", "caller")


@pytest.mark.parametrize(
    "written",
    [
        "Certainly! Here are some criteria.",
        {"criteria": []},
        {"criteria": [{"text": " ", "points": 1}]},
        {"criteria": [{"text": "advises water", "points": -1}]},
        {"criteria": [{"text": "covers", "points": 99}]},
        {"criteria": [{"text": "covers " * 3000, "points": 1}]},
        {"criteria": [{"text": str(number), "points": 1} for number in range(6)]},
    ],
)
@pytest.mark.parametrize("response", [ANSWER, "{{{ no rubric for this ["])
async def test_criteria_that_cannot_be_read_blame_no_response(
    judged: Judged, scripted: ScriptedJudge, written: Any, response: str
) -> None:
    script(scripted, written, verdicts("met"))
    found = await judged("rubric", GENERATE, prompt=PROMPT, response=response)
    assert (found["status"], found["reason"], found["fault"]) == ("undecided", "no_rubric", "verifier")


@pytest.mark.parametrize("response", ["", ":", "The final answer is"])
async def test_a_response_that_says_nothing_is_a_zero_even_so(
    judged: Judged, scripted: ScriptedJudge, response: str
) -> None:
    script(scripted, "Certainly!", verdicts("met"))
    found = await judged("rubric", GENERATE, prompt=PROMPT, response=response)
    assert (found["status"], found["score"], scripted.requests) == ("scored", 0, [])


async def test_a_writer_that_is_down_leaves_an_error(judged: Judged, scripted: ScriptedJudge) -> None:
    script(scripted, {"$reply": {"status": 503}}, verdicts("met"))
    found = await judged("rubric", GENERATE, prompt=PROMPT, response=ANSWER)
    assert (found["status"], found["fault"], found["score"]) == ("error", "infra", None)


@pytest.mark.parametrize(
    ("params", "sample", "says"),
    [
        ({"generate": {"most": 31}}, {"prompt": PROMPT}, "params.generate.most"),
        (GENERATE, {}, "prompt is missing"),
    ],
)
async def test_what_nothing_can_be_written_for_is_refused(judged: Judged, params: Any, sample: Any, says: str) -> None:
    found = await judged("rubric", params, response=ANSWER, **sample)
    assert (found["status"], found["fault"]) == ("error", "caller")
    assert says in str(found)
