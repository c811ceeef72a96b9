"""Every adapter and route, called as its trainer calls it, its answers put in the words of the table.

A front is a coroutine function `(target, use, rows, unhurried) -> answers`: where the server is, who judges (a name, or
`{name, params}`), what is judged, and whether what may pass is to be waited for. An answer is a number, `left out`, or
the status of an HTTP answer that has none. What an adapter raises is raised.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

Answer = Any
Front = Callable[[str, Any, "Sequence[Row]", bool], Awaitable["list[Answer]"]]
Maker = Callable[[str, Any, bool], Callable[["Row"], Awaitable[Answer]]]

WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Row:
    """The row that is judged."""

    response: str
    reference: Any = None


def settings(target: str, use: Any, unhurried: bool) -> dict[str, Any]:
    """The settings that every adapter takes."""
    return {"use": use, "target": target, "patience_s": WAIT_S if unhurried else 0.0}


def word(value: Any) -> Answer:
    """A reward in the words of the table."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "left out"
    return float(value)


async def plain(target: str, use: Any, rows: Sequence[Row], unhurried: bool) -> list[Answer]:
    """`reward(prompts, completions, **columns)`."""
    from rewarden.adapters.plain import reward

    score = reward(**settings(target, use, unhurried))
    texts, references = [row.response for row in rows], [row.reference for row in rows]
    return [word(value) for value in await asyncio.to_thread(score, None, texts, answer=references)]


async def trl(target: str, use: Any, rows: Sequence[Row], unhurried: bool) -> list[Answer]:
    """TRL's blocking reward function."""
    from rewarden.adapters.trl import reward

    score = reward(**settings(target, use, unhurried))
    columns = {"prompts": ["?"] * len(rows), "completions": [row.response for row in rows]}
    return [word(value) for value in await asyncio.to_thread(score, **columns, answer=[row.reference for row in rows])]


async def trl_async(target: str, use: Any, rows: Sequence[Row], unhurried: bool) -> list[Answer]:
    """TRL's reward function that is awaited."""
    from rewarden.adapters.trl import areward

    score = areward(**settings(target, use, unhurried))
    chats = [[{"role": "assistant", "content": row.response}] for row in rows]
    prompts = [[{"role": "user", "content": "?"}]] * len(rows)
    found = await score(prompts=prompts, completions=chats, answer=[row.reference for row in rows])
    return [word(value) for value in found]


async def verl_batch(target: str, use: Any, rows: Sequence[Row], unhurried: bool) -> list[Answer]:
    """verl's batch manager."""
    from rewarden.adapters.verl import KEYS, compute_score_batch

    texts, references = [row.response for row in rows], [row.reference for row in rows]
    told = settings(target, use, unhurried)
    found = await asyncio.to_thread(compute_score_batch, ["s"] * len(rows), texts, references, None, **told)
    assert all(tuple(scores) == KEYS for scores in found)  # verl indexes the first sample's keys in all others
    return [word(scores["score"]) for scores in found]


async def easyr1(target: str, use: Any, rows: Sequence[Row], unhurried: bool) -> list[Answer]:
    """EasyR1's batch function."""
    from rewarden.adapters.easyr1 import compute_score

    inputs = [{"response": row.response, "response_length": 3, "ground_truth": row.reference} for row in rows]
    found = await asyncio.to_thread(compute_score, inputs, **settings(target, use, unhurried))
    return [word(scores["overall"]) for scores in found]


async def openrlhf(target: str, use: Any, rows: Sequence[Row], unhurried: bool) -> list[Answer]:
    """OpenRLHF's function file."""
    from rewarden.adapters.openrlhf import reward

    score = reward(**settings(target, use, unhurried))
    queries = [f"<|user|>?<|assistant|>{row.response}" for row in rows]
    prompts = ["<|user|>?<|assistant|>"] * len(rows)
    found = await asyncio.to_thread(score, queries, prompts, [row.reference for row in rows])
    return [word(value) for value in found["rewards"].tolist()]


