"""`rewarden data check` on rows as data sets publish them: the rows' own solutions pass, and faults are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewarden_verifiers.execution.datasets import DATASETS
from rewarden_verifiers.execution.datasets.stored import none
from tests.data_check.command import ran, written
from tests.programs import no_sandbox
from tests.verifiers.published_rows import CODECONTESTS, CODEFORCES, KODCODE, PUBLISHED, SQUARE

pytestmark = pytest.mark.slow

needs_sandbox = pytest.mark.skipif(no_sandbox() is not None, reason=no_sandbox() or "")
ROWS = [one for one in PUBLISHED if isinstance(one.row, dict)]
LISTS = {"inputs": ["3\n", "5\n"], "outputs": ["9\n", "25\n"]}
QUICK = ("--runs", "1", "--mutants", "0")
UNSOLVED = ("APPS, calls", "SYNTHETIC-1, C++", "DeepCoder, TACO's part", "DeepCoder, PrimeIntellect's part")
"""Rows of sets that store solutions, which store none."""


def uses() -> list[str]:
    """A data source of its own for each set."""
    return [
        word
        for name in DATASETS
        for word in ("--use", f"{name}={json.dumps({'name': 'code', 'params': {'dataset': name}})}")
    ]


def errors(row: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["message"] for one in row["findings"] if one["kind"] == "error"}


def warnings(row: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["message"] for one in row["findings"] if one["kind"] == "warning"}


@needs_sandbox
@pytest.mark.needs_server
def test_the_solutions_of_each_set_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = written(tmp_path, [{**one.row, "data_source": one.dataset} for one in ROWS])
    ran(source, *uses(), "--mutants", "3", "--runs", "1", "--max-survivors", "1", "--json", "-q")
    checked = json.loads(capsys.readouterr().out)["checked"]
    assert len(checked) == len(ROWS)
    for one, row in zip(ROWS, checked, strict=True):
        stores = DATASETS[one.dataset].stored is not none and one.title not in UNSOLVED
        assert (errors(row), row["good"]) == ({}, True), one.title
        assert (row["passed"] > 0) == stores, one.title
        assert [found["name"] for found in row["findings"] if found["kind"] == "warning"] == (
            [] if stores else ["no_solution"]
        ), one.title
        assert (row["mutants"] > len(row["survivors"])) == stores, one.title


@needs_sandbox
@pytest.mark.needs_server
def test_one_word_names_the_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {**LISTS, "outputs": ["9\n", "26\n"]}
    same = {**LISTS, "outputs": ["9\n", "9\n"]}
    rows = [
        {"question": "Square.", "input_output": json.dumps(LISTS), "solutions": json.dumps([SQUARE])},
        {"question": "Square.", "input_output": json.dumps(wrong), "solutions": json.dumps([SQUARE])},
        {"question": "Square.", "input_output": json.dumps(same), "solutions": json.dumps(["print(9)"])},
        {"question": "Square.", "input_output": ""},
        {"question": "Square.", "input_output": json.dumps({"fn_name": "solution.add", **LISTS})},
    ]
    source = written(tmp_path, rows)
    assert ran(source, "--dataset", "apps", "-o", tmp_path / "good.jsonl") == 1
    plan = capsys.readouterr().err
    assert "reference       ← @row" in plan
    assert "solutions  those that rows of apps store" in plan
    told = [json.loads(line) for line in (tmp_path / "good.jsonl.check.jsonl").read_text().splitlines()]
    good, fails, constant, empty, broken = told
    assert (good["good"], good["passed"], good["solutions"], good["measured"]["cpu_share"] > 0) == (True, 1, 1, True)
    assert errors(fails).keys() == {"solution_fails"}
    assert "wrong_answer in test 1 of 2" in errors(fails)["solution_fails"]
    assert errors(constant).keys() == {"constant_passes"}
    assert "reference.input_output: is empty" in errors(empty)["invalid_reference"]
    assert "reference.input_output.inputs[0]" in errors(broken)["invalid_reference"]
    assert (tmp_path / "good.jsonl").read_bytes() == source.read_bytes().splitlines(keepends=True)[0]


@needs_sandbox
@pytest.mark.needs_server
def test_limits_and_languages_of_the_row_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = "import time\nn = int(input())\nwhile time.process_time() < 0.5:\n    pass\nprint(n ** 2)"
    rows = [
        {**CODECONTESTS, "time_limit": {"seconds": 0, "nanos": 800_000_000}, "solutions": _python(slow)},
        {**CODECONTESTS, "solutions": {"language": [1, 4], "solution": ["print 1", "class Main {}"]}},
    ]
    ran(written(tmp_path, rows), "--dataset", "codecontests", *QUICK, "--json", "-q")
    near, other = json.loads(capsys.readouterr().out)["checked"]
    assert "near_limit" in [one["name"] for one in near["findings"]]
    assert [one["name"] for one in other["findings"]] == ["no_solution"]


@needs_sandbox
@pytest.mark.needs_server
def test_programs_that_are_stored_as_wrong_ones_must_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fails, passes = "print(int(input()) + 6)", "n = int(input())\nprint(n ** 2 if n < 100 else 0)"
    broken = {"language": [2, 3, 1], "solution": ["int main() {", "print(", "print 1"]}
    rows = [
        {**CODECONTESTS, "incorrect_solutions": {"language": [3, 3, 3], "solution": [fails, f"{fails}\n", passes]}},
        {**CODECONTESTS, "incorrect_solutions": {"language": [3, 3], "solution": [passes, f"{passes}\n"]}},
        {**CODECONTESTS, "incorrect_solutions": broken},
        {**CODECONTESTS, "incorrect_solutions": {"language": [3], "solution": [passes]}, "solutions": None},
    ]
    assert (
        ran(written(tmp_path, rows), "--dataset", "codecontests", "--runs", "1", "--mutants", "3", "--json", "-q") == 1
    )
    told = json.loads(capsys.readouterr().out)
    some, weak, none_judged, unsolved = told["checked"]
    assert [(row["wrong"], row["wrong_passed"]) for row in told["checked"]] == [(3, 1), (2, 2), (1, 0), (1, 1)]
    assert (some["good"], weak["good"], none_judged["good"], unsolved["good"]) == (True, False, True, True)
    assert "1 of 3: stored as wrong" in warnings(some)["wrong_solutions_pass"]
    assert "2 of 2: stored as wrong" in errors(weak)["weak_tests"]
    assert warnings(unsolved).keys() == {"no_solution", "wrong_solutions_pass"}
    assert (told["wrong_solutions"], told["wrong_solutions_passed"]) == (7, 4)


def _python(program: str) -> dict[str, Any]:
    return {"language": [3], "solution": [program]}


@needs_sandbox
@pytest.mark.needs_server
def test_solutions_of_another_column_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {**KODCODE, "mine": "def add(a, b):\n    return a\n\ndef test_sum(a, b, c):\n    return True"},
        {**CODEFORCES, "generated_solution": SQUARE, "language": "python"},
    ]
    ran(written(tmp_path, rows[:1]), "--dataset", "kodcode", "--solutions", "mine", *QUICK, "--json", "-q")
    (row,) = json.loads(capsys.readouterr().out)["checked"]
    assert errors(row).keys() == {"solution_fails"}
    named = ["--dataset", "codeforces", "--solutions", "generated_solution"]
    ran(written(tmp_path, rows[1:]), *named, *QUICK, "--json", "-q")
    (row,) = json.loads(capsys.readouterr().out)["checked"]
    assert (row["good"], row["passed"]) == (True, 1)


@needs_sandbox
@pytest.mark.needs_server
def test_a_reference_that_is_refused_is_bad_without_a_solution(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(written(tmp_path, [{"reference": {"language": "python", "tests": []}}]), "--json", "-q") == 1
    (row,) = json.loads(capsys.readouterr().out)["checked"]
    assert "reference.tests: there are no tests" in errors(row)["invalid_reference"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dataset", "app"], "--dataset app: no such data set; did you mean 'apps'?"),
        (["--dataset", "apps", "--use", "code"], "--dataset apps replaces --use: give one of them"),
    ],
)
def test_mistakes_are_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(written(tmp_path, [{"input_output": "{}"}]), *words) == 2
    assert message in capsys.readouterr().err
