"""Spans of programs in the sandbox: how each run ended and what it used, by the host's own clocks."""

from __future__ import annotations

import time

from rewarden_sandboxes.job import CaseResult, JobEvent
from rewarden_server.observe.telemetry.span import Span


def ran(parent: Span, event: JobEvent) -> None:
    """The span of a run or a compilation whose report came just now."""
    if not parent.recording:
        return
    now = time.time()
    if isinstance(event, CaseResult):
        name, index, report = "sandbox run", event.index, event.program
    else:
        name, index, report = "sandbox compilation", None, event.report
    span = parent.child(name, start_s=now - report.wall_time, status=report.status, limit=report.limit, index=index)
    span.note(cpu_s=report.cpu_time, idle_s=report.idle_time, peak_memory=report.peak_memory)
    if report.status == "internal_error":
        span.fail(report.status)
    span.end(now)
