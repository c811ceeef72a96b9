"""Tests are chosen by the files that they reach: nothing that a test loads may be missing there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite import reach
from tests.suite.changes import since_green
from tests.suite.reach import PACKAGES, ROOT, TESTS

pytestmark = pytest.mark.slow

VERIFIERS = PACKAGES["rewarden_verifiers"]
SANDBOXES = PACKAGES["rewarden_sandboxes"]
SERVER = PACKAGES["rewarden_server"]


@pytest.mark.parametrize(
    ("changed", "test"),
    [
        ("verifiers/rewarden_verifiers/answer/math/compare.py", "verifiers/math/test_equal.py"),
        ("verifiers/rewarden_verifiers/answer/math/compare.py", "adapters/test_verl.py"),  # by the verifier's name
        ("verifiers/rewarden_verifiers/recipes/gallery/code_all.yaml", "recipes/test_gallery.py"),
        (
            "sandboxes/rewarden_sandboxes/agent/candidate_client.py",
            "attacks/sandbox/test_hacks.py",
        ),  # sent into the sandbox
        ("sandboxes/rewarden_sandboxes/languages.yaml", "sandbox/test_problems.py"),
        ("server/rewarden_server/cli/serve.py", "adapters/test_grpo.py"),  # in a process of its own
        ("server/rewarden_server/cli/rescore.py", "rescore/test_cli.py"),  # by an entry point
        ("server/rewarden_models/forward.py", "models/test_process_real.py"),
        ("client/rewarden/adapters/trl.py", "adapters/test_grpo.py"),
        ("tests/server/conftest.py", "server/test_edge.py"),
        ("examples/trl/grpo.py", "adapters/test_grpo.py"),
        ("docker-compose.yml", "compose/test_stack.py"),
        ("pyproject.toml", "verifiers/math/test_equal.py"),
        ("tests/conftest.py", "verifiers/math/test_equal.py"),
    ],
)
def test_a_change_reaches(changed: str, test: str) -> None:
    assert TESTS / test in reach.tests_reached({ROOT / changed})


@pytest.mark.parametrize(
    ("changed", "test"),
    [
        ("verifiers/rewarden_verifiers/answer/math/compare.py", "sandbox/test_stdin.py"),
        ("verifiers/rewarden_verifiers/science/molecule.py", "sandbox/test_robustness.py"),
        ("client/rewarden/adapters/trl.py", "models/test_forward.py"),
        ("server/rewarden_server/http/app.py", "sandbox/test_stdin.py"),
        ("README.md", "adapters/test_grpo.py"),
    ],
)
def test_a_change_does_not_reach(changed: str, test: str) -> None:
    assert TESTS / test not in reach.tests_reached({ROOT / changed})


def test_a_verifier_is_proven_by_the_tests_that_import_it_and_the_cases() -> None:
    near = {str(path.relative_to(TESTS)) for path in reach.tests_near({VERIFIERS / "answer/math/compare.py"})}
    assert {"verifiers/math/test_equal.py", "verifiers/test_cases.py"} <= near
    assert not any(name.startswith(("server/", "sandbox/", "adapters/")) for name in near)


LOADED = """
import json, sys, pytest
from pathlib import Path
status = pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[2:]])
files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
Path(sys.argv[1]).write_text(json.dumps([str(status.value), *filter(None, files)]))
"""


@pytest.mark.parametrize(
    "name",
    [
        "verifiers/math/test_outcomes.py",  # imports
        "client/test_weight.py",
        "recipes/test_evaluate.py",
        "sandbox/test_tagged_codec.py",
    ],
)
def test_what_a_test_really_loads_is_reached(tmp_path: Path, name: str) -> None:
    told = tmp_path / "loaded.json"
    command = [sys.executable, "-c", LOADED, str(told), str(TESTS / name)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    status, *files = json.loads(told.read_text())
    assert status == "0", done.stdout
    ours = {Path(file) for file in files if any(Path(file).is_relative_to(folder) for folder in PACKAGES.values())}
    own = {path for path in ours if path.is_relative_to(TESTS)}
    assert own, "the test's own modules are among them"
    stubs = {path for path in ours if path.parent.name == "v1"}
    assert ours - stubs - reach.reached(TESTS / name) == set()


def repository(folder: Path) -> Path:
    git(folder, "init", "-q")
    git(folder, "config", "user.email", "a@example.org")
    git(folder, "config", "user.name", "A")
    for name in ("kept.py", "changed.py", "removed.py"):
        (folder / name).write_text("first\n")
    (folder / ".gitignore").write_text("ignored.py\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    (folder / ".ci").mkdir()
    (folder / ".ci/green").write_text(git(folder, "rev-parse", "HEAD"))
    return folder


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout


def test_changes_are_those_since_the_commit_that_is_recorded(tmp_path: Path) -> None:
    folder = repository(tmp_path)
    assert since_green(folder) == set()
    (folder / "changed.py").write_text("second\n")
    (folder / "removed.py").unlink()
    git(folder, "commit", "-qam", "second")
    (folder / "new.py").write_text("not committed\n")
    (folder / "ignored.py").write_text("no matter\n")
    assert since_green(folder) == {folder / name for name in ("changed.py", "removed.py", "new.py")}


@pytest.mark.parametrize("recorded", [None, "", "0" * 40 + "\n", "no commit\n"])
def test_where_nothing_tells_everything_is_taken_as_changed(tmp_path: Path, recorded: str | None) -> None:
    folder = repository(tmp_path)
    if recorded is None:
        (folder / ".ci/green").unlink()
    else:
        (folder / ".ci/green").write_text(recorded)
    assert since_green(folder) is None
