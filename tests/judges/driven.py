"""A verifier's own cases, judged by the scripted judge: quicker than over the transports, for who works on one."""

from __future__ import annotations

from rewarden_server.engine.engine import Engine
from rewarden_server.studies.case_batch import case_batch, judge_cases
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.registry import Registry
from tests.judges.scripted import ScriptedJudge


async def differences(name: str, engine: Engine, scripted: ScriptedJudge) -> dict[str, tuple[str, ...]]:
    """By title, how the verdicts of the cases differ from what they expect; empty if all go as expected."""
    cases = load_cases(Registry().get(name))
    for case in cases:
        scripted.script(*case.script)
    results = judge_cases(cases, await engine.verify(case_batch(cases)))
    return {result.case.title: result.differences for result in results if result.differences}
