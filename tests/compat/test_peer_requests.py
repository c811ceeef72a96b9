"""The settings in a URL, for every peer: a mistake is rejected at once, and never becomes a number."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.compat.conftest import Start

BODY: dict[str, Any] = {"prompt": "1+1?", "response": "Answer: B", "label": "B"}

MISTAKES = [
    ("rm", "use", "no verifier: name a verifier or recipe in the URL"),
    ("chioce/rm", "use", "did you mean 'choice'"),
    ("rm?use=", "use", "no verifier or recipe named ''"),
    ("rm?use=%7Bchoice", None, "not JSON"),
    ("rm?use=choice&params=5", "use.params", "must be an object"),
    ('rm?use=choice&params={"lables":2}', "use", "lables"),
    ("rm?params={}", "params", "add use=NAME"),
    ("choice/rm?use=math", "use", "already"),
    ("choice/rm?unscored=inf", "unscored", "finite"),
    ("choice/rm?unscord=0", "unscord", "unscored"),
]


async def test_a_mistake_in_the_address_is_told_at_once_and_is_no_unscored_sample(start: Start) -> None:
    server = await start()
    for address, path, told in MISTAKES:
        answer = await server.http.post(f"/compat/slime/{address}", json=BODY)
        error = answer.json()["error"]
        assert (answer.status_code, error["details"].get("path")) == (400, path), (address, answer.text)
        assert told in error["message"], (address, answer.text)
    # Through every peer that takes any judge, and with a number for what is unscored.
    chat = {"responses_create_params": {}, "response": {"output": []}}
    for at, body in (
        ("gym/{}verify", chat),
        ("gym-strict/{}verify", chat),
        ("openrlhf/{}get_reward", {"query": ["pB"], "prompts": ["p"]}),
        ("reward_model/{}classify", {"input": "B"}),
    ):
        for use in ("", "chioce/"):
            answer = await server.http.post(f"/compat/{at.format(use)}?unscored=0", json=body)
            assert (answer.status_code, answer.json()["error"]["details"].get("path")) == (400, "use"), at


@pytest.mark.parametrize("use", ["rm", "v1", "a b", "ü"])
async def test_what_a_caller_puts_into_a_path_is_no_label_of_the_metrics(start: Start, use: str) -> None:
    server = await start()
    assert (await server.http.post(f"/compat/slime/{use}/rm", json=BODY)).status_code == 400
    assert (await server.http.post("/compat/gym/seed_session", json={})).status_code == 200
    metrics = (await server.http.get("/metrics")).text
    assert 'route="/compat/slime/{use}/rm"' in metrics
    assert 'route="/compat/gym/seed_session"' in metrics
    assert f"slime/{use}/" not in metrics


async def test_a_half_of_a_surrogate_pair_costs_no_reward(start: Start) -> None:
    server = await start()
    text = "\ud800 Answer: B"
    chat = {"responses_create_params": {"input": text}, "response": {"output": [{"content": text}]}, "answer": "B"}
    for address, body, reward in (
        ("slime/choice/rm", BODY | {"response": text, "prompt": text}, 1.0),
        ("openrlhf/choice/get_reward", {"query": ["p" + text], "prompts": ["p"], "labels": ["B"]}, [1.0]),
        ("gym/choice/verify", chat, 1.0),
        ("reward_model/choice/score", {"text_1": "B", "text_2": text}, [{"index": 0, "object": "score", "score": 1.0}]),
    ):
        headers = {"Content-Type": "application/json"}
        answer = await server.http.post(f"/compat/{address}", content=json.dumps(body), headers=headers)
        assert answer.status_code == 200, answer.text
        told = answer.json()
        if isinstance(told, dict):
            told = next(told[name] for name in ("reward", "rewards", "data") if name in told)
        assert told == reward, address
