"""OpenRLHF's remote reward, as its client calls it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from rewarden.errors import Overloaded
from rewarden.types import BatchResult, Verdict
from rewarden_server.compat import openrlhf
from tests.compat.conftest import Running, Start

ROUTE = "/compat/openrlhf/choice/get_reward"
KEYS = {"rewarden_passed", "rewarden_no_answer", "rewarden_excluded", "rewarden_unscored"}


def body(*responses: str, labels: list[Any] | None = None) -> dict[str, Any]:
    """Returns what OpenRLHF sends: prompts, and the same with responses."""
    prompts = [f"Is it A, B or C ({place})?\n" for place, _ in enumerate(responses)]
    queries = [prompt + response for prompt, response in zip(prompts, responses, strict=True)]
    return {"query": queries, "prompts": prompts, "labels": labels or ["B"] * len(responses)}


async def test_a_micro_batch_has_three_lists_in_order(start: Start) -> None:
    server = await start()
    answer = await server.http.post(ROUTE, json=body("é Answer: B", "Answer: C", "I do not know"))
    assert answer.status_code == 200
    value = answer.json()
    assert (value["rewards"], value["scores"]) == ([1.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    assert value["extra_logs"].keys() == KEYS
    assert value["extra_logs"]["rewarden_no_answer"] == [0.0, 0.0, 1.0]
    # With more servers than samples, releases up to 0.11.0 send empty lists to the others.
    empty = (await server.http.post(ROUTE, json=body())).json()
    assert (empty["rewards"], empty["extra_logs"].keys()) == ([], KEYS)


async def test_one_sample_without_a_score_fails_its_micro_batch(start: Start) -> None:
    server = await start()
    sent = body("Answer: B", "Answer: B", labels=["B", "?!"])
    answer = await server.http.post(ROUTE, json=sent)
    assert answer.status_code == 422
    assert "fault reference" in answer.json()["error"]["message"]
    value = (await server.http.post(f"{ROUTE}?unscored=-1", json=sent)).json()
    assert (value["rewards"], value["extra_logs"]["rewarden_unscored"]) == ([1.0, -1.0], [0.0, 1.0])


async def test_a_query_without_its_prompt_is_the_callers_fault(start: Start) -> None:
    server = await start()
    sent = body("Answer: B") | {"prompts": ["Another prompt: "]}
    answer = await server.http.post(ROUTE, json=sent)
    assert (answer.status_code, answer.json()["error"]["details"]["fault"]) == (422, "caller")


@pytest.mark.parametrize("name", ["query", "prompts", "labels"])
async def test_lists_must_fit(start: Start, name: str) -> None:
    server = await start()
    for odd in ("Answer: B", 5, {"B": 1}):
        answer = await server.http.post(ROUTE, json=body("Answer: B") | {name: odd})
        assert (answer.status_code, answer.json()["error"]["details"]["path"]) == (400, name)


def failing(server: Running, monkeypatch: pytest.MonkeyPatch, *failures: Exception | Verdict) -> list[int]:
    """The engine fails like this, once each, and then works. The list grows with each call."""
    engine, calls = server.serving.service.engine, list[int]()
    verify = engine.verify

    async def scripted(batch: Any, **more: Any) -> BatchResult:
        calls.append(len(batch.samples))
        if len(calls) > len(failures):
            return await verify(batch, **more)
        failure = failures[len(calls) - 1]
        if isinstance(failure, Exception):
            raise failure
        return BatchResult(verdicts=[failure])

    monkeypatch.setattr(engine, "verify", scripted)
    return calls


BROKEN = Verdict(status="error", reason="sandbox_failed", fault="infra", retryable=True)


async def test_what_may_pass_is_waited_out(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    server = await start()
    monkeypatch.setattr(openrlhf, "_FIRST_S", 0.01)
    calls = failing(server, monkeypatch, Overloaded("too much", retry_after_s=1.0), BROKEN)
    answer = await server.http.post(ROUTE, json=body("Answer: B"))
    assert (answer.json()["rewards"], len(calls)) == ([1.0], 3)


async def test_and_told_when_it_does_not_pass(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    server = await start()
    monkeypatch.setattr(openrlhf, "HOLD_S", 0.0)
    failing(server, monkeypatch, BROKEN, Overloaded("too much", retry_after_s=1.0))
    broken, overloaded = [await server.http.post(ROUTE, json=body("Answer: B")) for _ in range(2)]
    assert (broken.status_code, overloaded.status_code) == (503, 429)
    assert "sandbox_failed" in broken.text


async def test_what_is_held_is_counted_and_ends_with_the_server(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = body("Answer: B")
    server = await start({"limits.max_open_bytes": len(json.dumps(sent)) + 10})
    monkeypatch.setattr(openrlhf, "_FIRST_S", 100.0)
    calls = failing(server, monkeypatch, Overloaded("too much", retry_after_s=1.0))
    held = asyncio.ensure_future(server.http.post(ROUTE, json=sent))
    async with asyncio.timeout(30):
        while not calls:
            await asyncio.sleep(0.005)
    refused = await server.http.post(ROUTE, json=sent)
    assert (refused.status_code, len(calls)) == (429, 1), "the memory is full of bodies that wait"
    await server.serving.drain(0.0)
    assert (await asyncio.wait_for(held, 30)).status_code == 503


async def test_a_thousand_samples(start: Start) -> None:
    server = await start()
    sent = body(*["Answer: B", "Answer: A"] * 500)
    answer = await asyncio.wait_for(server.http.post(ROUTE, json=sent), 60)
    assert answer.json()["rewards"] == [1.0, 0.0] * 500
