"""The recipes that ask models: each pays what its cases say, asks nobody needlessly, and never turns a dead model into
a number. What the models compute is scripted; the rest is the engine's."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from rewarden.wire.json import verdict_to_json
from rewarden_models.endpoint import ModelEndpoint
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.models.settings import ModelSettings
from rewarden_server.studies.case_batch import case_batch, judge_cases
from rewarden_verifiers.cases import Case, load_cases
from rewarden_verifiers.registry import GALLERY, Registry
from tests.models.scripted import NAME, ScriptedModel

on_one_loop = pytest.mark.asyncio(loop_scope="module")

REGISTRY = Registry()
RECIPES = sorted(
    path.stem for path in GALLERY.glob("*.yaml") if re.search(r"params\.models?}", path.read_text(encoding="utf-8"))
)
CASES = [case for name in RECIPES for case in load_cases(REGISTRY.get(name))]
ASKING = [case for case in CASES if case.script]
SILENT = [case for case in CASES if not case.script]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(process: ScriptedModel) -> AsyncIterator[Engine]:
    """One engine for all tests, whose worker has its rules loaded after the first; it remembers no number."""
    made = Engine(
        settings=EngineSettings(workers=1),
        models=ModelSettings(named={NAME: ModelEndpoint(**process.settings())}, cache_mb=0),
    )
    await made.start()
    yield made
    await made.close(drain_s=0)


async def verdicts(engine: Engine, cases: Sequence[Case]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Returns what the engine says of the samples of each case, beside the case's name."""
    found = iter((await engine.verify(case_batch(cases))).verdicts)
    return [(f"{case.verifier}: {case.title}", [verdict_to_json(next(found)) for _ in case.samples]) for case in cases]


def firsts() -> list[Case]:
    """Of each recipe the first case in which a model is asked."""
    return list({case.verifier: case for case in reversed(ASKING)}.values())


def test_at_least_sixteen_recipes_ask_models() -> None:
    assert len(RECIPES) >= 16
    assert {case.verifier for case in ASKING} == set(RECIPES)


def test_each_has_a_case_that_costs_no_model() -> None:
    gates = {case.verifier for case in SILENT if all(expect["status"] == "scored" for expect in case.expects)}
    assert gates == set(RECIPES)


def test_every_case_names_its_number_or_that_there_is_none() -> None:
    assert [case.title for case in CASES if not all("score" in expect for expect in case.expects)] == []


@on_one_loop
async def test_every_case_pays_what_it_says_and_asks_nobody_needlessly(engine: Engine, scripted: ScriptedModel) -> None:
    """Bad formats, wrong answers behind a gate, what has no substance: no model is asked, and the number is there."""
    results = judge_cases(SILENT, await engine.verify(case_batch(SILENT)))
    assert scripted.tasks == []
    for case in ASKING:
        scripted.script(*case.script)
    results += judge_cases(ASKING, await engine.verify(case_batch(ASKING)))
    assert [(one.case.verifier, one.case.title, one.differences) for one in results if one.differences] == []
    assert [rule.when for rule in scripted.rules if not rule.given] == []


@on_one_loop
async def test_a_thought_is_not_rewarded(engine: Engine, scripted: ScriptedModel) -> None:
    """RLMT: the reward model never sees it."""
    (case,) = (case for case in ASKING if (case.verifier, case.title) == ("rlmt", "behind the thought"))
    await engine.verify(case_batch([case]))
    ((_, task),) = scripted.tasks
    assert task["input"]["messages"][-1]["content"] == "Ottersund 2: it has two piers."


@on_one_loop
async def test_a_dead_model_is_never_a_number(engine: Engine, scripted: ScriptedModel) -> None:
    """Promise: a model that cannot be had is our failure, whatever else a recipe adds up."""
    for title, found in await verdicts(engine, ASKING):  # no rule: every task is answered with a failure
        dead = [one for one in found if one["status"] == "error"]
        assert dead, title
        assert all((one["fault"], one.get("score")) == ("infra", None) for one in dead), title


@on_one_loop
async def test_the_model_is_the_callers_choice(engine: Engine, scripted: ScriptedModel) -> None:
    scripted.script({"task": "choose", "when": "", "reply": {"Yes": 0, "yes": 0, "YES": 0, "No": 1, "no": 0, "NO": 0}})
    several = {"fetch": {"models": ["nobody"]}}
    cases = [
        replace(case, params={**case.params, **several.get(case.verifier, {"model": "nobody"})}) for case in firsts()
    ]
    for title, found in await verdicts(engine, cases):
        refused = [one for one in found if one["status"] == "error" and one["fault"] == "caller"]
        assert any("nobody" in one["feedback"] for one in refused), title
    assert {kind for kind, _ in scripted.tasks} == {"choose"}  # CGPO's other model
