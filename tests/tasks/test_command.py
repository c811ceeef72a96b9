"""`rewarden task check`, without a sandbox: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewarden.__main__ import main
from rewarden.errors import InvalidSample, SandboxError
from rewarden_server.cli import task as command
from rewarden_verifiers.tasks.memory import Checked, StepCheck
from rewarden_verifiers.tasks.task import Task
from tests.tasks.folders import PARTS, made

GOOD, BAD, REFUSED = 0, 1, 2


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four task folders whose checks end as their names say."""

    async def checked(_boxes: Any, task: Task, *_: Any) -> Checked:
        if task.id == "host":
            raise SandboxError("the host was lost")
        if task.id == "image":
            raise InvalidSample("unknown image", path="image")
        problem = "the reward is 0" if task.id == "failing" else None
        step = StepCheck(step="", untouched=0.0, solved=0.0 if problem else 1.0, problem=problem)
        return Checked(task=task.id, digest=task.digest, image_id="", steps=(step,))

    monkeypatch.setattr(command, "checked", checked)
    monkeypatch.chdir(tmp_path)
    for name in ("failing", "good", "host", "image"):
        made(tmp_path / name, PARTS)
    made(tmp_path / "broken", {**PARTS, "task.toml": "x ="})
    return tmp_path


def test_one_task_that_cannot_be_checked_ends_no_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["task", "check", "."]) == BAD
    said = capsys.readouterr().out.splitlines()
    assert [line[:2] + line[2:].split(":")[0] for line in said] == [
        "✗ broken",
        "✗ failing",
        "✓ good",
        "✗ host",
        "✗ image",
        "5 tasks, 4 of which failed the check",
    ]
    assert said[3:5] == ["✗ host: could not be checked: the host was lost", "✗ image: unknown image"]


def test_json_has_the_problem_of_the_step(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["task", "check", "--json", "failing", "good"]) == BAD
    failing, good = json.loads(capsys.readouterr().out)
    assert list(failing)[:3] == ["task", "ok", "problem"]
    assert (failing["task"], failing["ok"], failing["problem"]) == ("failing", False, "the reward is 0")
    assert (good["task"], good["ok"], good["problem"], good["steps"][0]["solved"]) == ("good", True, None, 1.0)


def test_the_current_folder_has_its_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder / "good")
    assert main(["task", "check", "."]) == GOOD
    assert capsys.readouterr().out.startswith("✓ good: solution 1, untouched 0")


def test_without_any_sandbox_it_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["task", "check", "host"]) == REFUSED
    assert "the host was lost" in capsys.readouterr().err
    assert main(["task", "check", "gone"]) == REFUSED
