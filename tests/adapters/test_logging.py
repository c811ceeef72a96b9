"""Adapters log every verdict that a trainer is given, wherever it came from."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rewarden.adapters import Scorer, Settings
from rewarden.adapters.plain import reward
from rewarden.errors import InvalidRequest
from rewarden.logging import RewardLog, to_jsonl
from rewarden.routing import routing_from_json
from rewarden.types import Sample, Verdict
from tests.client.servers import Script, judge


def broken_once(name: str) -> Any:
    """Judges, but for the first time that a sample comes."""
    left = {name}

    def judged(sample: Sample, index: int) -> Verdict:
        verdict = replace(judge(sample, index), data_source=sample.data_source)
        if sample.id in left:
            left.remove(sample.id)
            failed = {"status": "error", "score": None, "passed": None, "fault": "infra", "retryable": True}
            return replace(verdict, reason="sandbox_failed", **failed)
        return verdict

    return judged


@pytest.mark.parametrize("one_by_one", [False, True])
async def test_verdicts_are_logged_as_the_trainer_gets_them(target: str, script: Script, one_by_one: bool) -> None:
    script.judge = broken_once("1")
    log = RewardLog()
    scorer = Scorer(Settings.read(target=target, log=log))
    samples = [Sample(response=str(n), reference="1", id=str(n), data_source="gsm8k") for n in range(4)]
    if one_by_one:
        await asyncio.gather(*map(scorer.verdict, samples))
    else:
        await scorer.verdicts(samples)
    await scorer.close()
    report = log.step()
    assert report.metrics["rewarden/gsm8k/mean"] == 0.25
    assert report.metrics["rewarden/gsm8k/unscored"] == 0.0, "what was tried again until it had a score is scored"
    assert report.metrics["rewarden/all/retried"] == 0.25
    assert {row.response for row in report.worst} == {"0", "2", "3"}


async def test_a_log_that_is_given_to_an_adapter_reports_by_itself(target: str, tmp_path: Path) -> None:
    path = tmp_path / "rewards.jsonl"
    log = RewardLog(to_jsonl(path), every_s=1e-9)
    scorer = Scorer(Settings.read(target=target, log=log))
    await scorer.verdicts([Sample(response="1", reference="1")])
    await scorer.close()
    log.close()
    assert json.loads(path.read_text())["metrics"]["rewarden/all/mean"] == 1.0


async def test_a_row_that_is_not_even_sent_is_logged_with_its_data_source(target: str) -> None:
    log = RewardLog()
    routing = routing_from_json({"route": [{"data_source": "known", "use": "math"}]})
    scorer = Scorer(Settings.read(target=target, log=log, routing=routing))
    await scorer.verdicts([Sample(response="", data_source="unheard_of")])
    await scorer.verdict(Sample(response="", data_source="unheard_of"))
    await scorer.close()
    assert log.step().metrics["rewarden/unheard_of/unscored_caller"] == 1.0


async def test_the_environment_gives_every_adapter_a_log(
    target: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "rewards.jsonl"
    monkeypatch.setenv("REWARDEN_LOG", f"jsonl:{path}?every=2")
    function = reward(target=target)
    await asyncio.to_thread(function, None, ["a", "b"], answer=["a", "a"])
    settings = Settings.read()
    assert settings.log is not None
    settings.log.close()
    assert json.loads(path.read_text())["metrics"]["rewarden/all/mean"] == 0.5


def test_a_log_that_makes_no_sense_is_told_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDEN_LOG", "wandbb")
    with pytest.raises(InvalidRequest, match="wandbb"):
        Settings.read()
