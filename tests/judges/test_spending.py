"""The cost of judges is told with the sample that caused it, and counted at its place in the run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rewarden.types import BadSample, Batch, Group, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.judges.settings import JudgeEndpoint, JudgeSettings
from rewarden_verifiers.chat import Usage
from tests.engine.conftest import toy_registry
from tests.judges import proxy as harm
from tests.judges.proxy import FaultyProxy, status
from tests.judges.scripted import ScriptedJudge
from tests.server.conftest import Start, plugin, start
from tests.server.test_runs import get, points, runs

__all__ = ["plugin", "start"]

PRICES = {"input_usd": 2.0, "output_usd": 10.0}
"""US dollars for a million tokens."""

RULES = (
    {"when": "Lisbon", "reply": {"reason": "the same city", "verdict": "correct"}},
    {"when": "Porto", "reply": {"reason": "another city", "verdict": "incorrect"}},
    {"when": ["Lisbon", "Porto"], "reply": {"reason": "it is right", "better": "tie"}},
)


@pytest.fixture(autouse=True)
def rules(scripted: ScriptedJudge) -> None:
    """Script the replies."""
    scripted.script(*RULES)


class Told:
    """A tap that remembers what was spent, by the response of its sample."""

    def __init__(self) -> None:
        self.usages: list[tuple[Any, Usage]] = []

    def open(self, header: Batch) -> Told:
        return self

    def verdict(self, sample: Sample | BadSample, verdict: Verdict) -> None:
        pass

    def group(self, group: Group, members: Any) -> None:
        pass

    def spent(self, sample: Sample, usage: Usage) -> None:
        self.usages.append((sample.response, usage))

    def close(self) -> None:
        pass


@asynccontextmanager
async def tapped(**judge: Any) -> AsyncIterator[tuple[Engine, Told]]:
    """An engine with one judge, and what its tap was told."""
    quick = {"model": "m", "retries": 0, "backoff_s": 0.001, "breaker_failures": 10_000, **PRICES}
    judges = JudgeSettings(named={"main": JudgeEndpoint(**{**quick, **judge})}, default="main")
    told = Told()
    engine = Engine(toy_registry(), EngineSettings(workers=1), judges=judges, open_tap=told.open)
    await engine.start()
    try:
        yield engine, told
    finally:
        await engine.close(drain_s=0)


def asked(response: str, **fields: Any) -> Sample:
    return Sample(prompt="Where is it?", response=response, reference=response, **fields)


async def until(held: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not held():
            await asyncio.sleep(0.005)


async def test_each_request_is_told_with_the_sample_that_caused_it(scripted: ScriptedJudge) -> None:
    async with tapped(base_url=scripted.url) as (engine, told):
        rows = [asked("It is Lisbon."), asked("It is Porto.")]
        await engine.verify(Batch(samples=rows, use=Use(name="judge", params={"samples": 2})))
        assert sorted(response for response, _ in told.usages) == ["It is Lisbon."] * 2 + ["It is Porto."] * 2
        for _, usage in told.usages:
            tokens = usage.prompt_tokens, usage.completion_tokens
            assert usage.cost_usd == pytest.approx((2.0 * tokens[0] + 10.0 * tokens[1]) / 1e6)
        told.usages.clear()
        await engine.verify(Batch(samples=rows[:1], use=Use(name="judge", params={"samples": 2})))
        assert told.usages == [], "a remembered reply is not paid for again"


async def test_a_shared_request_is_told_once(scripted: ScriptedJudge) -> None:
    async with tapped(base_url=scripted.url) as (engine, told):
        await engine.verify(Batch(samples=[asked("It is Lisbon.")] * 3, use=Use(name="judge")))
    assert len(told.usages) == len(scripted.requests) == 1


async def test_a_request_without_a_verdict_is_told_too(scripted: ScriptedJudge) -> None:
    async with FaultyProxy(scripted.url) as spoiled, tapped(base_url=spoiled.url, retries=1) as (engine, told):
        spoiled.spoil(status(429), harm.HTML)
        await engine.verify(Batch(samples=[asked("It is Lisbon.")], use=Use(name="judge")))
        refused, garbled = (usage for _, usage in told.usages)
        assert refused.cost_usd is None, "a refused request costs nothing"
        assert garbled.cost_usd, "the model may have worked on a request whose reply is unreadable"


async def test_a_request_that_outlives_its_sample_is_told(scripted: ScriptedJudge) -> None:
    async with FaultyProxy(scripted.url) as spoiled, tapped(base_url=spoiled.url) as (engine, told):
        spoiled.otherwise = harm.HANG
        late = Batch(samples=[asked("It is Lisbon.")], use=Use(name="judge"), deadline_s=0.2)
        (verdict,) = (await engine.verify(late)).verdicts
        assert verdict.reason == "deadline"
        await until(lambda: bool(told.usages))
        ((response, usage),) = told.usages
        assert response == "It is Lisbon."
        assert usage.cost_usd


async def test_a_group_s_requests_are_its_first_member_s(scripted: ScriptedJudge) -> None:
    async with tapped(base_url=scripted.url) as (engine, told):
        group = [asked("It is Lisbon.", group="g"), asked("It is Porto.", group="g")]
        await engine.verify(Batch(samples=group, use=Use(name="listwise")))
    assert told.usages
    assert {response for response, _ in told.usages} == {"It is Lisbon."}


async def test_a_run_shows_what_it_spent_by_step_and_data_source(start: Start, scripted: ScriptedJudge) -> None:
    named = {"main": {**scripted.settings(**PRICES)}, "free": scripted.settings()}
    server = await start({"judges.named": json.dumps(named), "judges.default": "main"})
    row = {"prompt": "Where is it?", "metadata": {"run": "r"}}
    for step, city, source in ((1, "Lisbon", "maps"), (2, "Porto", "maps"), (2, "Lisbon, I say", "atlas")):
        sample = {**row, "response": f"It is {city}.", "reference": city, "data_source": source}
        envelope = {"use": "judge", "progress": {"step": step}}
        (verdict,) = (await server.verify(sample, **envelope)).json()["verdicts"]
        assert verdict["status"] == "scored"
    free = {"use": {"name": "judge", "params": {"judge": "free"}}, "progress": {"step": 3}}
    await server.verify({**row, "response": "It is Porto, is it?", "reference": "Porto", "data_source": "maps"}, **free)
    rows = await points(server)
    assert [(one["at"], one["source"], one["judge_calls"], bool(one["cost_usd"])) for one in rows] == [
        (1, "maps", 1, True),
        (2, "maps", 1, True),
        (2, "atlas", 1, True),
        (3, "maps", 1, False),
    ]
    (run,) = await runs(server)
    total = sum(one["cost_usd"] for one in rows)
    assert run["cost_usd"] == pytest.approx(total)
    counts = await get(server, "counts")
    assert (counts["judge_calls"], counts["cost_usd"]) == (4, pytest.approx(total))
    assert counts["judge_tokens"] == sum(one["judge_tokens"] for one in rows) > 0