async def swift(target: str, use: Any, rows: Sequence[Row], unhurried: bool) -> list[Answer]:
    """ms-swift's reward."""
    from rewarden.adapters.swift import reward

    score = reward(**settings(target, use, unhurried))
    texts, references = [row.response for row in rows], [row.reference for row in rows]
    return [word(value) for value in await asyncio.to_thread(score, texts, solution=references)]


async def nemo_rl(target: str, use: Any, rows: Sequence[Row], unhurried: bool) -> list[Answer]:
    """A step of NeMo RL's environment."""
    from rewarden.adapters.nemo_rl import Environment

    environment = Environment(settings(target, use, unhurried))
    logs = [[{"role": "user", "content": "?"}, {"role": "assistant", "content": row.response}] for row in rows]
    _, found = await asyncio.to_thread(environment.judged, logs, [{"ground_truth": row.reference} for row in rows])
    return [word(value) for value in found]


async def roll(target: str, use: Any, rows: Sequence[Row], unhurried: bool) -> list[Answer]:
    """A call of ROLL's reward worker, without its tensors."""
    from rewarden.adapters.roll import rewards_of

    texts, columns = [row.response for row in rows], {"ground_truth": [row.reference for row in rows]}
    told = settings(target, use, unhurried)
    found = await asyncio.to_thread(lambda: rewards_of(["?"] * len(rows), texts, columns, **told))
    return [word(value) for value in found]


def verl_sync(target: str, use: Any, unhurried: bool) -> Callable[[Row], Awaitable[Answer]]:
    """verl's blocking function."""
    from rewarden.adapters.verl import compute_score

    async def one(row: Row) -> Answer:
        told = settings(target, use, unhurried)
        return word((await asyncio.to_thread(compute_score, "s", row.response, row.reference, {}, **told))["score"])

    return one


def verl(target: str, use: Any, unhurried: bool) -> Callable[[Row], Awaitable[Answer]]:
    """verl's asynchronous function."""
    from rewarden.adapters.verl import acompute_score

    async def one(row: Row) -> Answer:
        told = settings(target, use, unhurried)
        return word((await acompute_score("s", row.response, row.reference, {}, **told))["score"])

    return one


def slime(target: str, use: Any, unhurried: bool) -> Callable[[Row], Awaitable[Answer]]:
    """slime's custom reward."""
    from rewarden.adapters.slime import custom_rm
    from tests.adapters.test_slime import arguments, rollout

    args = arguments(target, use, rewarden=settings(target, use, unhurried))

    async def one(row: Row) -> Answer:
        sample = rollout(row.response, row.reference)
        reward = await custom_rm(args, sample)
        return "left out" if sample.remove_sample else word(reward)

    return one


def areal(target: str, use: Any, unhurried: bool) -> Callable[[Row], Awaitable[Answer]]:
    """AReaL's reward function, awaited."""
    from rewarden.adapters.areal import reward

    score = reward(**settings(target, use, unhurried))

    async def one(row: Row) -> Answer:
        return word(await score.asynchronous("?", row.response, [1], [2], answer=row.reference))

    return one


def areal_sync(target: str, use: Any, unhurried: bool) -> Callable[[Row], Awaitable[Answer]]:
    """AReaL's reward function, within its wrapper's time."""
    from rewarden.adapters.areal import reward

    score = reward(within_s=WAIT_S, **settings(target, use, unhurried))

    async def one(row: Row) -> Answer:
        return word(await asyncio.to_thread(score, "?", row.response, [1], [2], answer=row.reference))

    return one


def skyrl(target: str, use: Any, unhurried: bool) -> Callable[[Row], Awaitable[Answer]]:
    """A step of SkyRL's environment."""
    import skyrl_gym
    from skyrl_gym.envs.registration import registry

    registry.pop("rewarden", None)
    told = settings(target, use, unhurried)
    skyrl_gym.register(id="rewarden", entry_point="rewarden.adapters.skyrl:RewardenEnv", kwargs=told)

    async def one(row: Row) -> Answer:
        extras = {"reward_spec": {"method": "rule", "ground_truth": row.reference}, "data_source": "s"}
        env = skyrl_gym.make("rewarden", env_config={}, extras=extras)
        env.init([{"role": "user", "content": "?"}])
        return word((await asyncio.to_thread(env.step, row.response))["reward"])

    return one


