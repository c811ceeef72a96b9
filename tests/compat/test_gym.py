"""NeMo Gym's resources server, as Gym's agents, verifiers and axolotl call it."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any
from urllib.parse import urlencode

import pytest

from rewarden.types import BadSample, Sample
from rewarden_server.compat import gym
from rewarden_server.compat.gym_metrics import aggregate
from rewarden_server.responses_api import finish_reason_of, messages_of, prompt_of
from tests.compat.conftest import Running, Start
from tests.server.conftest import Gates, gate, plugin

__all__ = ["gate", "plugin"]


def message(text: str, **more: Any) -> dict[str, Any]:
    """An output item as model servers send it."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": "msg", "type": "message", "role": "assistant", "status": "completed", "content": [part], **more}


def request(*output: Any, **fields: Any) -> dict[str, Any]:
    """The body that axolotl's client sends (src/axolotl/integrations/nemo_gym/rewards.py, 0.19)."""
    response = {"id": "resp", "created_at": 0, "model": "axolotl", "object": "response", "output": list(output)}
    response |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    asked = {"input": [{"role": "user", "content": "What is 6·7?"}]}
    return {"responses_create_params": asked, "response": response, **fields}


def recipe(**fields: Any) -> str:
    """A path that has a recipe for a judge."""
    return "verify?" + urlencode({"use": json.dumps({"recipe": fields})})


