"""Converts jobs, their events and refusals to protobuf messages and back. `rewarden_sandboxes.job` defines the fields.

Nothing is validated here: `rewarden_sandboxes.checks` bounds jobs. An unknown word (a mode, a status) passes unchanged,
and its reader refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, cast

from rewarden_sandboxes.agent.room import BOX
from rewarden_sandboxes.box import BoxEvent, BoxSpec, Exec, ExecEvent, Files, Opened, Output, Still, Work
from rewarden_sandboxes.errors import BadJob, Busy, HostError, Leaving, NoRoom
from rewarden_sandboxes.job import (
    Case,
    CaseResult,
    Clock,
    CompileResult,
    Job,
    JobEvent,
    Join,
    Limits,
    Mode,
    Program,
    Report,
    RunStatus,
)
from rewarden_sandboxes.session import Begun, SessionEvent, Taken
from rewarden_sandboxes.v1 import sandbox_pb2 as pb

_NO_LIMITS = Limits()


# --- jobs ------------------------------------------------------------------------------------------------------


def job_to_message(job: Job) -> pb.Job:
    """Returns the message of a job. Raises ValueError or TypeError for values that protobuf cannot hold (a count beyond
    64 bits).
    """
    return pb.Job(
        program=_program_to_message(job.program),
        partner=_program_to_message(job.partner) if job.partner is not None else None,
        join=job.join,
        cases=[_case_to_message(case) for case in job.cases],
        compile_limits=_limits_to_message(job.compile_limits),
        collect=job.collect,
        patience_s=job.patience_s or 0.0,
        rejecting=job.rejecting,
        once=job.once,
    )


def job_from_message(message: pb.Job) -> Job:
    """Returns the job in a message."""
    return Job(
        program=_program_from_message(message.program),
        cases=tuple(map(_case_from_message, message.cases)),
        partner=_program_from_message(message.partner) if message.HasField("partner") else None,
        join=cast(Join, message.join),
        compile_limits=_limits_from_message(message.compile_limits),
        collect=tuple(message.collect),
        patience_s=message.patience_s or None,
        rejecting=tuple(message.rejecting),
        once=message.once,
    )


def _program_to_message(program: Program) -> pb.Program:
    return pb.Program(
        language=program.language,
        code=program.code,
        files=program.files,
        args=program.args,
        mode=program.mode,
        limits=_limits_to_message(program.limits),
        min_version=program.min_version,
        flags=program.flags,
    )


def _program_from_message(message: pb.Program) -> Program:
    return Program(
        language=message.language,
        code=message.code,
        files=dict(message.files),
        args=tuple(message.args),
        mode=cast(Mode, message.mode),
        limits=_limits_from_message(message.limits),
        min_version=message.min_version,
        flags=tuple(message.flags),
    )


def _case_to_message(case: Case) -> pb.Case:
    return pb.Case(
        stdin=case.stdin,
        request=case.request,
        files=case.files,
        args=case.args,
        limits=_limits_to_message(case.limits),
        partner_stdin=case.partner_stdin,
        partner_request=case.partner_request,
        partner_files=case.partner_files,
        partner_args=case.partner_args,
    )


def _case_from_message(message: pb.Case) -> Case:
    return Case(
        stdin=message.stdin,
        request=message.request,
        files=dict(message.files),
        args=tuple(message.args),
        limits=_limits_from_message(message.limits),
        partner_stdin=message.partner_stdin,
        partner_request=message.partner_request,
        partner_files=dict(message.partner_files),
        partner_args=tuple(message.partner_args),
    )


def _limits_to_message(limits: Limits) -> pb.Limits | None:
    given = limits.given()
    return pb.Limits(**given) if given else None


def _limits_from_message(message: pb.Limits) -> Limits:
    given = {field.name: value for field, value in message.ListFields()}
    return Limits(**given) if given else _NO_LIMITS


# --- events ----------------------------------------------------------------------------------------------------


def event_to_message(event: JobEvent) -> pb.JobEvent:
    """Returns the message of one event."""
    if isinstance(event, CompileResult):
        return pb.JobEvent(compile=pb.CompileResult(who=event.who, report=_report_to_message(event.report)))
    return pb.JobEvent(case=_result_to_message(event))


def _result_to_message(result: CaseResult) -> pb.CaseResult:
    return pb.CaseResult(
        index=result.index,
        program=_report_to_message(result.program),
        partner=_report_to_message(result.partner) if result.partner is not None else None,
        earlier=map(_result_to_message, result.earlier),
    )


def event_from_message(message: pb.JobEvent) -> JobEvent:
    """Returns the event in a message. Raises ValueError for an unknown kind."""
    kind = message.WhichOneof("item")
    if kind == "compile":
        report = _report_from_message(message.compile.report)
        return CompileResult(report=report, who="partner" if message.compile.who == "partner" else "program")
    if kind == "case":
        return _result_from_message(message.case)
    raise ValueError("the host sent an event of a kind that is not known here")


def _result_from_message(message: pb.CaseResult) -> CaseResult:
    return CaseResult(
        index=message.index,
        program=_report_from_message(message.program),
        partner=_report_from_message(message.partner) if message.HasField("partner") else None,
        earlier=tuple(map(_result_from_message, message.earlier)),
    )


_OF_CLOCK = ("memory", "disk", "processes")

# --- sessions --------------------------------------------------------------------------------------------------


def session_to_message(program: Program, patience_s: float | None) -> pb.Session:
    """Returns the message that begins a session. Raises ValueError or TypeError for what protobuf cannot hold."""
    return pb.Session(program=_program_to_message(program), patience_s=patience_s or 0.0)


def session_from_message(message: pb.Session) -> tuple[Program, float | None]:
    """Returns the program and the patience in a message."""
    return _program_from_message(message.program), message.patience_s or None


def session_event_to_answer(number: int, event: SessionEvent) -> pb.Answer:
    """Returns the answer that carries one event of a session; a report's is the last."""
    match event:
        case Begun():
            return pb.Answer(id=number, begun=True)
        case bytes():
            return pb.Answer(id=number, data=event)
        case Taken():
            return pb.Answer(id=number, taken=event.size)
        case Clock():
            told = {name: value for name, value in asdict(event).items() if value is not None}
            return pb.Answer(id=number, clock=pb.Clock(**told))
        case Report():
            return pb.Answer(id=number, report=_report_to_message(event), last=True)


