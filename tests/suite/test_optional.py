"""The suite is collected on any machine: a package that is not there skips tests, with its reason, and fails none."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib

from tests.suite.blocked import WITHOUT
from tests.suite.needs import need_of
from tests.suite.optional import NAMES, OPTIONAL
from tests.suite.record import Record

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BUILT_ON = {"numpy": ("pycocotools", "scipy", "shapely", "sklearn")}
"""Packages that no machine has without the key's: their compiled parts cannot be read, and do not say so by name."""


def collected(folder: Path, *without: str, files: tuple[str, ...] = ()) -> Record:
    """Returns what happens when the suite, or some files of it, is collected without these packages."""
    record = folder / "record.json"
    plugins = ("-p", "tests.suite.blocked", "-p", "pytest_asyncio.plugin", "-p", "pytest_timeout")
    command = [sys.executable, "-m", "pytest", *plugins, "--collect-only", "--record", str(record)]
    # Of the other plugins none has a part in reading files, and each process would import them all.
    environment = {**os.environ, WITHOUT: ",".join(without), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([*command, *files], cwd=ROOT, env=environment, capture_output=True, text=True)
    found = Record.read(record)
    assert found.failed == {}, done.stdout[-4000:]
    assert done.returncode in (0, 5), done.stdout[-4000:] + done.stderr  # 5: every file was skipped
    return found


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """The suite collected where none of the packages is there."""
    return collected(tmp_path_factory.mktemp("bare"), *NAMES)


def test_without_all_of_them_nothing_fails_and_every_reason_is_known(bare: Record) -> None:
    assert bare.skipped, "files whose subject is missing are skipped whole"
    assert {reason for reason in bare.skipped.values() if need_of(reason) is None} == set()


@pytest.mark.parametrize("name", sorted(NAMES))
def test_without_one_of_them_nothing_fails(tmp_path: Path, bare: Record, name: str) -> None:
    """A file that was read to its end without all of them needs none. The others stopped at the first, and may yet
    need a second that they do not ask for. What is not installed, every run of the tests proves anyway."""
    files = [file for file in bare.skipped if name in (ROOT / file).read_text(encoding="utf-8")]
    if files and importlib.util.find_spec(name):
        collected(tmp_path, name, *BUILT_ON.get(name, ()), files=tuple(files))


def test_every_extra_is_among_them() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(extras) - {"all"} <= set(OPTIONAL)
