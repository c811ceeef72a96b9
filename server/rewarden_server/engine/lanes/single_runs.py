"""A single run, from `POST /v1/run`, as a job of the sandbox, and the job's report as the run's result."""

from __future__ import annotations

import base64
from dataclasses import asdict

from rewarden.errors import InvalidRequest
from rewarden.types import Run, RunResult
from rewarden.wire.json import content_bytes, content_of
from rewarden_sandboxes.errors import BadJob
from rewarden_sandboxes.job import Case, Job, Limits, Program, Report, source


def job_of_run(run: Run) -> Job:
    """Returns a single run as a job for the host."""
    return Job(
        program=Program(
            language=run.language,
            code=source(run.code),
            files={path: content_bytes(content) for path, content in run.files.items()},
            args=run.args,
            limits=Limits(**asdict(run.limits)),
        ),
        cases=(Case(stdin=content_bytes(run.stdin)),),
        collect=run.collect,
    )


def refused_run(error: BadJob) -> InvalidRequest:
    """Returns the error with the field's name in a run: `program.files['../x']` becomes `files['../x']`."""
    path = error.path.removeprefix("program.").removeprefix("cases[0].")
    return InvalidRequest(f"{path or 'the program'}: {error.message}", path=path)


def result_of(report: Report, compiled: RunResult | None) -> RunResult:
    """Returns a single run's result; compiled: the result of its compilation."""
    stdout, stdout_base64 = _text(report.stdout)
    stderr, stderr_base64 = _text(report.stderr)
    return RunResult(
        status=report.status,
        limit=report.limit,
        exit_code=report.exit_code,
        signal=report.signal,
        stdout=stdout,
        stderr=stderr,
        stdout_base64=stdout_base64,
        stderr_base64=stderr_base64,
        cpu_time=report.cpu_time,
        wall_time=report.wall_time,
        peak_memory=report.peak_memory,
        truncated=report.truncated,
        enforced=report.enforced,
        flags=tuple(report.flags),
        message=report.message,
        compile=compiled,
        files={path: content_of(data) for path, data in report.files.items()},
    )


def _text(data: bytes) -> tuple[str, str | None]:
    try:
        return data.decode(), None
    except UnicodeDecodeError:
        return data.decode(errors="replace"), base64.b64encode(data).decode()
