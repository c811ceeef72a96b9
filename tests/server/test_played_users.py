"""Users of tau2-bench's tasks that a judge plays while the episode is lived."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.judges.scripted import ScriptedJudge
from tests.server.conftest import Running, Start
from tests.verifiers.tau2_desk import write_desk

OPENING = "Nothing has been said yet."


@pytest.fixture
def judge() -> Iterator[ScriptedJudge]:
    with ScriptedJudge() as made:
        yield made


@pytest.fixture
async def desk(start: Start, judge: ScriptedJudge, tmp_path: Path) -> Running:
    """A server with a checkout and a judge, which asks once."""
    named = {"main": judge.settings(retries=0)}
    return await start(
        {"environments.corpora": {"tau2": str(write_desk(tmp_path / "bench"))}, "judges.named": json.dumps(named)}
    )


async def reset(server: Running, task: str = "milk", **options: Any) -> Any:
    body = {"seed": 1, "episode_id": "e", "domain": "desk", "task": task, "user": {"judge": "main"}, **options}
    return await server.http.post("/openenv/tau2/reset", json=body)


async def step(server: Running, tool: str, **arguments: Any) -> Any:
    body = {"episode_id": "e", "action": {"tool": tool, "arguments": arguments}}
    return await server.http.post("/openenv/tau2/step", json=body)


async def state(server: Running) -> Any:
    return (await server.http.get("/openenv/tau2/state", params={"episode_id": "e"})).json()


async def replayed(server: Running) -> Any:
    """The verdict on the episode so far, as any server gives it."""
    told = await state(server)
    row = {"response": json.dumps(told["actions"]), "reference": told["reference"]}
    use = {"name": "environment", "params": {"actions": "json"}}
    (verdict,) = (await server.verify(row, use=use)).json()["verdicts"]
    return verdict


async def test_an_episode_with_a_judge_as_user_is_replayed_without_it(desk: Running, judge: ScriptedJudge) -> None:
    judge.script(
        {"when": OPENING, "reply": "Milk, please."},
        {"when": "It costs 1,250.", "reply": "<think>All is done.</think>Thanks! ###STOP###"},
    )
    begun = (await reset(desk)).json()
    assert begun["observation"]["text"].endswith("The user writes: Milk, please.")
    await step(desk, "add", thing="milk")
    said = (await step(desk, "say", text="It costs 1,250.")).json()
    assert said["observation"]["text"] == "Thanks!\nThe user has ended the conversation."
    assert (said["reward"], said["done"]) == (1.0, True)
    assert (await state(desk))["reference"]["options"]["script"] == ["Milk, please.", "Thanks! ###STOP###"]
    asked = len(judge.requests)
    verdict = await replayed(desk)
    assert (verdict["status"], verdict["score"], verdict["evidence"]["ended"]) == ("scored", 1.0, "rules")
    assert len(judge.requests) == asked == 2


async def test_the_judges_user_calls_its_tools(desk: Running, judge: ScriptedJudge) -> None:
    judge.script(
        {"when": OPENING, "reply": "Salt, please."},
        {"when": "Add it on your side.", "reply": {"$reply": {"calls": [["add_own", {"thing": "salt"}]]}}},
        {"when": ["Add it on your side.", 'add_own {"thing": "salt"}\n["salt"]'], "reply": "I have added it."},
    )
    await reset(desk, "both")
    said = (await step(desk, "say", text="Add it on your side.")).json()
    assert said["observation"]["text"] == "I have added it."
    await step(desk, "add", thing="salt")
    assert (await step(desk, "done")).json()["reward"] == 1.0
    call = {"tool": "add_own", "arguments": {"thing": "salt"}}
    assert (await state(desk))["reference"]["options"]["script"] == ["Salt, please.", call, "I have added it."]
    assert (await replayed(desk))["score"] == 1.0


DOWN = {"$reply": {"status": 500}}
REFUSED = {"$reply": {"refusal": "I will not."}}


@pytest.mark.parametrize(
    ("replies", "reason"),
    [([DOWN], "provider_failed"), ([REFUSED] * 4, "unreadable_reply"), (["", "<think>Hm."] * 2, "unreadable_reply")],
)
async def test_a_judge_without_an_answer_is_no_fault_of_the_policys(
    desk: Running, judge: ScriptedJudge, replies: list[Any], reason: str
) -> None:
    """The step has not happened, and can be sent again."""
    judge.script({"when": OPENING, "reply": "Milk!"}, {"when": "next message", "replies": [*replies, "Yes."]})
    await reset(desk)
    before = await state(desk)
    failed = await step(desk, "say", text="Is that all?")
    assert failed.status_code == 503
    told = failed.json()["error"]["details"]
    assert (told["reason"], told["fault"]) == (reason, "infra")
    assert await state(desk) == before
    said = await step(desk, "say", text="Is that all?")
    assert said.json()["observation"]["text"] == "Yes."
    assert (await state(desk))["step_count"] == 1


async def test_a_policy_that_silences_the_judge_is_not_understood(desk: Running, judge: ScriptedJudge) -> None:
    """Attack: words that the judge refuses to answer, for an episode without a score."""
    judge.script(
        {"when": OPENING, "reply": "Milk!"},
        {"when": "Something vile.", "reply": REFUSED},
        {"when": "This is sent", "reply": "What do you mean?"},  # a neutral text
    )
    await reset(desk)
    said = await step(desk, "say", text="Something vile.")
    assert said.json()["observation"]["text"] == "Sorry, I did not understand that."
    assert (await replayed(desk))["reason"] == "unfinished"


async def test_words_are_bounded(desk: Running, judge: ScriptedJudge) -> None:
    judge.script({"when": OPENING, "reply": "x" * 5000})
    await reset(desk)
    assert (await state(desk))["reference"]["options"]["script"] == ["x" * 2000]


async def test_an_opening_that_ends_the_conversation_begins_nothing(desk: Running, judge: ScriptedJudge) -> None:
    judge.script({"when": OPENING, "reply": "###STOP###"})
    failed = await reset(desk)
    assert (failed.status_code, failed.json()["error"]["details"]["fault"]) == (503, "infra")
    assert len(desk.serving.service.episodes) == 0


async def test_a_judge_that_is_not_configured_is_the_callers_mistake(desk: Running) -> None:
    failed = await reset(desk, user={"judge": "other"})
    assert (failed.status_code, failed.json()["error"]["details"]["path"]) == (400, "options.user.judge")
    assert "configured: main" in failed.json()["error"]["message"]
