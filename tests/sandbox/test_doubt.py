"""The report of a supervisor on a run that ended between its soft and its hard limit, or that the host starved."""

from __future__ import annotations

import pytest

from rewarden_sandboxes.agent.reports import Report
from rewarden_sandboxes.agent.supervisor import Supervisor


def report(doubt: str | None, status: str = "ok", cpu_time: float = 1.0) -> Report:
    made = Report.__new__(Report)
    made.doubt, made.kept, made.flags = doubt, -1, []
    made.said = {"status": status, "limit": None, "exit_code": 0, "cpu_time": cpu_time, "idle_time": 0.0}
    return made


class Runs(Supervisor):
    """A supervisor whose runs end as they are told to: no program can end differently twice on purpose."""

    def __init__(self, *ends: Report) -> None:
        self.ends = list(ends)

    def _run(self, *_: object) -> list[Report]:
        return [self.ends.pop(0)]


@pytest.mark.parametrize(
    ("first", "second", "status", "flags"),
    [
        (report(None), None, "ok", []),
        (report("cpu_s"), report("cpu_s"), "time_limit", ["rerun"]),
        (report("wall_s"), report("wall_s"), "time_limit", ["rerun"]),
        (report("cpu_s"), report(None, "time_limit"), "time_limit", ["rerun"]),
        (report("cpu_s"), report(None), "internal_error", ["rerun", "time_limit_disagreement"]),
        (report("cpu_s"), report(None, cpu_time=0.1), "time_limit", ["rerun", "erratic"]),  # random on purpose
        (report("starved", "internal_error"), report(None), "ok", ["rerun"]),
        (report("starved", "internal_error"), report("starved", "internal_error"), "internal_error", ["rerun"]),
    ],
)
def test_a_doubtful_run_is_run_once_more(first: Report, second: Report | None, status: str, flags: list[str]) -> None:
    ends = [first] if second is None else [first, second]
    [found] = Runs(*ends)._certain([], "", b"")
    assert (found.said["status"], found.flags) == (status, flags)
