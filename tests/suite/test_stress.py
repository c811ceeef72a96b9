"""`make stress` repeats what is marked, counts failures, and is the only place where the full forms run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite.__main__ import ROOT
from tests.suite.hogs import hogs
from tests.suite.record import Record
from tests.suite.stress import ONLY_HERE, Rate, name_of, rates, table

TESTS = """
import itertools
import pytest

turns = itertools.count()

def test_is_not_marked(): pass

@pytest.mark.stress
def test_fails_every_second_time(): assert next(turns) % 2

@pytest.mark.stress
@pytest.mark.parametrize("size", ["small", "large"])
def test_passes(size): pass

@pytest.mark.parametrize("size", ["tame", pytest.param("wild", marks=pytest.mark.stress)])
def test_fights_with_one_parameter(size): pass

@pytest.mark.stress(full=True)
def test_is_the_full_form(): pass

@pytest.mark.stress
@pytest.mark.skip(reason="for a reason")
def test_is_skipped(): pass
"""
HOOKS = ("pytest_addoption", "pytest_collection_modifyitems", "pytest_configure", "pytest_generate_tests")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with tests, under the suite's own conftest."""
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(f"from tests.conftest import {', '.join(HOOKS)}\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = stress\n")
    return tmp_path


def run(project: Path, *flags: str) -> Record:
    """Returns what a run of pytest leaves."""
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(project), "--record", "record.json", *flags]
    subprocess.run(
        [*command, str(project)], cwd=project, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True
    )
    return Record.read(project / "record.json")


@pytest.mark.needs_server
def test_marked_tests_are_repeated_and_their_failures_counted(project: Path) -> None:
    found = rates(run(project, "--stress", "4"))
    assert [(rate.test, rate.runs, rate.failed) for rate in found] == [
        ("test_some.py::test_fails_every_second_time", 4, 2),
        ("test_some.py::test_fights_with_one_parameter[wild]", 4, 0),
        ("test_some.py::test_is_the_full_form", 4, 0),
        ("test_some.py::test_passes[large]", 4, 0),
        ("test_some.py::test_passes[small]", 4, 0),
    ]


@pytest.mark.needs_server
def test_elsewhere_each_runs_once_and_the_full_form_not_at_all(project: Path) -> None:
    record = run(project)
    assert record.passed == 5
    assert list(record.failed) == ["test_some.py::test_fails_every_second_time"]
    assert record.skipped["test_some.py::test_is_the_full_form"] == ONLY_HERE


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("a.py::t[#3]", "a.py::t"),
        ("a.py::t[docker-#12]", "a.py::t[docker]"),
        ("a.py::t[#1-docker]", "a.py::t[docker]"),
        ("a.py::t[docker-#4-a heap]", "a.py::t[docker-a heap]"),
        ("a.py::t[number #4]", "a.py::t[number #4]"),
    ],
)
def test_the_number_of_a_repetition_is_no_part_of_a_tests_name(name: str, test: str) -> None:
    assert name_of(name) == test


def test_the_table_says_how_often_each_failed() -> None:
    assert table([Rate("a.py::t", 20, 1, 3.0)])[1:] == ["     20       1    5.0%  a.py::t"]


def test_hogs_compute_until_the_end() -> None:
    def children() -> set[int]:
        return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}

    before = children()
    with hogs(2):
        assert len(children() - before) == 2
    assert children() - before == set()