async def verify(server: Running, body: dict[str, Any], path: str = "choice/verify") -> Any:
    """A reply's body; its status must be 200."""
    answer = await server.http.post(f"/compat/gym/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def sample(body: dict[str, Any], reference: str | None = None) -> Sample:
    """Returns what a body asks to be judged."""
    found = gym._sample(body, reference)
    assert not isinstance(found, BadSample), found
    return found


NOTHING_FAILED = {"mask_sample": False, "failure_kind": None, "failure_reason": None}


async def test_verify_echoes_the_request_and_adds_the_reward(start: Start) -> None:
    server = await start()
    right = request(message("✓ \\boxed{B}"), expected_answer="B", question="What is 6·7?", big=2**60 + 1)
    assert await verify(server, right) == right | {"reward": 1.0} | NOTHING_FAILED
    wrong = request(message("\\boxed{C}"), expected_answer="B")
    assert await verify(server, wrong, "verify?use=choice") == wrong | {"reward": 0.0} | NOTHING_FAILED

    # What an earlier attempt at this rollout left in its row does not outlive a score.
    again = right | {"_ng_failure_class": "judge_failed", "_ng_failure_judge_error": "late", "mask_sample": True}
    assert await verify(server, again) == right | {"reward": 1.0} | NOTHING_FAILED

    parts = await verify(server, right, recipe(uses={"answer": "choice"}, score="0.9 * answer.score"))
    assert (parts["reward"], parts["reward_components"], parts["answer"]) == (0.9, {"answer": 1.0}, 1.0)


async def test_without_a_score_the_sample_is_masked(start: Start) -> None:
    server = await start()
    body = request(message("\\boxed{B}"))  # no reference at all
    reply = await verify(server, body)
    assert (reply["reward"], reply["mask_sample"]) == (0.0, True)
    assert reply["failure_kind"] in ("rewarden:reference", "rewarden:caller")
    assert reply["failure_reason"]
    assert reply["_ng_failure_class"] == "judge_failed"

    number = await verify(server, body, "choice/verify?unscored=-1")
    assert (number["reward"], number["mask_sample"], number["failure_kind"]) == (-1.0, False, reply["failure_kind"])
    assert "_ng_failure_class" not in number
    refused = await server.http.post("/compat/gym-strict/choice/verify", json=body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "unscored")


async def test_the_mask_stands_where_nemo_rl_reads_it(start: Start) -> None:
    server = await start()
    own = {"instance_config": {"image": "x", "mask_sample": False}}
    bad = request(message("\\boxed{B}"), expected_answer="?!", **own)
    assert (await verify(server, bad))["instance_config"] == {"image": "x", "mask_sample": True}
    assert (await verify(server, request(message("\\boxed{B}"))))["instance_config"] == {"mask_sample": True}
    again = request(message("\\boxed{B}"), expected_answer="B", instance_config={"mask_sample": True})
    assert (await verify(server, again))["instance_config"] == {"mask_sample": False}
    assert "instance_config" not in await verify(server, request(message("\\boxed{B}"), expected_answer="B"))


async def test_for_nemo_rl_only_faults_that_pass_have_a_status(
    start: Start, gate: Gates, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await start({"engine.max_samples": 1})
    bad = await server.http.post("/compat/gym-rl/choice/verify", json=request(message("\\boxed{B}")))
    assert (bad.status_code, bad.json()["mask_sample"]) == (200, True)
    full = asyncio.create_task(server.verify({"response": ""}, use=gate.use))
    await gate.entered()
    monkeypatch.setattr(gym, "HOLD_S", 0.0)
    body = request(message("\\boxed{B}"), expected_answer="B")
    answer = await server.http.post("/compat/gym-rl/choice/verify", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    gate.open()
    await full


async def test_a_sample_that_a_recipe_leaves_out_is_masked_with_its_score(start: Start) -> None:
    server = await start()
    body = request(message("\\boxed{B}"), expected_answer="B")
    body["response"] |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    cut = {"when": 'sample.finish_reason == "length"', "reason": "truncated"}
    reply = await verify(server, body, recipe(uses={"answer": "choice"}, score="answer.score", exclude=cut))
    assert (reply["reward"], reply["mask_sample"]) == (1.0, True)
    assert (reply["failure_kind"], reply["failure_reason"]) == ("rewarden:excluded", "truncated")
    assert "_ng_failure_class" not in reply


async def test_overload_is_waited_out_and_then_masked(
    start: Start, gate: Gates, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await start({"engine.max_samples": 1})
    body = request(message("\\boxed{B}"), expected_answer="B")
    full = asyncio.create_task(server.verify({"response": ""}, use=gate.use))
    await gate.entered()
    monkeypatch.setattr(gym, "HOLD_S", 0.0)
    reply = await verify(server, body)
    assert (reply["reward"], reply["mask_sample"], reply["failure_kind"]) == (0.0, True, "rewarden:infra")
    monkeypatch.setattr(gym, "HOLD_S", 60.0)
    held = asyncio.create_task(verify(server, body))
    gate.open()
    assert (await held)["reward"] == 1.0
    await full


async def test_what_a_stopping_server_cuts_off_is_masked(start: Start, gate: Gates) -> None:
    server = await start()
    query = urlencode({"use": "gated", "params": json.dumps(gate.use["params"])})
    cut = asyncio.create_task(verify(server, request(message("x")), f"verify?{query}"))
    await gate.entered()
    await server.serving.drain(0.0)
    reply = await cut
    assert (reply["reward"], reply["mask_sample"], reply["failure_kind"]) == (0.0, True, "rewarden:infra")


async def test_a_body_that_is_no_verify_request_is_422(start: Start) -> None:
    server = await start()
    for body in ({}, {"responses_create_params": {}}, request() | {"response": {"output": "text"}}):
        answer = await server.http.post("/compat/gym/choice/verify", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "unprocessable")
    unknown = await server.http.post("/compat/gym/maths/verify", json=request(message("1"), expected_answer="1"))
    assert unknown.status_code == 400, "an address that is wrong is not a sample without a score"
    nowhere = request(message("1"), expected_answer="1")
    assert (await server.http.post("/compat/gym/choice/verify?reference=gold", json=nowhere)).status_code == 400


async def test_a_session_is_a_cookie_and_nothing_else(start: Start) -> None:
    server = await start()
    seeded = await server.http.post("/compat/gym/math/seed_session", json={"expected_answer": "42"})
    assert (seeded.status_code, seeded.json()) == (200, {})
    cookie = seeded.cookies[gym.COOKIE]
    assert (await server.http.post("/compat/gym/seed_session", json={})).cookies[gym.COOKIE] == cookie
    assert (await server.http.get("/compat/gym/reverify_mode")).json() == "stateless"
    assert (await server.http.get("/compat/gym/math/")).json() == {"status": "ok"}


async def test_odd_json_costs_no_reward_and_no_answer(start: Start) -> None:
    server = await start()

    async def sent(path: str, body: Any) -> Any:
        answer = await server.http.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})
        assert answer.status_code == 200, (body, answer.text)
        return answer.json()

    good = request(message("Answer: B"), expected_answer="B")
    # Python's clients write NaN where a log-probability is none; kinds that nobody knows are passed over.
    nan = await sent("/compat/gym/choice/verify", good | {"logprobs": [math.nan, -math.inf]})
    assert (nan["reward"], nan["mask_sample"], nan["logprobs"]) == (1.0, False, [None, None])
    odd = request({"type": []}, {"type": {"a": 1}}, message("Answer: B"), expected_answer="B")
    odd["response"] |= {"status": "incomplete", "incomplete_details": {"reason": []}}
    assert (await sent("/compat/gym/choice/verify", odd))["reward"] == 1.0
    for index in ([], {}, None, math.nan, math.inf, 10**400, "a"):
        replies = [{"_ng_task_index": index, "_ng_rollout_index": index, "reward": 1e308}] * 2
        replies.append({"_ng_task_index": 0, "reward": 0.5, "response": {"usage": {"output_tokens": 10**400}}})
        found = await sent("/compat/gym/aggregate_metrics", {"verify_responses": replies})
        assert found["key_metrics"] == {"mean/reward": 0.5}
        assert [task["num_rollouts"] for task in found["group_level_metrics"]] in ([1, 2], [2, 1])


def test_a_turn_is_one_message_with_its_thought_and_calls() -> None:
    items = [
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "look it up"}]},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Bern"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "rain"},
        {"type": "web_search_call", "id": "ws"},
        message("It "),
        message("rains."),
    ]
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bern"}'}}
    assert messages_of(items)[:2] == [
        {"role": "assistant", "content": "", "reasoning_content": "look it up", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    ]
    assert messages_of(items)[-1] == {"role": "assistant", "content": "It rains."}
    assert messages_of([]) == [{"role": "assistant", "content": ""}]
    assert messages_of([message("x", content=[{"type": "refusal", "refusal": "No."}])])[0]["content"] == "No."


async def test_calls_are_judged(start: Start) -> None:
    server = await start()
    call = {"type": "function_call", "call_id": "c", "name": "weather", "arguments": '{"city": "Bern"}'}
    expected = {"name": "weather", "arguments": {"city": "Bern"}}
    right = await verify(server, request(call, expected_answer=[expected]), "tool_calls/verify")
    assert (right["reward"], right["failure_reason"]) == (1.0, None)
    other = await verify(server, request(call, expected_answer=[expected | {"name": "news"}]), "tool_calls/verify")
    assert other["reward"] < 1.0


def test_what_the_task_says_reaches_the_judge() -> None:
    body = request(message("x"), verifier_metadata={"unit_tests": {"inputs": ["1"]}}, dataset="taco", hash_id="h")
    found = sample(body)
    assert (found.reference, found.data_source) == ({"inputs": ["1"]}, "taco")
    assert found.metadata is not None
    assert found.metadata["hash_id"] == "h"
    assert sample(body, "hash_id").reference == "h"
    assert sample(body, "hash_id,verifier_metadata.unit_tests").reference == {
        "hash_id": "h",
        "unit_tests": {"inputs": ["1"]},
    }
    named = sample(request(message("x"), agent_ref={"name": "math_agent"}, answer="a", expected_answer="b"))
    assert (named.data_source, named.reference) == ("math_agent", "b")
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert finish_reason_of(cut) == "length"
    assert (finish_reason_of({"status": "completed"}), finish_reason_of({})) == ("stop", None)
    asked = {
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
    }
    assert prompt_of(asked) == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]


