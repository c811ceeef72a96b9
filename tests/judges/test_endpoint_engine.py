"""The whole engine before a server that does harm: no failure is ever a number, and nobody next to it waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rewarden.types import Batch, BatchResult, Sample, Use
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.judges.settings import JudgeEndpoint, JudgeSettings
from rewarden_server.observe.metrics import Metrics
from tests.engine.conftest import toy_registry
from tests.judges import proxy as harm
from tests.judges.proxy import Fault, FaultyProxy, reply, status
from tests.judges.scripted import ScriptedJudge
from tests.judges.stand_in import settled
from tests.server.test_metrics import value

RULES = (
    {"when": "Lisbon", "reply": {"reason": "the same city", "verdict": "correct"}},
    {"when": "Porto", "reply": {"reason": "another city", "verdict": "incorrect"}},
)


@pytest.fixture(autouse=True)
def rules(scripted: ScriptedJudge) -> None:
    """Script the replies of the upstream."""
    scripted.script(*RULES)


@pytest.fixture
async def spoiled(scripted: ScriptedJudge) -> AsyncIterator[FaultyProxy]:
    """The proxy before it."""
    async with FaultyProxy(scripted.url) as made:
        yield made


@asynccontextmanager
async def running(orchestrations: int = 64, **judges: dict[str, Any]) -> AsyncIterator[Engine]:
    """An engine with these judges; `main` is the default one. Pauses are as short as can be."""
    quick = {"model": "m", "retries": 0, "backoff_s": 0.001, "breaker_failures": 10_000}
    named = {name: JudgeEndpoint(**{**quick, **more}) for name, more in judges.items()}
    settings = EngineSettings(workers=1, orchestrations=orchestrations, cache=False)
    engine = Engine(toy_registry(), settings, Metrics(), judges=JudgeSettings(named=named, default="main"))
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close(drain_s=0)


def samples(count: int, city: str = "Lisbon") -> list[Sample]:
    """Samples about which a judge is asked, each about its own."""
    return [Sample(prompt=f"Question {n}?", response=f"It is {city}, {n}.", reference=city) for n in range(count)]


async def judged(engine: Engine, rows: list[Sample], **params: Any) -> BatchResult:
    """Their verdicts."""
    return await engine.verify(Batch(samples=rows, use=Use(name="judge", params=params)))


HARMS = {
    "429": status(429),
    "500": status(500),
    "503": status(503),
    "400": status(400, "no"),
    "401": status(401),
    "404": status(404),
    "reset": harm.RESET,
    "hang": harm.HANG,
    "slow": harm.SLOW,
    "cut": harm.CUT,
    "wrong json": harm.WRONG_JSON,
    "html": harm.HTML,
    "empty": harm.EMPTY,
    "no choices": harm.NO_CHOICES,
    "an error with 200": harm.ERROR_WITH_200,
    "a bare verdict": reply({"reason": "not a completion", "verdict": "correct"}),
    "a score": reply(1.0),
}


REFUSALS = {"400", "401", "404"}
"""The refusals of requests that are no better for being sent again."""


@pytest.mark.parametrize("harmed", HARMS)
async def test_no_failure_is_a_number(spoiled: FaultyProxy, harmed: str) -> None:
    fault = spoiled.otherwise = HARMS[harmed]
    refused = harmed in REFUSALS
    async with running(main={"base_url": spoiled.url, "retries": 1, **patience(fault)}) as engine:
        for verdict in (await judged(engine, samples(4))).verdicts:
            reason = "provider_refused" if refused else "provider_failed"
            assert (verdict.status, verdict.fault, verdict.reason) == ("error", "infra", reason)
            assert verdict.score is None
            assert verdict.retryable is not refused


@pytest.mark.parametrize("name", [name for name in HARMS if name not in ("400", "401", "404")])
async def test_what_can_be_recovered_is(spoiled: FaultyProxy, name: str) -> None:
    spoiled.spoil(HARMS[name])
    main = {"base_url": spoiled.url, "retries": 50, "concurrency": 1, **patience(HARMS[name])}
    async with running(main=main) as engine:
        right, wrong = (await judged(engine, [*samples(1), *samples(1, "Porto")])).verdicts
        assert (right.score, wrong.score) == (1.0, 0.0)
        assert len(spoiled.requests) >= 3


async def test_a_storm_of_everything_leaves_only_verdicts_that_are_true_or_none(spoiled: FaultyProxy) -> None:
    recoverable = [fault for name, fault in HARMS.items() if name not in ("400", "401", "404", "hang", "slow")]
    spoiled.spoil(*harm.each_of(recoverable, 2))
    async with running(main={"base_url": spoiled.url, "retries": 2, "concurrency": 8}) as engine:
        rows = [*samples(15), *samples(15, "Porto")]
        verdicts = (await judged(engine, rows)).verdicts
        for place, verdict in enumerate(verdicts):
            assert verdict.score in ((1.0 if place < 15 else 0.0), None)
            assert (verdict.score is None) == (verdict.status == "error")
        assert sum(verdict.score is not None for verdict in verdicts) > 10


async def test_a_chatty_reply_is_unreadable_and_no_verdict(spoiled: FaultyProxy) -> None:
    """A fence alone may be read; prose around it, with an opinion of its own, may not."""
    spoiled.otherwise = harm.CHATTY
    async with running(main={"base_url": spoiled.url}) as engine:
        for rows in (samples(1), samples(1, "Porto")):
            (verdict,) = (await judged(engine, rows)).verdicts
            assert (verdict.status, verdict.fault, verdict.reason) == ("undecided", "verifier", "unreadable_reply")
            assert verdict.score is None


async def test_a_dead_judge_s_fallback_answers_and_the_verdict_says_so(
    spoiled: FaultyProxy, scripted: ScriptedJudge
) -> None:
    spoiled.otherwise = harm.RESET
    main = {"base_url": spoiled.url, "fallback": ("second",)}
    async with running(main=main, second={"base_url": scripted.url}) as engine:
        (verdict,) = (await judged(engine, samples(1))).verdicts
        assert verdict.score == 1.0
        assert "second" in str(verdict.evidence)


async def test_a_spent_budget_is_told_apart_and_never_overdrawn(spoiled: FaultyProxy) -> None:
    async with running(main={"base_url": spoiled.url, "budget_calls": 3}) as engine:
        verdicts = (await judged(engine, samples(20))).verdicts
        assert sum(verdict.score == 1.0 for verdict in verdicts) == 3
        left = {(one.status, one.reason, one.fault, one.retryable) for one in verdicts if one.score is None}
        assert left == {("error", "budget_exhausted", "infra", False)}
        assert len(spoiled.requests) == 3


async def test_a_thousand_samples_at_a_judge_that_hangs_hold_up_nobody(
    spoiled: FaultyProxy, scripted: ScriptedJudge
) -> None:
    """Four orchestrators may be under way: not one of those that wait for the judge is."""
    spoiled.otherwise = harm.HANG
    main = {"base_url": spoiled.url, "timeout_s": 600, "concurrency": 8}
    async with running(4, main=main, second={"base_url": scripted.url}) as engine:
        stuck = asyncio.ensure_future(judged(engine, samples(1000)))
        await until(lambda: engine.judges.status()["main"]["waiting"] == 992)
        rows = [Sample(response=str(number), reference=str(number)) for number in range(50)]
        beside = await engine.verify(Batch(samples=rows, use=Use(name="toy_orchestrator")))
        assert all(verdict.status == "scored" for verdict in beside.verdicts)
        other = await judged(engine, samples(5), judge="second")
        assert [verdict.score for verdict in other.verdicts] == [1.0] * 5
        assert not stuck.done()
        stuck.cancel()
        await asyncio.gather(stuck, return_exceptions=True)
        await until(lambda: engine.judges.status()["main"]["in_flight"] == 0)
        assert engine.judges.status()["main"]["waiting"] == 0
        assert not engine.orchestrations.locked()


async def test_places_are_given_back_once_whatever_happens(spoiled: FaultyProxy) -> None:
    spoiled.spoil(status(500), harm.RESET)
    async with running(4, main={"base_url": spoiled.url, "concurrency": 2}) as engine:
        await judged(engine, samples(15), samples=2)
        await judged(engine, samples(15), samples=2)  # remembered: no place is left for it
        assert engine.orchestrations._value == 4


async def test_a_deadline_ends_the_requests_that_nobody_waits_for(spoiled: FaultyProxy) -> None:
    spoiled.otherwise = harm.HANG
    async with running(main={"base_url": spoiled.url}) as engine:
        batch = Batch(samples=samples(3), use=Use(name="judge"), deadline_s=0.3)
        result = await engine.verify(batch)
        assert {verdict.reason for verdict in result.verdicts} == {"deadline"}
        await until(lambda: spoiled.open == 0 and engine.judges.status()["main"]["in_flight"] == 0)


async def test_an_engine_that_closes_ends_its_requests(spoiled: FaultyProxy) -> None:
    spoiled.otherwise = harm.HANG
    async with running(main={"base_url": spoiled.url, "concurrency": 2}) as engine:
        asked = asyncio.ensure_future(judged(engine, samples(5)))
        await until(lambda: spoiled.open == 2)
        await engine.close(drain_s=0)
        await asyncio.gather(asked, return_exceptions=True)
        await until(lambda: spoiled.open == 0)


async def test_what_judges_did_is_in_the_metrics(spoiled: FaultyProxy) -> None:
    spoiled.spoil(status(429), harm.HTML)
    prices = {"input_usd": 1.0, "output_usd": 1.0, "budget_usd": 1.0}
    main = {"base_url": spoiled.url, "retries": 2, "concurrency": 1, **prices}
    async with running(main=main) as engine:
        await judged(engine, [*samples(2), *samples(1)])
        await judged(engine, samples(1))
        metrics = engine.observer
        assert isinstance(metrics, Metrics)
        metrics.judges(engine.judges.status())
        page = metrics.page().decode()
    questions = {how: value(page, "rewarden_judge_questions_total", judge="main", outcome=how) for how in OUTCOMES}
    assert questions == {"answered": 2, "coalesced": 1, "cached": 1, "failed": 0}
    for outcome, count in (("ok", 2), ("rate_limited", 1), ("malformed", 1)):
        assert value(page, "rewarden_judge_requests_total", judge="main", outcome=outcome) == count
    assert value(page, "rewarden_judge_retries_total", judge="main") == 2
    assert value(page, "rewarden_judge_seconds_count", judge="main") == 4
    assert value(page, "rewarden_judge_tokens_total", judge="main", kind="completion") == 2 * 10 + 1024
    spent = value(page, "rewarden_judge_cost_usd_total", judge="main")
    assert value(page, "rewarden_judge_budget_left", judge="main", of="usd") == pytest.approx(1.0 - spent)
    assert value(page, "rewarden_judge_breaker", judge="main", state="closed") == 1
    assert value(page, "rewarden_judge_breaker", judge="main", state="open") == 0
    assert value(page, "rewarden_judge_in_flight", judge="main") == 0


OUTCOMES = ("answered", "coalesced", "cached", "failed")


def patience(fault: Fault) -> dict[str, float]:
    """Little where nothing will come; else enough for a machine that has much to do."""
    return {"timeout_s": 0.3 if fault in (harm.HANG, harm.SLOW) else 60.0}


async def until(true: Callable[[], bool]) -> None:
    """Returns when it is."""
    async with asyncio.timeout(30):
        while not true():
            await settled()
            await asyncio.sleep(0.001)
