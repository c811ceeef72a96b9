"""`rewarden verdicts`: another version of a verifier, and what it changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.needs_server

VERIFIER = """\
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.outcome import scored


@verifier(version="{version}")
def plugged(response: str):
    \"\"\"The rule decides.\"\"\"
    return scored(float({rule}))
"""

SAMPLES = [
    {"id": "short", "response": "yes", "use": "plugged"},
    {"id": "long", "response": "yes, yes", "use": "plugged"},
    {"id": "mates", "response": "yes", "use": "plugged", "group": "g"},
    {"id": "mates too", "response": "no", "use": "plugged", "group": "g"},
]


@dataclass
class Project:
    """A folder with a plug-in, in which the command is run."""

    folder: Path

    def plugin(self, rule: str, version: str = "1") -> None:
        """Install the plug-in, or another version of it."""
        info = self.folder / "plug-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[rewarden.verifiers]\nplugged = plug:plugged\n")
        (self.folder / "plug.py").write_text(VERIFIER.format(rule=rule, version=version))

    def run(self, *words: str, status: int = 0) -> str:
        """The command's output, or its error output if status is 2."""
        variables = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "rewarden", "verdicts", *words]
        done = subprocess.run(command, cwd=self.folder, env=variables, capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        return done.stderr if status == 2 else done.stdout

    def diff(self, *words: str, status: int = 0) -> dict[str, Any]:
        """The JSON that `diff --json` prints."""
        found: dict[str, Any] = json.loads(self.run("diff", *words, "--json", status=status))
        return found


def begun(folder: Path) -> Project:
    made = Project(folder)
    made.plugin("response == 'yes'")
    (folder / "samples.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in SAMPLES))
    return made


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A record of the samples as the first version of the plug-in judges them."""
    made = begun(tmp_path_factory.mktemp("record"))
    made.run("record", "before.jsonl", "--corpus", "samples.jsonl")
    return (made.folder / "before.jsonl").read_text()


@pytest.fixture
def project(tmp_path: Path, record: str) -> Project:
    made = begun(tmp_path)
    (tmp_path / "before.jsonl").write_text(record)
    return made


def test_nothing_is_judged_otherwise_by_the_same_version(project: Project) -> None:
    found = project.diff("before.jsonl", ".", "--check")
    assert (found["rows"], found["changed"], found["only_old"], found["only_new"]) == (4, 0, 0, 0)


def test_changes_are_listed_by_verifier_and_an_old_version_number_is_a_fault(project: Project) -> None:
    project.plugin("'yes' in response")
    found = project.diff("before.jsonl", ".", "--check", status=1)
    assert (found["by_verifier"], found["unannounced"]) == ({"plugged": 1}, ["plugged"])
    (change,) = found["changes"]
    assert (change["title"], change["fields"]["score"]) == ("long", {"old": 0.0, "new": 1.0})
    assert "plugged: 1, still version 1: raise it" in project.run("diff", "before.jsonl", ".")


def test_a_new_version_may_change_verdicts(project: Project) -> None:
    project.plugin("'yes' in response", version="2")
    found = project.diff("before.jsonl", ".", "--check")
    assert (found["changed"], found["unannounced"]) == (1, [])
    assert "version 1 → 2" in project.run("diff", "before.jsonl", ".")


def test_rows_that_are_equal_are_told_apart(project: Project) -> None:
    rows = [{**SAMPLES[0], "use": "nobody"}, SAMPLES[0], SAMPLES[0]]
    (project.folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    project.run("record", "twice.jsonl", "--corpus", "samples.jsonl")
    found = project.diff("twice.jsonl", "twice.jsonl", "--check")
    assert (found["rows"], found["changed"], found["only_old"], found["only_new"]) == (3, 0, 0, 0)


def test_two_records_are_held_against_each_other(project: Project) -> None:
    project.plugin("len(response) > 2")
    project.run("record", "after.jsonl", "--corpus", "samples.jsonl")
    assert [change["title"] for change in project.diff("before.jsonl", "after.jsonl")["changes"]] == ["long"]


def test_another_environment_judges_what_the_record_holds(project: Project) -> None:
    assert project.diff(sys.prefix, "before.jsonl")["rows"] == 4
    assert project.diff(sys.executable, ".", "--corpus", "samples.jsonl")["changed"] == 0


def test_without_a_corpus_the_cases_are_judged(project: Project) -> None:
    project.run("record", "cases.jsonl", "--verifier", "choice")
    rows = [json.loads(line) for line in (project.folder / "cases.jsonl").read_text().splitlines()]
    assert len(rows) >= 20
    assert {row["verdict"]["verifier"]["name"] for row in rows if row["verdict"].get("verifier")} == {"choice"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("diff", "nowhere", "."), "neither a record, nor an interpreter, nor a virtual environment"),
        (("diff", "samples.jsonl", "."), "samples.jsonl, line 1: not a row of a record"),
        (("diff", "before.jsonl", "other.jsonl"), "no sample in common"),
        (("diff", "missing.jsonl", "."), "missing.jsonl"),
        (("record", "out.jsonl", "--corpus", "bare.jsonl"), "needs `use`, the verifier that judges it"),
        (("record", "out.jsonl", "--corpus", "broken.jsonl"), "broken.jsonl, line 1: not JSON"),
        (("record", "out.jsonl", "--by", "/bin/false"), "/bin/false cannot judge: exit status 1"),
        (("record", "out.jsonl", "--verifier", "chioce"), "did you mean 'choice'"),
        (("record", "out.json"), "out.json: the name of a record must end in .jsonl"),
        (("diff", "before.jsonl", ".", "--verifier", "math"), "a record contains its own samples"),
    ],
)
def test_mistakes_are_named(project: Project, words: tuple[str, ...], message: str) -> None:
    row = json.loads((project.folder / "before.jsonl").read_text().splitlines()[0])
    (project.folder / "other.jsonl").write_text(json.dumps({**row, "title": "other"}) + "\n")
    (project.folder / "bare.jsonl").write_text('{"response": "yes"}\n')
    (project.folder / "broken.jsonl").write_text("{\n")
    assert message in project.run(*words, status=2)
