"""The reports of tests, by framework."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.etree import ElementTree

from rewarden_sandboxes.job import Report
from rewarden_verifiers.tasks.judging import tail

PASSED, FAILED, SKIPPED, XFAILED = "passed", "failed", "skipped", "xfailed"

_GO = re.compile(r"\s*--- (PASS|FAIL|SKIP): (\S+) \(")
_CARGO = re.compile(r"test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)(?:,.*)?")
_CARGO_BINARY = re.compile(r"\s*(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))")
_JEST = {"passed": PASSED, "failed": FAILED, "pending": SKIPPED, "todo": SKIPPED, "skipped": SKIPPED}
_MOST_DEPTH = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Tests by id: status. prints: a digest of the code of each, where the framework tells it. alarms, states, changed:
    what `inside/sitecustomize.py` saw. whole: the report has an end."""

    tests: Mapping[str, str] = field(default_factory=dict)
    prints: Mapping[str, str] = field(default_factory=dict)
    alarms: Sequence[str] = ()
    states: Sequence[str] = ()
    changed: Sequence[str] = ()
    errors: Sequence[str] = ()
    whole: bool = False
    exit_code: int | None = None
    output: str = ""


def read_supervised(report: Report) -> Results:
    """Returns what `inside/supervisor.py` printed. Nothing else can print there."""
    try:
        told = json.loads(report.stdout)
        return Results(
            tests={id: status for id, (status, _) in told["tests"].items()},
            prints={id: mark for id, (_, mark) in told["tests"].items()},
            alarms=tuple(told["alarms"]),
            states=tuple(told["states"]),
            changed=tuple(told["changed"]),
            errors=tuple(f"{name}: {said}" for name, said in told["errors"]),
            whole=bool(told["ended"]),
            exit_code=told["exit"],
            output=told["output"],
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return Results(exit_code=report.exit_code, output=tail(report))


def read_printed(framework: str, report: Report, written: bytes | None) -> Results:
    """Returns the tests in a report that the tests' own processes have printed, or written into a file."""
    text = (written if written is not None else report.stdout).decode("utf-8", "replace")
    readers = {"go": _go, "cargo": _cargo, "jest": _jest, "junit": _junit}
    try:
        tests = readers[framework](text)
    except (ValueError, TypeError, AttributeError, RecursionError, ElementTree.ParseError):
        tests = {}
    return Results(
        tests=tests, whole=report.status in ("ok", "runtime_error"), exit_code=report.exit_code, output=tail(report)
    )


def _noted(tests: dict[str, str], id: str, status: str) -> None:
    """Notes a test. Attack: a line that says it again. A test that is told twice has the worse of both."""
    known = tests.get(id)
    tests[id] = status if known is None or known == PASSED else known


def _go(text: str) -> dict[str, str]:
    """`go test -json`, or `-v`. The id is the package, a slash and the test; without packages, the test."""
    tests: dict[str, str] = {}
    names = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED, "PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED}
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                told = json.loads(line)
            except ValueError:
                continue
            if isinstance(told, dict) and told.get("Action") in names and isinstance(told.get("Test"), str):
                for id in (f"{told.get('Package', '')}/{told['Test']}", told["Test"]):
                    _noted(tests, id, names[told["Action"]])
        elif (found := _GO.match(line)) is not None:
            _noted(tests, found[2], names[found[1]])
    return tests


def _cargo(text: str) -> dict[str, str]:
    """`cargo test`. The id is the path of the test, also with the binary before it (`tests/a.rs::b`)."""
    tests: dict[str, str] = {}
    binary = ""
    names = {"ok": PASSED, "FAILED": FAILED, "ignored": SKIPPED}
    for line in text.splitlines():
        if (head := _CARGO_BINARY.match(line)) is not None:
            binary = head[1] or head[2]
        elif (found := _CARGO.fullmatch(line.rstrip())) is not None:
            _noted(tests, found[1], names[found[2]])
            if binary:
                _noted(tests, f"{binary}::{found[1]}", names[found[2]])
    return tests


def _jest(text: str) -> dict[str, str]:
    """`jest --json`, or Vitest's reporter of that form. The id is the full name, also with the file before it."""
    told = json.loads(text[text.index("{") :])
    tests: dict[str, str] = {}
    for suite in told["testResults"]:
        path = str(suite.get("name", ""))
        for one in suite.get("assertionResults", ()):
            status = _JEST.get(one["status"], FAILED)
            full = one.get("fullName") or " ".join([*one.get("ancestorTitles", ()), one.get("title", "")])
            for id in {full, *(f"{tail_}::{full}" for tail_ in _tails(path))}:
                _noted(tests, id, status)
    return tests


def _tails(path: str) -> list[str]:
    """Returns the ends of a path, since reports have it from the root of the file system."""
    parts = [part for part in path.split("/") if part]
    return ["/".join(parts[number:]) for number in range(len(parts))][:_MOST_DEPTH]


def _junit(text: str) -> dict[str, str]:
    """The XML that JUnit, and tools that follow it, write. The id is `classname.name`, or the name alone."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("entities")  # attack: each of a few entities stands for many others
    tests: dict[str, str] = {}
    for case in ElementTree.fromstring(text).iter("testcase"):
        kinds = {child.tag for child in case}
        status = FAILED if kinds & {"failure", "error"} else SKIPPED if "skipped" in kinds else PASSED
        name, group = case.get("name", ""), case.get("classname", "")
        file = case.get("file", "")
        for id in {name, *([f"{group}.{name}"] if group else []), *([f"{file}::{name}"] if file else [])}:
            _noted(tests, id, status)
    return tests


def status_of(tests: Mapping[str, str], id: str) -> str | None:
    """Returns the status of a test by the id that the row has; None: it did not run.

    Published rows cut ids at the first blank, so such an id stands for all tests that begin with it: the worst counts.
    """
    found = tests.get(id)
    if found is not None or not id or " " in id:
        return found
    several = {status for name, status in tests.items() if name.startswith(id + " ")}
    if not several:
        return None
    return next((status for status in (FAILED, SKIPPED) if status in several), min(several))
