"""A sandbox job in the words of those who ask for it: the verifiers' types and the wire's, and the host's."""

from __future__ import annotations

import base64
import math
from dataclasses import asdict

from rewarden.errors import InvalidRequest
from rewarden.types import Limits, Run, RunResult
from rewarden.wire.json import content_bytes
from rewarden_sandboxes import job as host
from rewarden_sandboxes.errors import BadJob
from rewarden_verifiers import programs

# --- the verifiers' types and the host's -------------------------------------------------------------------------


def job_of(job: programs.Job) -> host.Job:
    """Returns a job in the form that the host takes. It waits for a slot until its own deadline, which is enforced
    here."""
    return host.Job(
        program=program_of(job.program),
        cases=[_case(case) for case in job.cases],
        partner=program_of(job.partner) if job.partner is not None else None,
        join=job.join,
        compile_limits=_limits(job.compile_limits),
        collect=job.collect,
        patience_s=math.inf,  # lost verdicts: whoever stood at the end of a long line had an error of ours
    )


def program_of(program: programs.Program) -> host.Program:
    """As the host is asked for it."""
    return host.Program(
        language=program.language,
        # Half a surrogate pair is the model's own doing: its compiler or interpreter says so.
        code=program.code.encode("utf-8", "surrogatepass"),
        files=program.files,
        args=program.args,
        mode=program.mode,
        limits=_limits(program.limits),
    )


def _case(case: programs.Case) -> host.Case:
    return host.Case(
        stdin=case.stdin,
        request=case.request,
        files=case.files,
        args=case.args,
        limits=_limits(case.limits),
        partner_stdin=case.partner_stdin,
        partner_request=case.partner_request,
        partner_files=case.partner_files,
        partner_args=case.partner_args,
    )


_NO_LIMITS = Limits()
_NO_HOST_LIMITS = host.Limits()


def _limits(limits: Limits) -> host.Limits:
    return _NO_HOST_LIMITS if limits == _NO_LIMITS else host.Limits(**asdict(limits))


def event_of(event: host.JobEvent) -> programs.CompileResult | programs.CaseResult:
    """Returns the host's event in the form that verifiers read."""
    if isinstance(event, host.CompileResult):
        return programs.CompileResult(report=_report(event.report), who=event.who)
    return programs.CaseResult(
        index=event.index,
        program=_report(event.program),
        partner=_report(event.partner) if event.partner is not None else None,
    )


def _report(report: host.Report) -> programs.Report:
    return programs.Report(
        status=report.status,
        limit=report.limit,
        exit_code=report.exit_code,
        signal=report.signal,
        stdout=report.stdout,
        stderr=report.stderr,
        reply=report.reply,
        cpu_time=report.cpu_time,
        wall_time=report.wall_time,
        idle_time=report.idle_time,
        peak_memory=report.peak_memory,
        truncated=report.truncated,
        files=report.files,
        enforced=report.enforced,
        flags=report.flags,
        message=report.message,
    )


# --- the wire's types and the host's -----------------------------------------------------------------------------


def job_of_run(run: Run) -> host.Job:
    """A single run as the host is asked for it."""
    return host.Job(
        program=host.Program(
            language=run.language,
            code=run.code.encode("utf-8", "surrogatepass"),
            files={path: content_bytes(content) for path, content in run.files.items()},
            args=run.args,
            limits=_limits(run.limits),
        ),
        cases=(host.Case(stdin=content_bytes(run.stdin)),),
    )


def refused_run(error: BadJob) -> InvalidRequest:
    """The fault under the name that the field has in a run: `program.files['../x']` is `files['../x']`."""
    path = error.path.removeprefix("program.").removeprefix("cases[0].")
    return InvalidRequest(f"{path or 'the program'}: {error.message}", path=path)


def result_of(report: host.Report, compiled: RunResult | None) -> RunResult:
    """A single run's result; compiled: that of its compilation."""
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
    )


def _text(data: bytes) -> tuple[str, str | None]:
    try:
        return data.decode(), None
    except UnicodeDecodeError:
        return data.decode(errors="replace"), base64.b64encode(data).decode()
