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
from rewarden_server.casebatch import case_batch, judge_cases
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.registry import Registry
from tests.programs import LEAN, LEAN_PROJECTS, SANDBOXED, lacking, no_lean

pytestmark = pytest.mark.needs_server


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The addresses of a real server, and the engine in this process."""
    ready = tmp_path_factory.mktemp("cases") / "ready.json"
    ports = ["--port", "0", "--grpc-port", "0", "--ready-file", str(ready)]
    environment = {**os.environ, **({"REWARDEN_LEAN_PROJECTS": LEAN_PROJECTS} if no_lean() is None else {})}
    process = subprocess.Popen(
        [sys.executable, "-m", "rewarden", "serve", *ports], stdout=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    process.stdout.readline()  # printed when it serves
    yield {**json.loads(Path(ready).read_text()), "local": "local"}
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    process.stdout.close()


def kind_of(name: str) -> str:
    """What the cases of a verifier or recipe run."""
    return "proofs" if name in LEAN else "programs" if name in SANDBOXED else "texts"


@pytest.mark.parametrize(
    ("kind", "target", "streamed"),
    [
        *product(("texts", "programs"), ("local", "http", "grpc"), (False, True)),
        # A proof takes up to three processes, and nothing remembers it: once is enough, over whatever transport.
        ("proofs", "grpc", True),
    ],
)
def test_cases_go_as_expected(targets: dict[str, str], target: str, streamed: bool, kind: str) -> None:
    if (problem := lacking(kind)) is not None:
        pytest.skip(problem)
    registry = Registry()
    names = [name for name in registry if kind_of(name) == kind]
    cases = [case for name in names for case in load_cases(registry.get(name))]
    assert len(cases) >= 100
    batch = case_batch(cases)
    with Client(targets[target], stream_above=1 if streamed else 10**9) as client:
        results = judge_cases(cases, client.verify(batch))
    assert [
        (result.case.verifier, result.case.title, result.differences) for result in results if result.differences
    ] == []
