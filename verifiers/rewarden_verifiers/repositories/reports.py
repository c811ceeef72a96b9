"""The reports of tests, by framework."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from xml.etree import ElementTree

from rewarden_sandboxes.job import Report
from rewarden_verifiers.tasks.judging import tail

PASSED, FAILED, SKIPPED, XFAILED = "passed", "failed", "skipped", "xfailed"
_WORST = (FAILED, SKIPPED, XFAILED)

_GO = re.compile(r"\s*--- (PASS|FAIL|SKIP): (\S+) \(")
_CARGO = re.compile(
    r"test (\S+|\S+ - .*\(line \d+\))(?: - (?:should panic|compile fail|compile))? \.\.\. (ok|FAILED|ignored)(?:,.*)?"
)
"""The name of a documentation test is its file, what it documents, and its line."""
_CARGO_BINARY = re.compile(r"\s*(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))")
_JEST = {"passed": PASSED, "failed": FAILED, "pending": SKIPPED, "todo": SKIPPED, "skipped": SKIPPED}
_MOST_DEPTH = 50
_MOST_NAME = 4096
"""Characters of a name. Attack: a report whose few names stand for many long ids."""
_MOST_VALUES = 1_000_000
"""Values of a report that is read as a whole. Attack: millions of empty ones, which take far more memory than text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The tests that a row names, by its ids: status; those that did not run are missing. prints: a digest of the code
    of each, where the framework tells it, by the framework's ids. failed: a test failed, be it one of the row's or not.
    alarms, states, changed: what `inside/sitecustomize.py` saw. whole: the report has an end. python: the versions of
    the interpreter and the framework. refusal: why tests cannot be reported."""

    tests: Mapping[str, str] = field(default_factory=dict)
    prints: Mapping[str, str] = field(default_factory=dict)
    failed: bool = False
    alarms: Sequence[str] = ()
    states: Sequence[str] = ()
    changed: Sequence[str] = ()
    errors: Sequence[str] = ()
    whole: bool = False
    python: str = ""
    refusal: str | None = None
    exit_code: int | None = None
    output: str = ""


class _Noted:
    """The tests of a report, of which only those are kept that a row's ids name."""

    def __init__(self, ids: Collection[str]) -> None:
        self._ids = frozenset(ids)
        self._exact: dict[str, set[str]] = {}
        self._cut: dict[str, set[str]] = {}
        self.failed = False
        self.files = frozenset(id.partition("::")[0] for id in self._ids if "::" in id)

    def note(self, id: str, status: str) -> None:
        """Notes a test. Attack: a line that says it again. A test that is told twice has the worse of both."""
        id = id[:_MOST_NAME]
        self.failed = self.failed or status == FAILED
        if id in self._ids:
            self._exact.setdefault(id, set()).add(status)
        head = id.partition(" ")[0]
        if head != id and head in self._ids:
            self._cut.setdefault(head, set()).add(status)

    def counts(self, id: str) -> bool:
        """Returns whether a test is one of the row's."""
        return id in self._ids or id.partition(" ")[0] in self._ids

    def tests(self) -> dict[str, str]:
        """Returns the statuses by the ids of the row.

        Published rows cut ids at the first blank, so such an id stands for all tests that begin with it: the worst
        counts.
        """
        found = {**self._cut, **self._exact}
        return {id: next((one for one in _WORST if one in told), min(told)) for id, told in found.items()}


def read_supervised(report: Report, ids: Collection[str]) -> Results:
    """Returns what `inside/supervisor.py` printed, of the tests that a row names. Nothing else can print there."""
    noted = _Noted(ids)
    try:
        told = json.loads(report.stdout)
        for id, (status, _) in told["tests"].items():
            noted.note(id, status)
        return Results(
            tests=noted.tests(),
            prints={id: mark for id, (_, mark) in told["tests"].items() if noted.counts(id)},
            failed=noted.failed,
            # Tests that do not count may run again: a plug-in does so with flaky ones.
            alarms=(*told["alarms"], *(f"{said}: {id}" for said, id in told["twice"] if noted.counts(id))),
            states=tuple(told["states"]),
            changed=tuple(told["changed"]),
            errors=tuple(f"{name}: {said}" for name, said in told["errors"]),
            whole=bool(told["ended"]),
            python=told["python"],
            refusal=told["refusal"],
            exit_code=told["exit"],
            output=told["output"],
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return Results(exit_code=report.exit_code, output=tail(report))


def read_printed(framework: str, report: Report, written: bytes | None, ids: Collection[str]) -> Results:
    """Returns the tests that a row names, from a report that the tests' own processes have printed, or written into a
    file."""
    text = (written if written is not None else report.stdout).decode("utf-8", "replace")
    readers = {"go": _go, "cargo": _cargo, "jest": _jest, "junit": _junit}
    noted = _Noted(ids)
    try:
        readers[framework](text, noted)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, ElementTree.ParseError):
        noted = _Noted(())
    return Results(
        tests=noted.tests(),
        failed=noted.failed,
        whole=report.status in ("ok", "runtime_error"),
        exit_code=report.exit_code,
        output=tail(report),
    )


