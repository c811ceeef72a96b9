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
    minutes = "$(if $(MINUTES),--minutes $(MINUTES))"
    assert recipes == {
        "test": "",
        "test-all": "--all",
        "test-changed": f"--changed {minutes}",
        "test-for": "--for $(PATHS)",
    }
    commands = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    changed = "make test-changed MINUTES=$(( left > 1 ? left : 1 ))"
    assert {"make test", changed, "make lint", "make demo"} <= set(commands)


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
    printed, record = _run(tmp_path, TESTS, *processes)
    assert record.passed == 1, printed
    assert record.skipped == {"test_file.py": "a package", "test_some.py::test_is_skipped": "for a reason"}
    assert record.failed == {
        "test_some.py::test_cannot_be_set_up": "RuntimeError: no disk",
        "test_some.py::test_fails": "AssertionError: one is not two assert 1 == 2",
    }
    assert len(list(record.longest(3))) == 3
    twice = Record.sum([record, record])
    assert (twice.passed, twice.skipped) == (2, record.skipped)


@pytest.mark.needs_server
def test_failures_are_told_before_the_run_ends(tmp_path: Path) -> None:
    printed, _ = _run(tmp_path, TESTS)
    told, _, summary = printed.partition("= FAILURES =")
    assert summary
    assert "FAILED test_some.py::test_fails: AssertionError: one is not two" in told


HANGS = """
import threading

def test_hangs(): threading.Event().wait()

def test_comes_after(): pass
"""


@pytest.mark.needs_server
def test_one_test_that_hangs_fails_and_names_its_line(tmp_path: Path) -> None:
    printed, record = _run(tmp_path, HANGS, "-o", "timeout=1")
    assert list(record.failed) == ["test_some.py::test_hangs"]
    assert record.passed == 1
    assert "threading.Event().wait()" in printed


@pytest.mark.needs_server
def test_no_test_begins_after_the_time_that_a_run_is_given(tmp_path: Path) -> None:
    _, record = _run(tmp_path, TESTS, "--until", "1")
    assert not record.failed
    assert record.skipped["test_some.py::test_passes"] == "no time is left in this run"


def _run(folder: Path, tests: str, *flags: str) -> tuple[str, Record]:
    """Returns what pytest prints of these tests, and its record."""
    (folder / "test_some.py").write_text(tests)
    hooks = "pytest_addoption, pytest_configure, pytest_runtest_setup"
    (folder / "conftest.py").write_text(f"from tests.conftest import {hooks}\n")
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(folder), "--record", "record.json", *flags]
    with_root = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, str(folder)], cwd=folder, env=with_root, capture_output=True, text=True)
    return done.stdout, Record.read(folder / "record.json")