def session_event_from_answer(answer: pb.Answer) -> SessionEvent:
    """Returns the event in an answer. Raises ValueError for an unknown kind."""
    match answer.WhichOneof("item"):
        case "begun":
            return Begun()
        case "data":
            return answer.data
        case "taken":
            return Taken(answer.taken)
        case "clock":
            clock = answer.clock
            found = {name: getattr(clock, name) for name in _OF_CLOCK if clock.HasField(name)}
            made = Clock(cpu_s=clock.cpu_s, idle_s=clock.idle_s, **found)
            return replace(made, unserved=tuple(clock.unserved), refused=tuple(clock.refused))
        case "report":
            return _report_from_message(answer.report)
        case _:
            raise ValueError("the host sent an event of a kind that is not known here")


# --- boxes -----------------------------------------------------------------------------------------------------


def box_to_message(spec: BoxSpec, patience_s: float | None) -> pb.Box:
    """Returns the message that opens a box. Raises ValueError or TypeError for values that protobuf cannot hold."""
    return pb.Box(
        image=spec.image,
        limits=_limits_to_message(spec.limits),
        env=spec.env,
        patience_s=patience_s or 0.0,
        network=spec.network,
        label=spec.label,
    )


def box_from_message(message: pb.Box) -> tuple[BoxSpec, float | None]:
    """Returns the box and the patience in a message."""
    spec = BoxSpec(
        image=message.image,
        limits=_limits_from_message(message.limits),
        env=dict(message.env),
        network=tuple(message.network),
        label=message.label,
    )
    return spec, message.patience_s or None


def exec_to_message(box: int, what: Exec) -> pb.Exec:
    """Returns the message that begins an exec. Raises ValueError or TypeError for values that protobuf cannot hold."""
    files = what.files
    return pb.Exec(
        box=box,
        argv=what.argv,
        program=_program_to_message(what.program) if what.program is not None else None,
        files=pb.Files(work=files.work, path=files.path, depth=files.depth, mode=files.mode) if files else None,
        stdin=what.stdin,
        cwd=what.cwd,
        env=what.env,
        limits=_limits_to_message(what.limits),
    )


