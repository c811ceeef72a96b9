"""The memory of rows' checks, and what refuses a row."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from rewarden_verifiers.repositories import checking
from rewarden_verifiers.repositories.bench import Bench, Ran
from rewarden_verifiers.repositories.checking import Checks, RowCheck, checked
from rewarden_verifiers.repositories.reference import SweReference
from rewarden_verifiers.repositories.reports import Results
from rewarden_verifiers.repositories.row import read_reference
from rewarden_verifiers.tasks.judging import Size
from rewarden_verifiers.tasks.shelf import Shelf
from tests.repositories.made import row

ADD, TWICE = "tests/test_core.py::test_add", "tests/test_core.py::test_twice"
DAY = 86_400.0


class Boxes:
    """Boxes of which only the common work is needed."""

    async def together(self, key: str, work: Callable[[], Coroutine[Any, Any, RowCheck]]) -> RowCheck:
        return await work()


def ran(add: str, python: str = "3.11") -> Ran:
    """Returns a run in which the test of the fix had a status."""
    return Ran(end="ended", results=Results(tests={ADD: add, TWICE: "passed"}, whole=True, exit_code=0, python=python))


@pytest.fixture
def bench() -> Bench:
    """Returns all that the check of a row needs."""
    boxes: Any = Boxes()
    return Bench(boxes=boxes, row=read_reference(SweReference(**row())), size=Size(), image_id="", tree={})


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Ran]:
    """The runs that happen, one after the other."""
    coming: list[Ran] = []

    async def run_tests(own: Bench, patch: object) -> Ran:
        return coming.pop(0)

    monkeypatch.setattr(checking, "run_tests", run_tests)
    return coming


async def test_a_row_that_fails_once_is_not_refused(bench: Bench, runs: list[Ran], tmp_path: Path) -> None:
    runs += [ran("failed"), ran("failed"), ran("failed"), ran("passed")]
    assert (await checked(bench, Checks(Shelf(tmp_path)))).problem is None


async def test_a_row_whose_tests_cannot_be_reported_is_refused(bench: Bench, runs: list[Ran], tmp_path: Path) -> None:
    runs += [Ran(end="ended", results=Results(whole=True, refusal="not so"))] * 2
    assert (await checked(bench, Checks(Shelf(tmp_path)))).problem == "reference.command: not so"


async def test_a_refusal_is_remembered_for_a_day(bench: Bench, runs: list[Ran], tmp_path: Path) -> None:
    clock = [0.0]
    checks = Checks(Shelf(tmp_path), lambda: clock[0])
    runs += [ran("failed")] * 4
    refused = await checked(bench, checks)
    assert "do not pass" in (refused.problem or "")
    clock[0] = DAY - 1
    assert (await checked(bench, checks)).problem == refused.problem
    clock[0] = DAY + 1
    runs += [ran("failed"), ran("passed")]
    assert (await checked(bench, checks)).problem is None
    clock[0] = 100 * DAY
    assert (await checked(bench, checks)).solved


async def test_the_check_of_another_python_is_made_again(bench: Bench, runs: list[Ran], tmp_path: Path) -> None:
    checks = Checks(Shelf(tmp_path))
    runs += [ran("failed"), ran("passed")]
    assert (await checked(bench, checks)).python == "3.11"
    assert (await checked(bench, checks, "3.11")).python == "3.11"
    runs += [ran("failed", "3.12"), ran("passed", "3.12")]
    assert (await checked(bench, checks, "3.12")).python == "3.12"
    assert (await checked(bench, checks)).python == "3.12"


async def test_the_check_of_other_code_of_ours_is_made_again(
    bench: Bench, runs: list[Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for digest in ("a", "b"):
        monkeypatch.setattr(checking, "digest_of_ours", lambda digest=digest: digest)
        runs += [ran("failed"), ran("passed")]
        await checked(bench, Checks(Shelf(tmp_path)))
        assert not runs
