"""Reports of tests, by framework."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from rewarden_sandboxes.job import Report
from rewarden_verifiers.repositories.reports import read_printed, read_supervised


def report(text: str = "", **changed: Any) -> Report:
    """Returns the report of a program that printed a text."""
    return Report(status="ok", stdout=text.encode(), stderr=b"", exit_code=0, **changed)


GO = """
=== RUN   TestAdd
--- PASS: TestAdd (0.00s)
--- FAIL: TestSum (0.01s)
    --- PASS: TestSum/small (0.00s)
    sum_test.go:9: wrong
--- SKIP: TestSlow (0.00s)
"""
CARGO = """
     Running unittests src/lib.rs (target/debug/deps/calc-0123)
test tests::adds ... ok
test tests::sums - should panic ... FAILED
     Running tests/all.rs (target/debug/deps/all-0123)
test works ... ok
test slow ... ignored, takes minutes
"""
JEST = "\n> jest --json\n" + json.dumps(
    {
        "testResults": [
            {
                "name": "/testbed/src/add.test.js",
                "assertionResults": [
                    {"fullName": "add adds", "status": "passed"},
                    {"ancestorTitles": ["add"], "title": "sums", "status": "failed"},
                    {"fullName": "add waits", "status": "pending"},
                ],
            }
        ]
    }
)
JUNIT = """<?xml version="1.0"?><testsuites><testsuite>
<testcase classname="calc.AddTest" name="adds"/>
<testcase classname="calc.AddTest" name="sums"><failure message="no"/></testcase>
<testcase classname="calc.AddTest" name="waits"><skipped/></testcase>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("framework", "text", "expected"),
    [
        ("go", GO, {"TestAdd": "passed", "TestSum": "failed", "TestSum/small": "passed", "TestSlow": "skipped"}),
        (
            "go",
            '{"Action":"pass","Package":"m/calc","Test":"TestAdd"}\n{"Action":"fail","Package":"m/calc","Test":"TestB"}',
            {"m/calc/TestAdd": "passed", "TestAdd": "passed", "TestB": "failed"},
        ),
        (
            "cargo",
            CARGO,
            {
                "tests::adds": "passed",
                "src/lib.rs::tests::adds": "passed",
                "tests::sums": "failed",
                "tests/all.rs::works": "passed",
                "slow": "skipped",
            },
        ),
        (
            "jest",
            JEST,
            {"add adds": "passed", "src/add.test.js::add adds": "passed", "add sums": "failed", "add waits": "skipped"},
        ),
        (
            "junit",
            JUNIT,
            {"calc.AddTest.adds": "passed", "calc.AddTest.sums": "failed", "calc.AddTest.waits": "skipped"},
        ),
    ],
    ids=["go -v", "go -json", "cargo", "jest", "junit"],
)
def test_a_report_is_read(framework: str, text: str, expected: dict[str, str]) -> None:
    assert read_printed(framework, report(text), None, expected).tests == expected


@pytest.mark.parametrize("framework", ["go", "cargo", "jest", "junit"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "<",
        "{}",
        '{"testResults": 3}',
        '{"testResults": [3]}',
        '{"testResults": {"a": 1}}',
        '{"testResults": [{"name": 3}]}',
        '{"testResults": [{"assertionResults": [{"fullName": "a"}]}]}',
        '{"testResults": [{"assertionResults": [{"fullName": "a", "status": ["passed"]}]}]}',
        '{"testResults": [{"assertionResults": [{"fullName": 5, "status": "passed"}]}]}',
        '{"testResults": [{"assertionResults": [{"title": {}, "status": "passed"}]}]}',
        '{"testResults": [{"assertionResults": [{"ancestorTitles": [null], "status": "passed"}]}]}',
        '{"Action": "pass", "Test": ["a"]}',
        "[" * 100_000,
        '{"Action":' + "[" * 100_000,
        "<!DOCTYPE x><a/>",
    ],
)
def test_a_broken_report_holds_no_test(framework: str, text: str) -> None:
    assert read_printed(framework, report(text), None, ["a", "5"]).tests == {}


@pytest.mark.parametrize("text", ["[]", "3", '{"tests": []}', '{"tests": {"a": []}}', '{"tests": {"a": [1, 2]}}'])
def test_a_broken_report_of_the_supervisor_holds_no_test(text: str) -> None:
    assert read_supervised(report(text), ["a"]).tests == {}


def most_memory(work: Callable[[], object]) -> int:
    """Returns the bytes that a piece of work took at most."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_report_takes_no_more_memory_than_its_size_allows() -> None:
    deep = {"name": "a/" * 10_000, "assertionResults": [{"fullName": "x", "status": "passed"}] * 100}
    many = '{"testResults": [' + "[]," * 3_000_000 + "[]]}"
    xml = "<a>" + "<b/>" * 2_000_000 + "</a>"
    for framework, text, most in (
        ("jest", json.dumps({"testResults": [deep]}), 10 << 20),
        ("jest", many, 8 * len(many)),
        ("junit", xml, 8 * len(xml)),
    ):
        found = report(text)
        assert most_memory(lambda: read_printed(framework, found, None, ["a.js::x"])) < most  # noqa: B023


def test_of_the_tests_only_those_are_kept_that_the_row_names() -> None:
    text = "".join(f"--- PASS: Test{number} (0s)\n" for number in range(1000))
    assert read_printed("go", report(text), None, ["Test7"]).tests == {"Test7": "passed"}


def test_a_failure_is_noted_whichever_test_it_is() -> None:
    for text, failed in (("--- PASS: TestA (0s)\n", False), ("--- PASS: TestA (0s)\n--- FAIL: TestB (0s)\n", True)):
        assert read_printed("go", report(text), None, ["TestA"]).failed == failed


def test_a_test_that_is_told_twice_has_the_worse_of_both() -> None:
    for text in ("--- FAIL: TestA (0s)\n--- PASS: TestA (0s)\n", "--- PASS: TestA (0s)\n--- FAIL: TestA (0s)\n"):
        assert read_printed("go", report(text), None, ["TestA"]).tests == {"TestA": "failed"}


def test_an_id_that_was_cut_at_a_blank_stands_for_all_that_begin_with_it() -> None:
    tests = {"t.py::a[x y]": "passed", "t.py::a[x z]": "failed", "t.py::b[x y]": "passed", "t.py::c": "passed"}
    told = {
        "tests": {id: [status, "1"] for id, status in tests.items()},
        "ended": True,
        "exit": 0,
        "output": "",
        "python": "",
        "refusal": None,
    }
    text = json.dumps({**told, **{name: [] for name in ("alarms", "twice", "states", "changed", "errors")}})
    found = read_supervised(report(text), ["t.py::a[x", "t.py::b[x", "t.py::c", "t.py::d"]).tests
    assert found == {"t.py::a[x": "failed", "t.py::b[x": "passed", "t.py::c": "passed"}


def test_a_supervisor_that_was_killed_has_no_report() -> None:
    for text in ("", "[]", '{"tests": {"a": 1}}'):
        found = read_supervised(report(text), ["a"])
        assert (found.whole, found.tests) == (False, {})
