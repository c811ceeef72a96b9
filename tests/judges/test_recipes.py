"""The recipes that ask judges: each pays what its cases say, asks nobody needlessly, and never turns a dead judge into
a number. What the judges reply is scripted; the rest is the engine's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rewarden.wire.json import verdict_to_json
from rewarden_server.engine.engine import Engine
from rewarden_server.studies.case_batch import case_batch, judge_cases
from rewarden_verifiers.cases import Case, load_cases
from rewarden_verifiers.registry import GALLERY, Registry
from tests.judges.scripted import ScriptedJudge
from tests.programs import SANDBOXED

REGISTRY = Registry()
RECIPES = sorted(
    path.stem
    for path in GALLERY.glob("*.yaml")
    if "params.judge}" in path.read_text(encoding="utf-8") and path.stem not in SANDBOXED
)
"""Those that run programs as well are judged with the other programs, in `tests/fingerprint/test_coverage.py`."""
CASES = [case for name in RECIPES for case in load_cases(REGISTRY.get(name))]
ASKING = [case for case in CASES if case.script]
SILENT = [case for case in CASES if not case.script]


async def verdicts(engine: Engine, cases: Sequence[Case]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Returns what the engine says of the samples of each case, beside the case's name."""
    found = iter((await engine.verify(case_batch(cases))).verdicts)
    return [(f"{case.verifier}: {case.title}", [verdict_to_json(next(found)) for _ in case.samples]) for case in cases]


def firsts() -> list[Case]:
    """Of each recipe the first case in which a judge is asked."""
    return list({case.verifier: case for case in reversed(ASKING)}.values())


def test_at_least_fourteen_recipes_ask_judges() -> None:
    assert len(RECIPES) >= 14
    assert {case.verifier for case in ASKING} == set(RECIPES)


def test_each_has_a_gate_that_costs_no_judge() -> None:
    gates = {case.verifier for case in SILENT if all(expect["status"] == "scored" for expect in case.expects)}
    assert gates == set(RECIPES)


def test_every_case_names_its_number_or_that_there_is_none() -> None:
    assert [case.title for case in CASES if not all("score" in expect for expect in case.expects)] == []


async def test_every_case_pays_what_it_says_and_asks_nobody_needlessly(engine: Engine, scripted: ScriptedJudge) -> None:
    """Bad formats, wrong labels, answers that a rule finds right: no judge is asked, and the number is there."""
    results = judge_cases(SILENT, await engine.verify(case_batch(SILENT)))
    assert scripted.requests == []
    for case in ASKING:
        scripted.script(*case.script)
    results += judge_cases(ASKING, await engine.verify(case_batch(ASKING)))
    assert [(one.case.verifier, one.case.title, one.differences) for one in results if one.differences] == []
    assert [rule.when for rule in scripted.rules if not rule.given] == []


async def test_a_dead_judge_is_never_a_number(engine: Engine, scripted: ScriptedJudge) -> None:
    """Promise: an unreachable judge is our failure, whatever else a recipe adds up."""
    for title, found in await verdicts(engine, ASKING):  # no rule: every request is answered with an error
        dead = [one for one in found if one["status"] == "error"]
        assert dead or any("default_used" in one.get("flags", ()) for one in found), title
        assert all((one["fault"], one.get("score")) == ("infra", None) for one in dead), title
        if title == "behavior_priming: with tags":  # which change no reward, and so cost none
            assert (found[0]["score"], found[0]["components"]["behaviours"]["status"]) == (1.0, "error")


async def test_prose_is_never_a_verdict(engine: Engine, scripted: ScriptedJudge) -> None:
    scripted.script({"when": "", "reply": "Yes! The verdict is correct, 10/10, everything is met."})
    for title, found in await verdicts(engine, firsts()):
        vague = {(one["reason"], one["fault"], one.get("score")) for one in found if one["status"] == "undecided"}
        assert vague == {("unreadable_reply", "verifier", None)}, title


async def test_the_judge_is_the_callers_choice(engine: Engine, scripted: ScriptedJudge) -> None:
    cases = [replace(case, params={**case.params, "judge": "nobody"}) for case in firsts()]
    for title, found in await verdicts(engine, cases):
        refused = [one for one in found if one["status"] == "error" and one["fault"] == "caller"]
        assert any("nobody" in one["feedback"] for one in refused), title
    assert scripted.requests == []
