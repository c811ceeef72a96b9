"""Every case of every verifier and recipe, as one batch over each transport: the same verdicts everywhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from rewarden import Client
from rewarden_server.studies.case_batch import case_batch, judge_cases
from rewarden_verifiers.cases import Case, load_cases
from rewarden_verifiers.registry import Registry
from tests.judges.scripted import ScriptedJudge
from tests.models.scripted import NAME, ScriptedModel
from tests.programs import HARDWARE, LEAN, LEAN_PROJECTS, SANDBOXED, lacking, no_lean

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]


@pytest.fixture(scope="module")
def judge() -> Iterator[dict[str, str]]:
    """The variables that name a judge and a model which answer as all cases' scripts say; set in this process too."""
    with ScriptedJudge() as made, ScriptedModel() as model, pytest.MonkeyPatch.context() as patch:
        for case in every_case():
            made.script(*case.script)
            model.script(*case.script)
        variables = {
            "REWARDEN_JUDGES_NAMED": json.dumps({"main": made.settings(retries=0)}),
            "REWARDEN_MODELS_NAMED": json.dumps({NAME: model.settings()}),
        }
        for name, value in variables.items():
            patch.setenv(name, value)
        yield variables


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory, judge: dict[str, str]) -> Iterator[dict[str, str]]:
    """The addresses of a real server, and the engine in this process."""
    ready = tmp_path_factory.mktemp("cases") / "ready.json"
    ports = ["--port", "0", "--grpc-port", "0", "--ready-file", str(ready)]
    environment = {**os.environ, **({"REWARDEN_LEAN_PROJECTS": LEAN_PROJECTS} if no_lean() is None else {}), **judge}
    process = subprocess.Popen(
        [sys.executable, "-m", "rewarden", "serve", *ports], stdout=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    process.stdout.readline()  # printed when it serves
    yield {**json.loads(Path(ready).read_text()), "local": "local"}
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    process.stdout.close()


def every_case() -> list[Case]:
    """The cases of all verifiers and recipes."""
    registry = Registry()
    return [case for name in registry for case in load_cases(registry.get(name))]


def kind_of(case: Case) -> str:
    """Returns what a case runs or asks."""
    if case.script:
        return "opinions"
    return (
        "proofs"
        if case.verifier in LEAN
        else "designs"
        if case.verifier in HARDWARE
        else "programs"
        if case.verifier in SANDBOXED
        else "texts"
    )


@pytest.mark.parametrize(
    ("kind", "target", "streamed"),
    [
        *product(("texts",), ("local", "http", "grpc"), (False, True)),
        # Texts have shown every transport both ways; programs take a sandbox's time each.
        ("programs", "http", True),
        pytest.param("programs", "local", False, marks=pytest.mark.group("transports")),
        pytest.param("programs", "grpc", False, marks=pytest.mark.group("transports")),
        *product(("opinions",), ("local", "http", "grpc"), (True,)),
        # A proof takes up to three processes, and nothing remembers it: once is enough, over whatever transport.
        ("proofs", "grpc", True),
    ],
)
def test_cases_go_as_expected(targets: dict[str, str], target: str, streamed: bool, kind: str) -> None:
    if (problem := lacking(kind)) is not None:
        pytest.skip(problem)
    cases = [case for case in every_case() if kind_of(case) == kind]
    assert len(cases) >= 100
    batch = case_batch(cases)
    with Client(targets[target], stream_above=1 if streamed else 10**9) as client:
        results = judge_cases(cases, client.verify(batch))
    assert [
        (result.case.verifier, result.case.title, result.differences) for result in results if result.differences
    ] == []