def verifiers(target: str, use: Any, unhurried: bool) -> Callable[[Row], Awaitable[Answer]]:
    """The reward of a task of verifiers 0.4."""
    import verifiers.v1 as vf

    from rewarden.adapters.verifiers import reward
    from tests.adapters.test_verifiers import data_of, task_of, trace_of

    score = reward(**settings(target, use, unhurried))

    async def one(row: Row) -> Answer:
        task = task_of(vf, row.reference, score)
        trace = trace_of(vf, task, {"role": "assistant", "content": row.response})
        return word(await score(data_of(vf, row.reference), trace))

    return one


def rubric(target: str, use: Any, unhurried: bool) -> Callable[[Row], Awaitable[Answer]]:
    """The function of a rubric of verifiers up to 0.3."""
    from rewarden.adapters.verifiers import reward_func

    score = reward_func(**settings(target, use, unhurried))

    async def one(row: Row) -> Answer:
        state: dict[str, Any] = {}
        completion = [{"role": "assistant", "content": row.response}]
        found = await score(prompt="?", completion=completion, answer=row.reference, state=state)
        assert (state.get("error") is not None) == math.isnan(found)
        return word(found)

    return one


def rllm(target: str, use: Any, unhurried: bool) -> Callable[[Row], Awaitable[Answer]]:
    """rLLM's evaluator."""
    from rllm.types import Episode, Step, Task, Trajectory

    from rewarden.adapters.rllm import reward

    score = reward(**settings(target, use, unhurried))

    async def one(row: Row) -> Answer:
        task = Task(id="1", instruction="?", metadata={"ground_truth": row.reference})
        episode = Episode(trajectories=[Trajectory(steps=[Step(model_response=row.response)])])
        return word((await asyncio.to_thread(score.evaluate, task, episode)).reward)

    return one


def tinker(target: str, use: Any, unhurried: bool) -> Callable[[Row], Awaitable[Answer]]:
    """A step of the environment for Tinker's cookbook."""
    from rewarden.adapters.tinker import RewardenEnv
    from tests.adapters.test_tinker import Letters, renderer

    told = settings(target, use, unhurried)

    async def one(row: Row) -> Answer:
        env = RewardenEnv(renderer(), "?", {"answer": row.reference}, **told)
        return word((await env.step(Letters().encode(row.response))).reward)

    return one


def openenv(target: str, use: Any, unhurried: bool) -> Callable[[Row], Awaitable[Answer]]:
    """OpenEnv's rubric."""
    from rewarden.adapters.openenv import arubric

    told = settings(target, use, unhurried)

    async def one(row: Row) -> Answer:
        judge = arubric(**told)  # of each episode its own, as environments have them
        judge.begin({"answer": row.reference})
        return word(await judge({"message": row.response}, None))

    return one


def openrlhf_agent(target: str, use: Any, unhurried: bool) -> Callable[[Row], Awaitable[Answer]]:
    """A turn of OpenRLHF's agent."""
    from rewarden.adapters.openrlhf import settings_of
    from rewarden.adapters.openrlhf_agent import Episode
    from rewarden.adapters.scoring import Scorer

    scorer = Scorer(settings_of(**settings(target, use, unhurried)))

    async def one(row: Row) -> Answer:
        rollout = Episode(scorer, 1, "")
        await rollout.reset({"observation": "?"})
        turn = await rollout.step({"action_text": row.response, "label": row.reference})
        return word(turn["rewards"].item())

    return one


