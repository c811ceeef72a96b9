"""A stranger's verifier: the package of docs/writing-a-verifier.md as it stands there, and those of `rewarden new`.

They are installed in a fresh virtual environment. The page's must then work through the command line, HTTP, gRPC, the
generated pages, and inside a group under `consensus`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from rewarden import Client
from rewarden.types import Sample
from rewarden_server import scaffold

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs/writing-a-verifier.md"
NEW = ("verifier", "recipe", "adapter")
GROUP = [Sample(response=text, reference=5, group="g") for text in ("it is 5", "5", "so 5 atoms", "6", "none")]


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a fresh environment that holds the project and the stranger's package."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv/bin/python"
    files = re.findall(r"^`([\w./]+)`\n\n```\w*\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for name, text in files:
        (folder / "atoms" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "atoms" / name).write_text(text)
    for kind in NEW:
        scaffold.write(kind, f"my_{kind}", folder / kind)
    for path in scaffold.write("verifier", "my_bare", folder / "bare"):
        if path.suffix == ".jsonl":
            path.unlink()
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python]
    packages: list[str | Path] = [
        "-c",
        ROOT / "locks/setup.lock",
        ROOT / "client",
        ROOT,
        "pytest",
        folder / "atoms",
        folder / "bare",
    ]
    packages += [folder / kind for kind in NEW]
    done = subprocess.run([*install, *packages], capture_output=True, text=True)
    if done.returncode and re.search("No module named uv|error sending request|no versions of", done.stderr):
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr
    return folder / "venv/bin"


@pytest.fixture(scope="module")
def server(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The addresses of a server in the fresh environment."""
    ready = tmp_path_factory.mktemp("ready") / "ready.json"
    command = [bin_folder / "rewarden", "serve", "--port", "0", "--grpc-port", "0", "--ready-file", ready]
    process = subprocess.Popen(command, cwd=ready.parent, env=_environment(), stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()  # printed when it serves
    yield json.loads(ready.read_text())
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    process.stdout.close()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def _rewarden(bin_folder: Path, *words: str) -> str:
    done = subprocess.run([bin_folder / "rewarden", *words], capture_output=True, text=True, env=_environment())
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line_judges(bin_folder: Path) -> None:
    out = _rewarden(
        bin_folder,
        "verify",
        "--use",
        "atom_count",
        "--response",
        "It has 5 atoms",
        "--reference-json",
        "5",
        "--format",
        "json",
    )
    assert json.loads(out)["score"] == 1.0


def test_the_command_line_lists_and_describes(bin_folder: Path) -> None:
    assert "atom_count" in _rewarden(bin_folder, "verifiers")
    assert "number of atoms" in _rewarden(bin_folder, "verifiers", "atom_count")


def test_its_cases_run(bin_folder: Path) -> None:
    assert "6 of 6 cases" in _rewarden(bin_folder, "scorecard", "--cases", "atom_count")


def _pytest(bin_folder: Path, path: Path) -> subprocess.CompletedProcess[str]:
    command = [bin_folder / "python", "-m", "pytest", "-v", "-p", "no:cacheprovider", path]
    return subprocess.run(command, capture_output=True, text=True, env=_environment(), cwd=path)


@pytest.mark.parametrize(("package", "tests"), [("atoms", 7), ("verifier", 9), ("recipe", 8)])
def test_every_case_is_a_test(bin_folder: Path, package: str, tests: int) -> None:
    done = _pytest(bin_folder, bin_folder.parent.parent / package)
    assert done.returncode == 0, done.stdout
    assert f"{tests} passed" in done.stdout
    assert "cases of every kind PASSED" in done.stdout


def test_an_adapter_passes_its_tests(bin_folder: Path) -> None:
    done = _pytest(bin_folder, bin_folder.parent.parent / "adapter")
    assert done.returncode == 0, done.stdout
    assert "test_my_adapter.py::test_a_row_has_its_score[right] PASSED" in done.stdout
    assert "11 passed" in done.stdout


def test_a_case_that_fails_says_how(bin_folder: Path, tmp_path: Path) -> None:
    wrong = {"kind": "full", "title": "one of two", "sample": {"response": "7", "reference": 8}, "why": "It is near."}
    (tmp_path / "atom_count.cases.jsonl").write_text(json.dumps({**wrong, "expect": {"score": 1.0}}) + "\n")
    done = _pytest(bin_folder, tmp_path)
    assert done.returncode == 1
    assert "2 failed" in done.stdout
    assert "score: 0.0 is not 1.0\nwhy it should: It is near." in done.stdout
    assert "there is no case of kind zero, malformed, hack, partial" in done.stdout


def test_cases_of_what_is_not_installed_are_an_error(bin_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "atom_cuont.cases.jsonl").write_text("")
    done = _pytest(bin_folder, tmp_path)
    assert done.returncode == 2
    assert "did you mean 'atom_count'?; is its package installed (pip install -e .)?" in done.stdout


def test_a_verifier_without_cases_is_no_success(bin_folder: Path) -> None:
    command = [bin_folder / "rewarden", "scorecard", "--cases", "choice", "my_bare"]
    done = subprocess.run(command, capture_output=True, text=True, env=_environment())
    assert done.returncode == 2
    assert "there are no cases for my_bare (my_bare.cases.jsonl, next to it)" in done.stderr


@pytest.mark.parametrize("surface", ["http", "grpc"])
def test_the_server_judges(server: dict[str, str], surface: str) -> None:
    with Client(server[surface]) as client:
        result = client.verify(GROUP, use={"name": "atom_count", "params": {"near": 1}})
        assert [verdict.score for verdict in result.verdicts] == [1.0, 1.0, 1.0, 0.5, 0.0]
        assert result.groups[0].passed == 3
        named = {entry["name"] for entry in client.verifiers()}
        assert "atom_count" in named


@pytest.mark.parametrize("surface", ["http", "grpc"])
def test_consensus_builds_on_it(server: dict[str, str], surface: str) -> None:
    with Client(server[surface]) as client:
        result = client.verify(GROUP, use={"name": "consensus", "params": {"use": "atom_count"}})
        assert [verdict.score for verdict in result.verdicts] == [1.0, 1.0, 1.0, 0.0, 0.0]


def test_the_generated_pages_describe_it(server: dict[str, str]) -> None:
    assert "atom_count" in httpx.get(f"{server['http']}/docs").text
    page = httpx.get(f"{server['http']}/docs/atom_count").text
    assert "The last integer of the response is the number of atoms." in page
    assert "off by at most so many" in page
    described = httpx.get(f"{server['http']}/v1/verifiers/atom_count").json()
    assert described["params_schema"]["properties"]["near"]["default"] == 0
