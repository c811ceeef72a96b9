"""`cascade` between two judges: the strong one where the cheap one is unsure, and now and then to check it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rewarden.types import Batch, Outcome, Progress, Sample, Use
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.rechecks import Rechecks
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.judges.settings import JudgeEndpoint, JudgeSettings
from rewarden_server.observe.metrics import Metrics
from rewarden_verifiers.outcome import scored
from rewarden_verifiers.recheck import Recheck
from tests.judges.conftest import Judged
from tests.judges.scripted import ScriptedJudge
from tests.server.test_metrics import value

CHEAP = {"mode": "scale", "scale": {"low": 0, "high": 10}, "prompt": {"user": "Cheap: {{ response }}"}}
STRONG = {"mode": "accept", "prompt": {"user": "Strong: {{ response }}"}}
PARAMS: dict[str, Any] = {
    "rule": {"name": "judge", "params": CHEAP},
    "then": {"name": "judge", "params": STRONG},
    "threshold": 0.8,
    "reject": 0.2,
}
PAIR = {"rule": "judge", "then": "judge"}


def script(scripted: ScriptedJudge, cheap: float, strong: Any) -> None:
    """Script what both say."""
    reply = {"reason": "it looked", "verdict": strong} if strong in ("yes", "no") else strong
    scripted.script(
        {"when": "Cheap: ", "reply": {"reason": "a glance", "score": cheap}}, {"when": "Strong: ", "reply": reply}
    )


@pytest.mark.parametrize(
    ("cheap", "branch", "score"),
    [(9, "rule", 0.9), (8, "rule", 0.8), (7, "then", 1.0), (5, "then", 1.0), (3, "then", 1.0), (2, "rule", 0.2)],
)
async def test_the_strong_judge_is_asked_only_where_the_cheap_one_is_unsure(
    judged: Judged, scripted: ScriptedJudge, cheap: float, branch: str, score: float
) -> None:
    script(scripted, cheap, "yes")
    found = await judged("cascade", PARAMS, response="a sentence about tides")
    assert (found["evidence"]["branch"], found["score"]) == (branch, pytest.approx(score))
    assert len(scripted.requests) == (1 if branch == "rule" else 2)
    assert "recheck" not in found["evidence"]


@pytest.mark.parametrize(
    ("cheap", "strong", "agrees"), [(9, "yes", True), (9, "no", False), (1, "yes", False), (1, "no", True)]
)
async def test_a_recheck_counts_whether_the_strong_judge_agrees_and_changes_nothing(
    judged: Judged, engine: Engine, scripted: ScriptedJudge, cheap: float, strong: str, agrees: bool
) -> None:
    script(scripted, cheap, strong)
    plain = await judged("cascade", PARAMS, response="a sentence about tides")
    found = await judged("cascade", {**PARAMS, "recheck": 1}, response="a sentence about tides")
    assert found["evidence"].pop("recheck") == PAIR
    for verdict in (plain, found):
        # The cheap judge's reply is remembered for the second verdict.
        for name in ("queue_s", "run_s", "verifier"):
            verdict.pop(name)
        verdict["evidence"].pop("usage")
    assert found == plain
    await engine.rechecks.settle()
    (row,) = engine.rechecks.status()
    assert (row["agreed"], row["disagreed"]) == (int(agrees), int(not agrees))


@pytest.mark.parametrize("strong", ["Yes, I think.", {"$reply": {"status": 503}}])
async def test_a_recheck_that_fails_is_no_disagreement_and_costs_no_verdict(
    judged: Judged, engine: Engine, scripted: ScriptedJudge, strong: Any
) -> None:
    script(scripted, 9, strong)
    found = await judged("cascade", {**PARAMS, "recheck": 1}, response="a sentence about tides")
    assert (found["status"], found["score"]) == ("scored", pytest.approx(0.9))
    await engine.rechecks.settle()
    (row,) = engine.rechecks.status()
    assert (row["agreed"], row["disagreed"], row["unscored"], row["drifted"]) == (0, 0, 1, False)


async def test_a_verdict_does_not_wait_for_a_strong_judge_that_hangs(scripted: ScriptedJudge) -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        while await reader.read(65536):
            pass
        writer.close()
        left.set()

    hanging = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = hanging.sockets[0].getsockname()[1]
    judges = {
        "main": JudgeEndpoint(**scripted.settings(retries=0)),
        "hangs": JudgeEndpoint(model="m", base_url=f"http://127.0.0.1:{port}/v1", retries=0),
    }
    script(scripted, 9, "yes")
    engine = Engine(settings=EngineSettings(workers=1), judges=JudgeSettings(named=judges, default="main"))
    await engine.start()
    try:
        strong = {"name": "judge", "params": {**STRONG, "judge": "hangs"}}
        use = Use(name="cascade", params={**PARAMS, "then": strong, "recheck": 1})
        # Were the recheck within the verdict, only the deadline would end it, unscored.
        batch = Batch(samples=[Sample(response="a sentence about tides")], use=use, deadline_s=60)
        (verdict,) = (await engine.verify(batch)).verdicts
        assert verdict.score == pytest.approx(0.9)
        await asked.wait()
        assert engine.rechecks.status() == []  # it is still open
    finally:
        await engine.close(drain_s=0)
    (row,) = engine.rechecks.status()
    assert (row["then"], row["given_up"], row["agreement"], row["drifted"]) == ("judge (hangs)", 1, None, False)
    await left.wait()  # nothing is asked on behalf of an engine that is closed
    hanging.close()


async def test_rechecks_that_nobody_answers_are_bounded_and_counted() -> None:
    forever = asyncio.Event()
    begun: list[str | None] = []

    async def again(sample: Sample, progress: Progress | None) -> Outcome:
        begun.append(sample.id)
        await forever.wait()
        raise AssertionError

    rechecks = Rechecks(again)
    for number in range(1000):
        rechecks.begin(recheck(), Sample(id=str(number), response=""))
    await asyncio.sleep(0)
    (row,) = rechecks.status()
    assert (begun, row["given_up"]) == ([str(number) for number in range(8)], 1000 - 256)
    await rechecks.close()
    (row,) = rechecks.status()
    assert row["given_up"] == 1000
    rechecks.begin(recheck(), Sample(response=""))
    assert rechecks.status() == [row]  # closed


async def test_where_the_strong_judge_decides_nothing_is_rechecked(
    judged: Judged, engine: Engine, scripted: ScriptedJudge
) -> None:
    script(scripted, 5, "yes")
    found = await judged("cascade", {**PARAMS, "recheck": 1}, response="a sentence about tides")
    assert ("recheck" in found["evidence"], engine.rechecks.status()) == (False, [])


async def test_rows_are_drawn_by_their_id_whatever_the_policy_writes(engine: Engine, scripted: ScriptedJudge) -> None:
    script(scripted, 9, "yes")
    use = Use(name="cascade", params={**PARAMS, "recheck": 0.25})

    async def drawn(text: str) -> list[str | None]:
        rows = [Sample(id=f"row {number}", response=f"{text} {number}") for number in range(200)]
        verdicts = (await engine.verify(Batch(samples=rows, use=use))).verdicts
        return [one.id for one in verdicts if "recheck" in one.evidence]

    first = await drawn("a sentence about tides")
    assert 25 < len(first) < 80
    assert await drawn("another sentence about something else") == first


async def test_a_cascade_within_a_cascade_is_counted_once(
    judged: Judged, engine: Engine, scripted: ScriptedJudge
) -> None:
    script(scripted, 9, "yes")
    inner = {"name": "cascade", "params": {**PARAMS, "recheck": 1}}
    found = await judged("cascade", {"rule": inner, "then": "judge"}, response="a sentence about tides")
    assert (found["score"], "recheck" in found["evidence"]) == (pytest.approx(0.9), False)
    await engine.rechecks.settle()
    assert [(row["agreed"], row["disagreed"]) for row in engine.rechecks.status()] == [(1, 0)]


async def test_the_counts_are_in_the_metrics_and_in_the_status(
    judged: Judged, engine: Engine, scripted: ScriptedJudge
) -> None:
    script(scripted, 9, "no")
    for number in range(3):
        await judged("cascade", {**PARAMS, "recheck": 1}, response=f"sentence {number}", id=str(number))
    await engine.rechecks.settle()
    status = engine.info()["rechecks"]
    assert [(row["rule"], row["disagreed"], row["agreement"]) for row in status] == [("judge", 3, 0.0)]
    metrics = Metrics()
    metrics.engine(engine.info())
    page = metrics.page().decode()
    assert value(page, "rewarden_cascade_rechecks_total", **PAIR, outcome="disagreed") == 3
    assert value(page, "rewarden_cascade_rechecks_total", **PAIR, outcome="agreed") == 0
    assert value(page, "rewarden_cascade_drifted", **PAIR) == 1


async def test_a_recheck_is_not_rechecked_itself(judged: Judged, engine: Engine, scripted: ScriptedJudge) -> None:
    script(scripted, 9, "yes")
    inner = {"name": "cascade", "params": {**PARAMS, "recheck": 1}}
    await judged("cascade", {**PARAMS, "then": inner, "recheck": 1}, response="a sentence about tides")
    await engine.rechecks.settle()
    assert [(row["then"], row["agreed"]) for row in engine.rechecks.status()] == [("cascade", 1)]


def recheck(rule: str = "judge") -> Recheck:
    """Of a yes."""
    return Recheck(use=Use(name="judge"), rule=rule, then="judge", passed=True, threshold=None, expected=0.95)


def noted(rechecks: Rechecks, agrees: bool, times: int, rule: str = "judge") -> None:
    """Note so many."""
    for _ in range(times):
        rechecks.note(recheck(rule), scored(float(agrees), passed=agrees))


def test_drift_needs_an_interval_below_what_is_expected_and_passes_when_it_does() -> None:
    rechecks = Rechecks()
    noted(rechecks, True, 18)
    noted(rechecks, False, 2)
    assert not rechecks.status()[0]["drifted"]  # 0.9 of 20 may be 0.95
    noted(rechecks, True, 162)
    noted(rechecks, False, 18)
    (row,) = rechecks.status()
    assert (row["agreement"], row["drifted"]) == (0.9, True)
    noted(rechecks, True, 200)  # only the latest ones count
    (row,) = rechecks.status()
    assert (row["agreement"], row["drifted"], row["disagreed"]) == (1.0, False, 20)


def test_made_up_names_are_one_row() -> None:
    rechecks = Rechecks()
    for number in range(1000):
        noted(rechecks, True, 1, f"name {number}")
    rows = rechecks.status()
    assert len(rows) == 65
    assert sum(row["agreed"] for row in rows) == 1000


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"threshold": 0.2}, "params.reject"),
        ({"threshold": None}, "params.reject"),
        ({"recheck": 1.5}, "params.recheck"),
        ({"agreement": -1}, "params.agreement"),
    ],
)
async def test_what_means_nothing_is_refused(judged: Judged, params: Any, path: str) -> None:
    found = await judged("cascade", {**PARAMS, **params}, response="a sentence")
    assert (found["status"], found["fault"]) == ("error", "caller")
    assert path in str(found)
