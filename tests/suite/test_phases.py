"""Each test runs once: the phases of `make test` have no test in common, and leave none out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

from tests.suite.__main__ import ALONE, FORKS, ROOT, SHARED, files, marked
from tests.suite.record import Record


@pytest.mark.parametrize("marks", list(product((False, True), repeat=3)), ids=str)
def test_whatever_a_test_is_marked_with_it_is_in_exactly_one_phase(marks: tuple[bool, ...]) -> None:
    has = dict(zip(("needs_server", "alone", "forks"), marks, strict=True))
    phases = [name for name in (SHARED, FORKS, ALONE) if Expression.compile(name).evaluate(lambda mark, **_: has[mark])]
    assert len(phases) == 1, (has, phases)


@pytest.mark.parametrize("mark", ["alone", "forks", "stress"])
def test_marks_that_set_tests_apart_stand_in_the_tests_own_files(mark: str) -> None:
    """Their phases, and `make stress`, read only the files where such a mark is written."""
    assert set(marked(mark, [*(ROOT / "tests").rglob("*.py")])) <= set(files())


def test_make_and_ci_run_the_suite() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipes = dict(re.findall(r"^(test[\w-]*):[^\n]*\n\t@\$\(PYTHON\) -m tests\.suite ?(.*)$", makefile, re.MULTILINE))
    assert recipes == {"test": "", "test-all": "--all", "test-changed": "--changed", "test-for": "--for $(PATHS)"}
    commands = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    assert {"make test", "make test-changed", "make lint", "make demo"} <= set(commands)


FILE = """
import pytest

pytest.importorskip("no_such_package", reason="a package")
"""
TESTS = """
import pytest

def test_passes(): pass

@pytest.mark.skip(reason="for a reason")
def test_is_skipped(): pass

def test_fails(): assert 1 == 2, "one is not two"

@pytest.fixture
def broken(): raise RuntimeError("no disk")

def test_cannot_be_set_up(broken): pass
"""


@pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["one process", "two processes"])
@pytest.mark.needs_server
def test_a_run_is_recorded(tmp_path: Path, processes: tuple[str, ...]) -> None:
    (tmp_path / "test_file.py").write_text(FILE)
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_addoption, pytest_configure\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), "--record", "record.json", *processes]
    done = subprocess.run([*command, str(tmp_path)], cwd=tmp_path, env=_with_root(), capture_output=True, text=True)
    record = Record.read(tmp_path / "record.json")
    assert record.passed == 1, done.stdout
    assert record.skipped == {"test_file.py": "a package", "test_some.py::test_is_skipped": "for a reason"}
    assert record.failed == {
        "test_some.py::test_cannot_be_set_up": "RuntimeError: no disk",
        "test_some.py::test_fails": "AssertionError: one is not two assert 1 == 2",
    }
    assert len(list(record.longest(3))) == 3
    twice = Record.sum([record, record])
    assert (twice.passed, twice.skipped) == (2, record.skipped)


def _with_root() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}
