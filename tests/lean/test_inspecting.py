"""The end of the inspection's room says whose doing it was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rewarden.errors import SandboxError
from rewarden_sandboxes.job import CaseResult, Job, Report
from rewarden_verifiers.lean.inspecting import Findings, inspect
from rewarden_verifiers.lean.inspection.main import LOADED, LOADING

LOADS, LOADS_AND_GOES_ON = f"{LOADING}\n".encode(), f"{LOADING}\nand a word of Lean's\n{LOADED}\n".encode()


class Rooms:
    """All end alike."""

    def __init__(self, report: Report) -> None:
        self.report = report

    async def run(self, job: Job) -> AsyncIterator[Any]:
        yield CaseResult(index=0, program=self.report)


def found(**report: Any) -> Findings:
    return asyncio.run(inspect(Rooms(Report(**report)), "base", b"", b"", {}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("report", "fault"),
    [
        ({"status": "time_limit", "limit": "cpu_s"}, "time_limit"),
        ({"status": "time_limit", "limit": "cpu_s", "stderr": LOADS}, "time_limit"),  # spent on the file before
        ({"status": "time_limit", "limit": "wall_s", "stderr": LOADS_AND_GOES_ON}, "time_limit"),
        ({"status": "memory_limit", "stderr": LOADS}, "memory_limit"),
        ({"status": "runtime_error", "signal": 11, "stderr": LOADS_AND_GOES_ON}, "crashed"),
        ({"status": "runtime_error", "signal": 11}, "crashed"),
    ],
)
def test_what_a_file_costs_is_its_own_doing(report: dict[str, Any], fault: str) -> None:
    assert found(**report).fault == fault


@pytest.mark.parametrize(
    "report",
    [
        {"status": "time_limit", "limit": "wall_s", "stderr": LOADS},  # a cold disk
        {"status": "runtime_error", "signal": 6, "stderr": LOADS},  # a broken toolchain
        {"status": "runtime_error", "exit_code": 1, "stderr": b"Traceback"},
        {"status": "internal_error"},
        {"status": "ok", "stdout": b"{"},
    ],
)
def test_what_breaks_without_the_file_is_nobodys_zero(report: dict[str, Any]) -> None:
    with pytest.raises(SandboxError):
        found(**report)
