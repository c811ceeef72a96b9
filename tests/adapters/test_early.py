"""Adapters and servers say once what would read the answers, where most early responses have none that is read."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from rewarden.adapters import Scorer, Settings, plain, scoring, trl
from rewarden.early_answers import EarlyAnswers
from rewarden.errors import Unavailable
from rewarden.types import Sample
from rewarden_server import service
from tests.client.servers import Script
from tests.server.conftest import Start

BOX = "Put your answer in \\boxed{}."
STRICT = {"name": "math", "params": {"extraction": "strict"}}
TOLD = "64 of the first 64 responses would be right with extraction: explicit; 0 are now"


@pytest.fixture(autouse=True)
def nothing_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has seen no verdict yet."""
    monkeypatch.setattr(scoring, "_early", EarlyAnswers())


class Log:
    """Remembers what a server warns of."""

    def __init__(self) -> None:
        self.warnings: list[dict[str, Any]] = []
        self.told = asyncio.Event()

    def warning(self, event: str, **bound: Any) -> None:
        self.warnings.append({"event": event, **bound})
        self.told.set()


def rows(count: int, response: str = "#### {}", prompt: str | None = None) -> list[Sample]:
    return [Sample(response=response.format(n), reference=str(n), prompt=prompt) for n in range(count)]


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "of the first" in record.getMessage()]


@pytest.mark.parametrize(
    ("use", "prompt", "name", "why"),
    [
        (STRICT, None, "math", "`extraction: explicit` would read the answer that the response marks (hash)."),
        ("math", BOX, "math", "The prompt asks for \\boxed{…}, and the response has none."),
        ("answer", BOX, "answer", "The prompt asks for \\boxed{…}, and the response has none."),
    ],
)
async def test_a_scorer_warns_once_and_scores_as_before(
    start: Start, caplog: pytest.LogCaptureFixture, use: Any, prompt: str | None, name: str, why: str
) -> None:
    scorer = Scorer(Settings.read(target=(await start()).serving.http, use=use))
    with caplog.at_level(logging.WARNING, "rewarden"):
        scores = [verdict.score for _ in range(4) for verdict in await scorer.verdicts(rows(32, prompt=prompt))]
    assert scores == [0.0] * 128
    (told,) = warned(caplog)
    assert told.startswith(f"{TOLD}, because {name} reads no answer in 64 of them. {why}")


async def test_rewards_asked_one_by_one_are_counted_too(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    scorer = Scorer(Settings.read(target=(await start()).serving.http, use=STRICT))
    with caplog.at_level(logging.WARNING, "rewarden"):
        await asyncio.gather(*(scorer.verdict(row) for row in rows(80)))
    assert [told.startswith(TOLD) for told in warned(caplog)] == [True]


@pytest.mark.parametrize("make", [plain.reward, trl.reward])
async def test_trainers_functions_warn(start: Start, caplog: pytest.LogCaptureFixture, make: Any) -> None:
    reward = make(STRICT, target=(await start()).serving.http)
    with caplog.at_level(logging.WARNING, "rewarden"):
        await asyncio.to_thread(reward, None, ["#### 4"] * 64, answer=["4"] * 64)
    assert [told.startswith(TOLD) for told in warned(caplog)] == [True]


@pytest.mark.parametrize(
    ("use", "samples"),
    [
        ("math", rows(64)),
        (STRICT, rows(64, "\\boxed{{{}}}")),
        (STRICT, [Sample(response="No idea.", reference="4")] * 64),
        (STRICT, [Sample(response="#### 4", reference="4", finish_reason="length")] * 64),
    ],
    ids=["read", "boxed", "no_answer", "cut"],
)
async def test_nothing_is_said_where_nothing_would_be_gained(
    start: Start, caplog: pytest.LogCaptureFixture, use: Any, samples: list[Sample]
) -> None:
    scorer = Scorer(Settings.read(target=(await start()).serving.http, use=use))
    with caplog.at_level(logging.WARNING, "rewarden"):
        await scorer.verdicts(samples)
    assert warned(caplog) == []


async def test_a_server_that_goes_away_costs_the_advice_and_no_score(start: Start, script: Script) -> None:
    scorer = Scorer(Settings.read(target=(await start()).serving.http, use=STRICT))

    async def away(samples: Any) -> Any:
        raise Unavailable("gone")

    scorer._asked = away  # type: ignore[method-assign]
    assert len(await scorer.verdicts(rows(64))) == 64


async def test_the_server_warns_once_and_counts_nothing_twice(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    monkeypatch.setattr(service, "_log", log)
    running = await start()
    asked = [{"response": f"Secret.\n#### {n}", "reference_key": "r"} for n in [7] * 32]
    for _ in range(4):
        answer = await running.verify(*asked, use=STRICT, shared={"r": "7"})
        assert answer.json()["verdicts"][0]["score"] == 0.0
    await asyncio.wait_for(log.told.wait(), 60)
    (told,) = log.warnings
    assert (told["event"], told["verifier"]) == ("answers are not read", "math")
    # A log holds nothing that a model wrote, nor what might quote it.
    assert told["advice"] == f"{TOLD}, because math reads no answer in 64 of them"
    metrics = (await running.http.get("/metrics")).text
    counts = [line for line in metrics.splitlines() if line.startswith("rewarden_verdicts_total") and "math" in line]
    assert sum(float(line.rpartition(" ")[2]) for line in counts) == 128
