from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rewarden_server.studies.report.page import make_report
from rewarden_server.studies.report.rows import ReportOptions
from tests.report.browser import CHROMIUM, Browser

JUDGE = {"name": "math", "version": "1", "fingerprint": "f" * 8}


def scored(score: float | None = 1.0, status: str = "scored", **more: Any) -> dict[str, Any]:
    """A verdict, in its JSON form."""
    passed = None if score is None else score == 1.0
    reason = None if score == 1.0 else "wrong"
    fault = None if score == 1.0 else "policy"
    known = {"status": status, "score": score, "passed": passed, "reason": reason, "fault": fault, "verifier": JUDGE}
    return {**known, **more}


def row(response: Any = "So \\boxed{4}", score: float | None = 1.0, **more: Any) -> dict[str, Any]:
    """A row as `rescore` leaves it."""
    verdict = more.pop("verdict", None) or scored(score, extracted="4", evidence={"rule": "boxed"})
    return {"prompt": "2+2?", "response": response, "reference": "4", **more, "score": score, "verdict": verdict}


class Desk:
    """A folder with scored rows, and reports of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.input = folder / "scored.jsonl"
        self.output = folder / "report.html"

    def options(self, rows: Iterable[Mapping[str, Any]], /, **options: Any) -> ReportOptions:
        self.input.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
        return ReportOptions(**{"input": self.input, "output": self.output, **options})

    def report(self, rows: Iterable[Mapping[str, Any]], /, **options: Any) -> str:
        make_report(self.options(rows, **options))
        return self.output.read_text(encoding="utf-8")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture(scope="module")
def running() -> Iterator[Browser]:
    assert CHROMIUM is not None
    with Browser(CHROMIUM) as browser:
        yield browser


@pytest.fixture
def browser(running: Browser) -> Iterator[Browser]:
    """Nothing that a test does may make a fault, a dialog or a request."""
    for noted in (running.faults, running.dialogs, running.requests):
        noted.clear()
    running.shape(1440, 900)
    yield running
    running.run("settle()")
    assert running.faults == []
    assert running.dialogs == []
    assert all(address.startswith(("file:///", "about:blank")) for address in running.requests)
