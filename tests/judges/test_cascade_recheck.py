"""`cascade` between two judges: the strong one where the cheap one is unsure, and now and then to check it."""

from __future__ import annotations

from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.rechecks import Rechecks
from rewarden_server.observe.metrics import Metrics
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
async def test_a_recheck_states_whether_the_strong_judge_agrees_and_changes_nothing(
    judged: Judged, scripted: ScriptedJudge, cheap: float, strong: str, agrees: bool
) -> None:
    script(scripted, cheap, strong)
    plain = await judged("cascade", PARAMS, response="a sentence about tides")
    found = await judged("cascade", {**PARAMS, "recheck": 1}, response="a sentence about tides")
    assert (found["evidence"]["recheck"]["agrees"], found["evidence"]["recheck"]["score"]) == (agrees, strong == "yes")
    for name in ("score", "passed", "reason", "status", "feedback", "components"):
        assert found.get(name) == plain.get(name)


@pytest.mark.parametrize("strong", ["Yes, I think.", {"$reply": {"status": 503}}])
async def test_a_recheck_that_fails_is_no_disagreement_and_costs_no_verdict(
    judged: Judged, engine: Engine, scripted: ScriptedJudge, strong: Any
) -> None:
    script(scripted, 9, strong)
    found = await judged("cascade", {**PARAMS, "recheck": 1}, response="a sentence about tides")
    assert (found["status"], found["score"]) == ("scored", pytest.approx(0.9))
    assert found["evidence"]["recheck"]["agrees"] is None
    (row,) = engine.rechecks.status()
    assert (row["agreed"], row["disagreed"], row["unscored"], row["drifted"]) == (0, 0, 1, False)


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
    assert found["score"] == pytest.approx(0.9)
    assert [(row["agreed"], row["disagreed"]) for row in engine.rechecks.status()] == [(1, 0)]


async def test_the_counts_are_in_the_metrics_and_in_the_status(
    judged: Judged, engine: Engine, scripted: ScriptedJudge
) -> None:
    script(scripted, 9, "no")
    for number in range(3):
        await judged("cascade", {**PARAMS, "recheck": 1}, response=f"sentence {number}", id=str(number))
    status = engine.info()["rechecks"]
    assert [(row["rule"], row["disagreed"], row["agreement"]) for row in status] == [("judge", 3, 0.0)]
    metrics = Metrics()
    metrics.engine(engine.info())
    page = metrics.page().decode()
    assert value(page, "rewarden_cascade_rechecks_total", **PAIR, outcome="disagreed") == 3
    assert value(page, "rewarden_cascade_rechecks_total", **PAIR, outcome="agreed") == 0
    assert value(page, "rewarden_cascade_drifted", **PAIR) == 1


def noted(rechecks: Rechecks, agrees: bool | None, times: int, rule: str = "judge") -> None:
    """Note so many."""
    for _ in range(times):
        rechecks.note({"rule": rule, "then": "judge", "agrees": agrees, "expected": 0.95})


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
