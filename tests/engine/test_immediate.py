"""Recipes all of whose verifiers are inline: judged at once, without a task, and with the same verdicts as by one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from rewarden.types import Batch, Progress, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.scope import Scope
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.recipes import judge
from rewarden_verifiers.registry import Registry


def recipe(**fields: Any) -> dict[str, Any]:
    return {"name": "mine", "version": "1", "uses": {"answer": "text"}, **fields}


NESTED = recipe(uses={"answer": {"recipe": {"uses": {"inner": "text"}, "score": "inner.score"}}}, score="answer.score")

RECIPES: dict[str, dict[str, Any]] = {
    "one": recipe(score="answer.score"),
    "two at once": recipe(
        uses={"answer": "text", "form": {"name": "format", "params": {"contains": ["<answer>"]}}},
        score="0.9 * answer.score + (form.passed ? 0.1 : 0.0)",
    ),
    "a table, shaping, exclusion": recipe(
        table=[{"when": "answer.passed", "score": 1, "reason": "well_done"}, {"otherwise": 0}],
        shaping=[
            {"length": {"kind": "cosine", "by": "words", "max": 9, "exceeded": -1, "correct": {"start": 1, "end": 0}}}
        ],
        exclude=[{"when": "has(sample.finish_reason) && sample.finish_reason == 'length'", "reason": "truncated"}],
        range=[-2, 2],
    ),
    "a fallback": recipe(score="answer.score", fallback=0.25),
    "a default": recipe(uses={"answer": {"name": "text", "default": 0.5}}, score="answer.score"),
    "a cascade": recipe(uses={"answer": {"cascade": ["choice", "text"]}}, score="answer.score"),
    "a gate that spares the second": recipe(
        uses={"form": {"name": "format", "params": {"contains": ["<answer>"]}}, "answer": "text"},
        score="form.passed ? answer.score : 0.0",
    ),
    "a signal that some lack": recipe(score="answer.score * sample.signals.a"),
    "a defect": recipe(score="1.0 / (answer.score - 1.0)", range=[-1, 1]),
    "within another": NESTED,
    "its own reference": recipe(uses={"answer": {"name": "text", "reference": "metadata.other"}}, score="answer.score"),
}

SAMPLES = [
    Sample(response="<answer>Paris</answer>", reference="Paris", signals={"a": 0.5}, metadata={"other": "Rome"}),
    Sample(response="<answer>Rome</answer>", reference="Paris", signals={"a": 1}, metadata={"other": "Rome"}),
    Sample(response="I do not know", reference="Paris", metadata={"other": "Rome", "run": "first"}),
    Sample(response="<think>hm", reference="Paris", finish_reason="length"),
    Sample(response="<answer>Paris</answer>", reference=None, signals={"a": 0.5}),
    Sample(response="<answer>Paris</answer>", reference={"not": "a text"}, id="seven"),
    Sample(response="<answer>B</answer>", reference="B", signals={"a": float(2**60)}),
]

Make = Callable[[], Awaitable[Engine]]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """Makes engines with the built-in verifiers; closes them at the end."""
    made: list[Engine] = []

    async def make() -> Engine:
        engine = Engine(Registry(), EngineSettings(workers=1), warm=())
        await engine.start()
        made.append(engine)
        return engine

    yield make
    for engine in made:
        await engine.close(drain_s=0)


async def judged(engine: Engine, given: dict[str, Any], samples: list[Sample], **fields: Any) -> list[Verdict]:
    """The verdicts, without their times."""
    result = await engine.verify(Batch(samples=samples, use=Use(recipe=given), **fields))
    return [replace(verdict, queue_s=0.0, run_s=0.0) for verdict in result.verdicts]


@pytest.mark.parametrize("given", RECIPES.values(), ids=RECIPES)
async def test_verdicts_are_those_of_a_task(given: dict[str, Any], make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(judge, "directly", lambda recipe: None)
        by_tasks = await judged(await make(), given, SAMPLES)
    monkeypatch.delattr(Scope, "_orchestrate")
    assert await judged(await make(), given, SAMPLES) == by_tasks
    assert len({(verdict.status, verdict.score) for verdict in by_tasks}) > 1


@pytest.mark.parametrize("step", [0, 20])
async def test_a_recipe_that_calls_a_worker_only_later_is_judged_then_too(step: int, make: Make) -> None:
    given = recipe(
        uses={
            "answer": {
                "name": "accuracy",
                "params": {"verifier": {"cel": "progress.step >= 10.0 ? 'math' : 'text'"}, "options": {}},
            }
        },
        inputs=["progress"],
        score="answer.score",
    )
    samples = [Sample(response=r"\boxed{0.5}", reference="1/2")]
    (verdict,) = await judged(await make(), given, samples, progress=Progress(step=step, total_steps=100))
    assert (verdict.status, verdict.score) == ("scored", 1.0 if step else 0.0)


async def test_a_missing_field_costs_no_neighbour_its_verdict(make: Make) -> None:
    found = await judged(await make(), RECIPES["a signal that some lack"], SAMPLES)
    assert [verdict.status for verdict in found[:3]] == ["scored", "scored", "error"]
    assert "signals.a" in (found[2].feedback or "")