def _go(text: str, noted: _Noted) -> None:
    """`go test -json`, or `-v`. The id is the package, a slash and the test; without packages, the test."""
    names = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED, "PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED}
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                told = json.loads(line)
            except ValueError:
                continue
            if isinstance(told, dict) and told.get("Action") in names and isinstance(told.get("Test"), str):
                for id in (f"{told.get('Package', '')}/{told['Test']}", told["Test"]):
                    noted.note(id, names[told["Action"]])
        elif (found := _GO.match(line)) is not None:
            noted.note(found[2], names[found[1]])


def _cargo(text: str, noted: _Noted) -> None:
    """`cargo test`. The id is the path of the test, also with the binary before it (`tests/a.rs::b`)."""
    binary = ""
    names = {"ok": PASSED, "FAILED": FAILED, "ignored": SKIPPED}
    for line in text.splitlines():
        if (head := _CARGO_BINARY.match(line)) is not None:
            binary = head[1] or head[2]
        elif (found := _CARGO.fullmatch(line.rstrip())) is not None:
            noted.note(found[1], names[found[2]])
            if binary:
                noted.note(f"{binary}::{found[1]}", names[found[2]])


def _jest(text: str, noted: _Noted) -> None:
    """`jest --json`, or Vitest's reporter of that form. The id is the full name, also with the file before it."""
    text = text[text.index("{") :]
    _check_size(text, ",[{")
    for suite in json.loads(text)["testResults"]:
        files = [one for one in _tails(_text(suite.get("name", ""))) if one in noted.files]
        noted.failed = noted.failed or suite.get("status") == "failed"  # also one that could not run, without tests
        for one in suite.get("assertionResults", ()):
            status = _JEST.get(_text(one["status"]), FAILED)
            full = _text(one.get("fullName") or "")
            full = full or " ".join(map(_text, [*one.get("ancestorTitles", ()), one.get("title", "")]))
            for id in (full, *(f"{file}::{full}" for file in files)):
                noted.note(id, status)


def _check_size(text: str, marks: str) -> None:
    """Raises ValueError for a report of too many values, each of which one of the marks begins."""
    if sum(text.count(mark) for mark in marks) > _MOST_VALUES:
        raise ValueError("too many values")


def _text(value: object) -> str:
    """Returns a string, cut. Raises ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError("a name is not a string")
    return value[:_MOST_NAME]


def _tails(path: str) -> list[str]:
    """Returns the ends of a path, since reports have it from the root of the file system."""
    parts = [part for part in path.split("/") if part][-_MOST_DEPTH:]
    return ["/".join(parts[number:]) for number in range(len(parts))]


def _junit(text: str, noted: _Noted) -> None:
    """The XML that JUnit, and tools that follow it, write. The id is `classname.name`, or the name alone."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("entities")  # attack: each of a few entities stands for many others
    _check_size(text, "<=")
    for case in ElementTree.fromstring(text).iter("testcase"):
        kinds = {child.tag for child in case}
        status = FAILED if kinds & {"failure", "error"} else SKIPPED if "skipped" in kinds else PASSED
        name, group = case.get("name", "")[:_MOST_NAME], case.get("classname", "")[:_MOST_NAME]
        file = case.get("file", "")[:_MOST_NAME]
        for id in {name, *([f"{group}.{name}"] if group else []), *([f"{file}::{name}"] if file else [])}:
            noted.note(id, status)
