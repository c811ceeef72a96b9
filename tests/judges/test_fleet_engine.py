"""The whole engine before several addresses of one judge, real HTTP servers of which some do harm."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from rewarden_server.observe.metrics import Metrics
from tests.judges import proxy as harm
from tests.judges.proxy import FaultyProxy, reply, status
from tests.judges.scripted import ScriptedJudge
from tests.judges.test_endpoint_engine import RULES, judged, running, samples, until
from tests.server.test_metrics import value


@pytest.fixture(autouse=True)
def rules(scripted: ScriptedJudge) -> None:
    """Script the replies of the upstream."""
    scripted.script(*RULES)


@pytest.fixture
async def pair(scripted: ScriptedJudge) -> AsyncIterator[tuple[FaultyProxy, FaultyProxy]]:
    """Two addresses of the scripted judge."""
    async with FaultyProxy(scripted.url) as one, FaultyProxy(scripted.url) as other:
        yield one, other


HARMS = {
    "429": status(429),
    "401": status(401),
    "404": status(404, "no such model"),
    "503": status(503),
    "reset": harm.RESET,
    "cut": harm.CUT,
    "html": harm.HTML,
    "empty": harm.EMPTY,
    "an error with 200": harm.ERROR_WITH_200,
    "a score": reply(1.0),
}


@pytest.mark.parametrize("harmed", HARMS)
async def test_one_address_that_does_harm_costs_no_sample(pair: tuple[FaultyProxy, FaultyProxy], harmed: str) -> None:
    bad, good = pair
    bad.otherwise = HARMS[harmed]
    async with running(main={"base_urls": (bad.url, good.url), "breaker_failures": 1}) as engine:
        verdicts = (await judged(engine, [*samples(20), *samples(20, "Porto")])).verdicts
        assert [verdict.score for verdict in verdicts] == [1.0] * 20 + [0.0] * 20
        assert engine.judges.status()["main"]["breaker"] == "closed"
        assert bad.requests


async def test_an_address_where_nothing_listens_costs_no_sample(scripted: ScriptedJudge) -> None:
    async with running(main={"base_urls": ("http://127.0.0.1:1/v1", scripted.url)}) as engine:
        verdicts = (await judged(engine, samples(20))).verdicts
        assert {verdict.score for verdict in verdicts} == {1.0}


async def test_forty_samples_survive_a_judge_that_is_down(pair: tuple[FaultyProxy, FaultyProxy]) -> None:
    """A minute's worth of probes, each as soon as the last one failed."""
    first, second = pair
    first.otherwise = second.otherwise = harm.RESET
    main = {"base_urls": (first.url, second.url), "retries": 4, "breaker_failures": 3, "breaker_s": 0.01}
    async with running(main=main) as engine:
        asked = asyncio.ensure_future(judged(engine, [*samples(20), *samples(20, "Porto")]))
        await until(lambda: len(first.requests) + len(second.requests) > 60)
        assert not asked.done()
        second.otherwise = None
        verdicts = (await asked).verdicts
        assert [verdict.score for verdict in verdicts] == [1.0] * 20 + [0.0] * 20


async def test_an_outage_of_all_addresses_is_an_error_and_no_zero(pair: tuple[FaultyProxy, FaultyProxy]) -> None:
    first, second = pair
    first.otherwise, second.otherwise = status(503), harm.RESET
    async with running(main={"base_urls": (first.url, second.url)}) as engine:
        for verdict in (await judged(engine, samples(4))).verdicts:
            assert (verdict.status, verdict.fault, verdict.reason) == ("error", "infra", "provider_failed")
            assert (verdict.score, verdict.retryable) == (None, True)


async def test_a_text_that_only_the_address_set_up_otherwise_refuses_is_judged(
    pair: tuple[FaultyProxy, FaultyProxy],
) -> None:
    odd, good = pair
    odd.otherwise = status(400, "content management policy")
    async with running(main={"base_urls": (odd.url, good.url)}) as engine:
        verdicts = (await judged(engine, samples(10))).verdicts
        assert {(verdict.score, verdict.flags) for verdict in verdicts} == {(1.0, ())}


async def test_a_verdict_and_its_fingerprint_are_the_same_from_every_address(
    pair: tuple[FaultyProxy, FaultyProxy], scripted: ScriptedJudge
) -> None:
    made = []
    for addresses in ((pair[0].url,), (pair[1].url,), (pair[0].url, pair[1].url, scripted.url)):
        async with running(main={"base_urls": addresses}) as engine:
            (verdict,) = (await judged(engine, samples(1))).verdicts
            made.append((verdict.score, verdict.evidence, verdict.feedback, verdict.verifier))
    assert made[0] == made[1] == made[2]


async def test_what_each_address_did_is_in_the_metrics(pair: tuple[FaultyProxy, FaultyProxy]) -> None:
    bad, good = pair
    bad.otherwise = harm.RESET
    async with running(main={"base_urls": (bad.url, good.url), "breaker_s": 600}) as engine:
        await judged(engine, samples(20))
        metrics = engine.observer
        assert isinstance(metrics, Metrics)
        metrics.judges(engine.judges.status())
        page = metrics.page().decode()
    for number, server in (("1", bad), ("2", good)):
        of = {"judge": "main", "address": number}
        assert value(page, "rewarden_judge_address_requests_total", **of) == len(server.requests)
        assert value(page, "rewarden_judge_address_in_flight", **of) == 0
    assert value(page, "rewarden_judge_address_failures_total", judge="main", address="1") == len(bad.requests)
    assert value(page, "rewarden_judge_address_failures_total", judge="main", address="2") == 0
    assert value(page, "rewarden_judge_hedges_total", judge="main") == 0