def exec_from_message(message: pb.Exec) -> Exec:
    """Returns the exec in a message."""
    told = message.files
    files = Files(work=cast(Work, told.work), path=told.path, depth=told.depth, mode=told.mode)
    return Exec(
        argv=tuple(message.argv),
        program=_program_from_message(message.program) if message.HasField("program") else None,
        files=files if message.HasField("files") else None,
        stdin=message.stdin,
        cwd=message.cwd,
        env=dict(message.env),
        limits=_limits_from_message(message.limits),
    )


def opened_to_answer(number: int, opened: Opened) -> pb.Answer:
    """Returns the answer that reports that a box is open."""
    told = pb.Opened(
        image=opened.image,
        limits=_limits_to_message(opened.limits),
        enforced=opened.enforced,
        folder=opened.folder,
    )
    return pb.Answer(id=number, opened=told)


def box_event_to_answer(number: int, event: BoxEvent | ExecEvent) -> pb.Answer:
    """Returns the answer that carries one event of a box or of an exec; a report's is the last."""
    match event:
        case Output(stream="stdout"):
            return pb.Answer(id=number, data=event.data)
        case Output():
            return pb.Answer(id=number, errors=event.data)
        case Still():
            return pb.Answer(id=number, still=event.still)
        case _:
            return session_event_to_answer(number, event)


def box_event_from_answer(answer: pb.Answer) -> Opened | BoxEvent | ExecEvent:
    """Returns the event in an answer. Raises ValueError for an unknown kind."""
    match answer.WhichOneof("item"):
        case "data":
            return Output("stdout", answer.data)
        case "errors":
            return Output("stderr", answer.errors)
        case "still":
            return Still(answer.still)
        case "opened":
            told = answer.opened
            limits = _limits_from_message(told.limits)
            return Opened(image=told.image, limits=limits, enforced=dict(told.enforced), folder=told.folder or BOX)
        case _:
            event = session_event_from_answer(answer)
            assert not isinstance(event, bytes)
            return event


# --- refusals --------------------------------------------------------------------------------------------------

_REFUSALS: Mapping[str, type[HostError]] = {"no_room": NoRoom, "busy": Busy, "leaving": Leaving}


def refusal_to_message(error: HostError) -> pb.Refusal:
    """Returns the message of a refusal. An error that is neither a bad job nor in the table is sent as `broken`."""
    if isinstance(error, BadJob):
        return pb.Refusal(kind="bad_job", message=sound(error.message), path=sound(error.path))
    kind = next((word for word, known in _REFUSALS.items() if isinstance(error, known)), "broken")
    return pb.Refusal(kind=kind, message=sound(error.message))


def refusal_from_message(message: pb.Refusal) -> HostError:
    """Returns the error that the host raised."""
    if message.kind == "bad_job":
        return BadJob(message.path, message.message)
    return _REFUSALS.get(message.kind, HostError)(message.message)


def sound(text: str) -> str:
    """Returns a text in a form that protobuf can carry: a path can be any text from a caller."""
    return text.encode("utf-8", "replace").decode()[:4000]


# --- reports ---------------------------------------------------------------------------------------------------

_OPTIONAL = ("limit", "exit_code", "signal", "peak_memory", "message")


def _report_to_message(report: Report) -> pb.Report:
    given: dict[str, Any] = {name: value for name in _OPTIONAL if (value := getattr(report, name)) is not None}
    return pb.Report(
        status=report.status,
        stdout=report.stdout,
        stderr=report.stderr,
        reply=report.reply,
        cpu_time=report.cpu_time,
        wall_time=report.wall_time,
        idle_time=report.idle_time,
        truncated=report.truncated,
        files=report.files,
        enforced=report.enforced,
        flags=report.flags,
        **given,
    )


def _report_from_message(message: pb.Report) -> Report:
    given: Mapping[str, Any] = {name: getattr(message, name) for name in _OPTIONAL if message.HasField(name)}
    return Report(
        status=cast(RunStatus, message.status),
        stdout=message.stdout,
        stderr=message.stderr,
        reply=message.reply,
        cpu_time=message.cpu_time,
        wall_time=message.wall_time,
        idle_time=message.idle_time,
        truncated=message.truncated,
        files=dict(message.files),
        enforced=dict(message.enforced),
        flags=tuple(message.flags),
        **given,
    )
