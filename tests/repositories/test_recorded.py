"""Reports that the frameworks themselves printed, once, about a small package in each language.

Jest 29.7.0 on Node 20.20.2 (`jest --json`), Node's own runner of that version (`node --test --test-reporter=junit`),
Go 1.19.8 (`go test -v ./...`, and with `-json`), and Cargo 1.95.0 (`cargo test --no-fail-fast`, with stderr among its
lines, and without). Paths were replaced.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewarden_sandboxes.job import Report
from rewarden_verifiers.repositories.reports import read_printed

RECORDED = Path(__file__).parent / "recorded"

GO = {
    "TestAdd": "passed",
    "TestSum": "failed",
    "TestSum/small": "passed",
    "TestSum/with_blank": "failed",
    "TestSlow": "skipped",
    "ExampleAdd": "passed",
}
CARGO = {
    "tests::adds": "passed",
    "tests::sums": "failed",
    "tests::panics": "passed",
    "tests::slow": "skipped",
    "works": "passed",
    "src/lib.rs - add (line 3)": "passed",
}
REPORTS = {
    "jest.json": (
        "jest",
        {
            "add adds": "passed",
            "add sums": "failed",
            "add is 1 + 0": "passed",
            "add waits": "skipped",
            "add carries": "skipped",
            "src/add.test.js::add is 2 + 0": "passed",
        },
    ),
    "node.xml": ("junit", {"adds": "failed", "test.doubles": "failed"}),
    "go.txt": ("go", GO),
    "go.jsonl": ("go", {**GO, **{f"example.com/calc/{name}": status for name, status in GO.items()}}),
    "cargo-stdout.txt": ("cargo", CARGO),
    "cargo.txt": ("cargo", {**CARGO, "src/lib.rs::tests::adds": "passed", "tests/all.rs::works": "passed"}),
}
MISSING = ["never runs", "forged", "BenchmarkAdd", "calc"]
"""Names that occur in the sources, in the reports, or in what a passing test printed, and are no tests that ran."""


@pytest.mark.parametrize("name", REPORTS)
def test_what_a_framework_printed_is_read(name: str) -> None:
    framework, expected = REPORTS[name]
    report = Report(status="runtime_error", stdout=(RECORDED / name).read_bytes(), stderr=b"", exit_code=1)
    found = read_printed(framework, report, None, [*expected, *MISSING])
    assert found.tests == expected
    assert (found.failed, found.whole) == (True, True)


def test_a_suite_of_jest_that_cannot_run_is_a_failure_that_its_exit_code_may_tell() -> None:
    told = json.loads((RECORDED / "jest.json").read_bytes())
    told["testResults"] = [suite for suite in told["testResults"] if suite["name"].endswith("broken.test.js")]
    assert [suite["assertionResults"] for suite in told["testResults"]] == [[]]
    report = Report(status="runtime_error", stdout=json.dumps(told).encode(), stderr=b"", exit_code=1)
    assert read_printed("jest", report, None, ["never runs"]).failed
