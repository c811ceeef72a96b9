"""A launcher that is installed and broken makes CI red; one that a machine lacks is skipped there as anywhere."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rewarden_sandboxes.launchers.bwrap import BwrapLauncher
from rewarden_sandboxes.launchers.docker import DockerLauncher
from tests import programs
from tests.programs import LAUNCHERS, absent, is_installed, problem_of
from tests.suite import __main__ as suite
from tests.suite.record import Record


@pytest.mark.parametrize("ci", ["true", None])
@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_only_what_is_installed_must_work_and_only_in_ci(
    monkeypatch: pytest.MonkeyPatch, launcher: str, installed: bool, ci: str | None
) -> None:
    async def broken(self: object, image: str) -> str:
        return "it starts no room"

    monkeypatch.setattr(BwrapLauncher if launcher == "bwrap" else DockerLauncher, "problem", broken)
    monkeypatch.setattr(programs, "is_installed", lambda name: installed)
    monkeypatch.delenv("CI", raising=False)
    if ci is not None:
        monkeypatch.setenv("CI", ci)
    reason = f"{launcher}: it starts no room"
    if installed and ci is not None:
        for ask in (lambda: absent(launcher, reason), lambda: asyncio.run(problem_of(launcher))):
            with pytest.raises(AssertionError, match=f"{launcher} is installed here and does not work: {reason}"):
                ask()
    else:
        assert absent(launcher, reason) == asyncio.run(problem_of(launcher)) == reason


def test_a_launcher_is_installed_where_its_tools_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    assert not any(map(is_installed, LAUNCHERS))
    (tmp_path / "bwrap").write_text("#!/bin/sh\n")
    (tmp_path / "bwrap").chmod(0o755)
    assert is_installed("bwrap")


@pytest.mark.parametrize("words", [[], ["--all"], ["--rest"], ["--changed"]])
@pytest.mark.parametrize(("reason", "status"), [("bwrap runs no room here: denied", 1), ("needs torch", 0)])
def test_in_ci_no_part_of_the_tests_may_skip_what_ci_has(
    monkeypatch: pytest.MonkeyPatch, words: list[str], reason: str, status: int
) -> None:
    monkeypatch.setattr(suite, "chosen", lambda given: (0, Record(skipped={"tests/a.py::test_one": reason})))
    monkeypatch.setattr(suite, "HOGS", 0)
    monkeypatch.setenv("CI", "true")
    assert suite.main(words) == status
    monkeypatch.delenv("CI")
    assert suite.main(words) == 0