async def test_metrics_leave_masked_replies_out_of_the_reward(start: Start) -> None:
    server = await start()
    replies = [
        {"_ng_task_index": 0, "_ng_rollout_index": 0, "reward": 1.0, "mask_sample": False},
        {"_ng_task_index": 0, "_ng_rollout_index": 1, "reward": 0.0, "mask_sample": True},
        {"_ng_task_index": 1, "_ng_rollout_index": 0, "reward": 0.5, "mask_sample": False},
    ]
    answer = await server.http.post("/compat/gym/math/aggregate_metrics", json={"verify_responses": replies})
    found = answer.json()
    assert found["key_metrics"] == {"mean/reward": 0.75, "mean/mask_sample": 1 / 3}
    assert found["agent_metrics"]["std/reward"] == pytest.approx(0.35355339)
    first, second = found["group_level_metrics"]
    assert (first["_ng_task_index"], first["mean/reward"], first["num_rollouts"]) == (0, 1.0, 2)
    assert (second["std/reward"], second["rollout_infos"][0]["reward"]) == (0.0, 0.5)
    empty = {"group_level_metrics": [], "agent_metrics": {}, "key_metrics": {}}
    assert aggregate([]) == empty
    assert (await server.http.post("/compat/gym/aggregate_metrics", json={})).status_code == 422
