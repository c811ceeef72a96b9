"""The record that a run of pytest leaves for its readers: how long each test took, and what was skipped and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest


@dataclass
class Record:
    """One run, or several added up.

    seconds: by test, set-up and tear-down included. skipped: the reason by test, or by file where a whole file was
    skipped while it was collected. failed: what went wrong, by test or file; its first lines.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    passed: int = 0

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Record:
        """The record in a file; an empty one where the run ended before it wrote one."""
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else cls()

    @classmethod
    def sum(cls, records: Iterable[Record]) -> Record:
        """All of them as one."""
        total = cls()
        for record in records:
            total.seconds |= record.seconds
            total.skipped |= record.skipped
            total.failed |= record.failed
            total.passed += record.passed
        return total

    def longest(self, count: int) -> Iterator[tuple[str, float]]:
        """The tests that took longest, the longest first."""
        yield from sorted(self.seconds.items(), key=lambda each: -each[1])[:count]


_FAULT = 400
"""Characters of a fault that are kept."""


def _fault(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Returns what the exception said; the end of the whole text where there was none, as when a process died."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = report.longreprtext[-_FAULT:] if crash is None else crash.message[:_FAULT]
    return " ".join(text.split())


class Recorder:
    """The plugin that makes a record; under pytest-xdist it listens in the process that gives out the tests.

    It tells of each failure at once: a run that is ended from outside has said by then what failed.
    """

    def __init__(self, path: Path, tell: Callable[[str], None]) -> None:
        self.path = path
        self.record = Record()
        self._tell = tell

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test was set up, ran, or was torn down."""
        record = self.record
        record.seconds[report.nodeid] = round(record.seconds.get(report.nodeid, 0.0) + report.duration, 3)
        self._note(report)
        record.passed += report.when == "call" and report.passed

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file was read."""
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and isinstance(report.longrepr, tuple):
            self.record.skipped[report.nodeid] = report.longrepr[2].removeprefix("Skipped: ")
        elif report.failed and report.nodeid not in self.record.failed:
            self.record.failed[report.nodeid] = _fault(report)
            self._tell(f"FAILED {report.nodeid}: {self.record.failed[report.nodeid]}")

    def pytest_sessionfinish(self) -> None:
        """All tests have ended."""
        self.record.write(self.path)