def routed(path: str, body: Callable[[Row], Any], reward: Callable[[Any], Any]) -> Front:
    """The front of a route that is asked for one sample at a time."""

    async def ask(target: str, use: Any, rows: Sequence[Row], unhurried: bool) -> list[Answer]:
        query = {"use": json.dumps(use) if isinstance(use, dict) else use}
        headers = {"Content-Type": "application/json"}
        door = asyncio.Semaphore(64)

        async def one(row: Row) -> Answer:
            async with door:
                # As clients write it: halves of surrogate pairs as escapes.
                content = json.dumps(body(row)).encode()
                answer = await http.post(f"{target}/compat/{path}", params=query, content=content, headers=headers)
                return word(reward(answer.json())) if answer.status_code == 200 else answer.status_code

        async with httpx.AsyncClient(timeout=WAIT_S) as http:
            return list(await asyncio.gather(*map(one, rows)))

    return ask


def _gym_body(row: Row) -> dict[str, Any]:
    part = {"type": "output_text", "text": row.response, "annotations": []}
    item = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    response = {"id": "r", "created_at": 0, "model": "m", "object": "response", "output": [item]}
    response |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {"responses_create_params": {"input": []}, "response": response, "expected_answer": row.reference}


def gathered(make: Maker) -> Front:
    """The front of an interface that asks for one sample at a time: all at once."""

    async def ask(target: str, use: Any, rows: Sequence[Row], unhurried: bool) -> list[Answer]:
        one = make(target, use, unhurried)
        return list(await asyncio.gather(*map(one, rows)))

    return ask


EACH: dict[str, Maker] = {
    "verl": verl,
    "verl, blocking": verl_sync,
    "slime": slime,
    "areal": areal,
    "areal, blocking": areal_sync,
    "skyrl": skyrl,
    "verifiers 0.4": verifiers,
    "verifiers up to 0.3": rubric,
    "rllm": rllm,
    "tinker": tinker,
    "openenv": openenv,
    "openrlhf, agent": openrlhf_agent,
}
"""Adapters that are asked for one sample at a time: none waits for another."""

BATCHED: dict[str, Front] = {
    "plain": plain,
    "trl": trl,
    "trl, asynchronous": trl_async,
    "verl, batch": verl_batch,
    "easyr1": easyr1,
    "openrlhf": openrlhf,
    "swift": swift,
    "nemo_rl": nemo_rl,
    "roll": roll,
}
"""Adapters that are asked for many at once."""

NEEDS = {
    "openrlhf": "torch",
    "skyrl": "skyrl_gym",
    "verifiers 0.4": "verifiers.v1",
    "verifiers up to 0.3": "verifiers.rubrics",
    "rllm": "rllm.eval.types",
    "tinker": "tinker_cookbook",
    "openenv": "openenv.core.rubrics",
    "openrlhf, agent": "torch",
}
"""Packages without which an adapter cannot be called; all others need nothing of their trainers."""

ADAPTERS: dict[str, Front] = {**BATCHED, **{name: gathered(make) for name, make in EACH.items()}}

ROUTES: dict[str, Front] = {
    "/compat/openrlhf/get_reward": routed(
        "openrlhf/get_reward",
        lambda row: {"query": [f"Q: {row.response}"], "prompts": ["Q: "], "labels": [row.reference]},
        lambda answer: answer["rewards"][0],
    ),
    "/compat/slime/rm": routed(
        "slime/rm",
        lambda row: {"prompt": "?", "response": row.response, "label": row.reference},
        lambda answer: answer,
    ),
    "/compat/gym/verify": routed(
        "gym/verify", _gym_body, lambda answer: None if answer["mask_sample"] else answer["reward"]
    ),
    "/compat/reward_model/classify": routed(
        "reward_model/classify",
        lambda row: {"model": "default", "input": row.response, "reference": row.reference},
        lambda answer: answer["data"][-1]["probs"][-1],
    ),
    "/compat/reward_model/score": routed(
        "reward_model/score",
        lambda row: {"model": "default", "text_1": "?", "text_2": row.response, "reference": row.reference},
        lambda answer: answer["data"][0]["score"],
    ),
}
