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
"""A documentation test is named by its file, the documented item, and its line."""
_CARGO_BINARY = re.compile(r"\s*(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))")
_JEST = {"passed": PASSED, "failed": FAILED, "pending": SKIPPED, "todo": SKIPPED, "skipped": SKIPPED}
_MOST_DEPTH = 50
_MOST_NAME = 4096
"""The maximum length of a name. Attack: a report with few names that match many long ids."""
_MOST_VALUES = 1_000_000
"""The maximum number of values in a report that is parsed as a whole. Attack: millions of empty values, which take far
more memory than text.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The tests that a row names, by the row's ids: maps each to its status; tests that did not run are missing.
    prints: digests of the tests' code, by the framework's ids, if the framework reports them. failed: whether any test
    failed, including those that the row does not name. alarms, states, changed: what `inside/sitecustomize.py` saw.
    whole: whether the report is complete. python: the versions of the interpreter and the framework. refusal: why tests
    cannot be reported.
    """

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
    """Collects the tests of a report, keeping only those that a row's ids name."""

    def __init__(self, ids: Collection[str]) -> None:
        self._ids = frozenset(ids)
        self._exact: dict[str, set[str]] = {}
        self._cut: dict[str, set[str]] = {}
        self.failed = False
        self.files = frozenset(id.partition("::")[0] for id in self._ids if "::" in id)

    def note(self, id: str, status: str) -> None:
        """Records a test. Attack: a forged second line. A test that is reported twice has the worse status."""
        id = id[:_MOST_NAME]
        self.failed = self.failed or status == FAILED
        if id in self._ids:
            self._exact.setdefault(id, set()).add(status)
        head = id.partition(" ")[0]
        if head != id and head in self._ids:
            self._cut.setdefault(head, set()).add(status)

    def counts(self, id: str) -> bool:
        """Returns whether the row names a test."""
        return id in self._ids or id.partition(" ")[0] in self._ids

    def tests(self) -> dict[str, str]:
        """Returns the statuses by the row's ids.

        Published rows truncate ids at the first blank, so such an id stands for all tests that begin with it; the worst
        status counts.
        """
        found = {**self._cut, **self._exact}
        return {id: next((one for one in _WORST if one in told), min(told)) for id, told in found.items()}


def read_supervised(report: Report, ids: Collection[str]) -> Results:
    """Parses the output of `inside/supervisor.py`, limited to tests that a row names. Nothing else can write to it."""
    noted = _Noted(ids)
    try:
        told = json.loads(report.stdout)
        for id, (status, _) in told["tests"].items():
            noted.note(id, status)
        return Results(
            tests=noted.tests(),
            prints={id: mark for id, (_, mark) in told["tests"].items() if noted.counts(id)},
            failed=noted.failed,
            # Tests that do not count may run twice: a plug-in repeats flaky ones.
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
    """Returns the tests that a row names, from a report that the tests' own processes printed, or wrote to a file."""
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
    """Raises ValueError for a report with too many values, each of which begins with one of the marks."""
    if sum(text.count(mark) for mark in marks) > _MOST_VALUES:
        raise ValueError("too many values")


def _text(value: object) -> str:
    """Returns a string, truncated. Raises ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError("a name is not a string")
    return value[:_MOST_NAME]


def _tails(path: str) -> list[str]:
    """Returns the suffixes of a path, because reports may contain absolute paths."""
    parts = [part for part in path.split("/") if part][-_MOST_DEPTH:]
    return ["/".join(parts[number:]) for number in range(len(parts))]


def _junit(text: str, noted: _Noted) -> None:
    """The XML format of JUnit and compatible tools. The id is `classname.name`, or the name alone."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("entities")  # attack: nested entities that expand to enormous text
    _check_size(text, "<=")
    for case in ElementTree.fromstring(text).iter("testcase"):
        kinds = {child.tag for child in case}
        status = FAILED if kinds & {"failure", "error"} else SKIPPED if "skipped" in kinds else PASSED
        name, group = case.get("name", "")[:_MOST_NAME], case.get("classname", "")[:_MOST_NAME]
        file = case.get("file", "")[:_MOST_NAME]
        for id in {name, *([f"{group}.{name}"] if group else []), *([f"{file}::{name}"] if file else [])}:
            noted.note(id, status)
