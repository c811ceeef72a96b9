"""Spans for the results of verifiers and of programs in the sandbox: names, ids, status and times, but no content."""

from __future__ import annotations

import time

from rewarden.types import Outcome, Verdict
from rewarden_sandboxes.job import CaseResult, JobEvent
from rewarden_server.observe.telemetry.span import Span, worked

_MOST = 200
"""The longest value that a caller chose, in characters."""


def note_outcome(span: Span, outcome: Outcome) -> None:
    """Records how it ended. Any error marks the span as failed."""
    if not span.recording:
        return
    span.note(status=outcome.status, reason=outcome.reason, fault=outcome.fault)
    if outcome.status == "error":
        span.fail(outcome.reason or "error")


def note_verdict(span: Span, verdict: Verdict) -> None:
    """The same, with the ids of the verdict."""
    if not span.recording:
        return
    note_outcome(span, verdict)
    span.note(
        verifier=verdict.verifier.name if verdict.verifier is not None else None,
        data_source=_short(verdict.data_source),
        sample=_short(verdict.id),
        index=verdict.index,
        queue_s=verdict.queue_s,
        cached=verdict.cached,
    )


def verdict_made(parent: Span, verdict: Verdict, worker: str | None) -> None:
    """Adds the span of a verdict that has none of its own. worker: the kind of process that did the work."""
    now = time.time()
    name = verdict.verifier.name if verdict.verifier is not None else ""
    span = parent.child(f"verify {name}".strip(), start_s=now - verdict.queue_s - verdict.run_s)
    note_verdict(span, verdict)
    if worker is not None and not verdict.cached:
        worked(span, worker, verdict.queue_s, verdict.run_s)
    span.end(now)


def ran(parent: Span, event: JobEvent) -> None:
    """Adds the span of a run or compilation that was just reported, by the host's own clocks."""
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


def _short(text: str | None) -> str | None:
    # A lone surrogate has no UTF-8 form, and would make the export of all spans sent with it fail.
    return None if text is None else text[:_MOST].encode("utf-8", "replace").decode()
