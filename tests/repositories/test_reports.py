"""Reports of tests, by framework."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewarden_sandboxes.job import Report
from rewarden_verifiers.repositories.reports import read_printed, read_supervised, status_of


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
    tests = read_printed(framework, report(text), None).tests
    assert {id: tests.get(id) for id in expected} == expected


@pytest.mark.parametrize("framework", ["go", "cargo", "jest", "junit"])
@pytest.mark.parametrize("text", ["", "{", "<", '{"testResults": 3}', "[" * 100_000, "<!DOCTYPE x><a/>"])
def test_a_broken_report_holds_no_test(framework: str, text: str) -> None:
    assert read_printed(framework, report(text), None).tests == {}


def test_a_test_that_is_told_twice_has_the_worse_of_both() -> None:
    assert read_printed("go", report("--- FAIL: TestA (0s)\n--- PASS: TestA (0s)\n"), None).tests == {"TestA": "failed"}


def test_an_id_that_was_cut_at_a_blank_stands_for_all_that_begin_with_it() -> None:
    tests = {"t.py::a[x y]": "passed", "t.py::a[x z]": "failed", "t.py::b[x y]": "passed", "t.py::c": "passed"}
    found = {id: status_of(tests, id) for id in ("t.py::a[x", "t.py::b[x", "t.py::c", "t.py::d")}
    assert found == {"t.py::a[x": "failed", "t.py::b[x": "passed", "t.py::c": "passed", "t.py::d": None}


def test_a_supervisor_that_was_killed_has_no_report() -> None:
    for text in ("", "[]", '{"tests": {"a": 1}}'):
        found = read_supervised(report(text))
        assert (found.whole, found.tests) == (False, {})
