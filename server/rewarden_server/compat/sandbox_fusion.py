"""SandboxFusion's sandbox: `POST /run_code` runs a program and reports how it ended, `POST /run_jupyter` runs cells.

    POST /compat/sandbox_fusion/run_code   {"code": "print(1)", "language": "python"}
    → {"status": "Success", "run_result": {"status": "Finished", "return_code": 0, "stdout": "1\\n", …}, …}

Cells are in `sandbox_fusion_jupyter`.

Read in bytedance/SandboxFusion (2026-07-14, sandbox/server and sandbox/runners) and in the clients that speak to it:
verl 0.9.1 (verl/utils/reward_score/sandbox_fusion/utils.py) and sandbox-fusion 0.3.7. verl retries only after a 504;
anything else that goes wrong counts as a failed test. So failures that are not the program's fault are a 504 here,
never a result, and the answer is sent before verl gives up, ten seconds after both time-outs.
"""

from __future__ import annotations

import asyncio
import base64
import math
from collections.abc import Callable, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden.errors import DeadlineExceeded, InvalidRequest, InvalidSample, Overloaded, SandboxError, Unavailable
from rewarden_sandboxes.job import Case, CompileResult, Job, Limits, Program, Report, source
from rewarden_server.access.caller import charged
from rewarden_server.compat import sandbox_fusion_jupyter as jupyter
from rewarden_server.compat.peer_requests import REQUIRED
from rewarden_server.compat.sandbox_fusion_fields import files, memory, names, refusal, seconds, stdin, weight
from rewarden_server.http.body import check_content_type, read_body, unless_gone
from rewarden_server.http.replies import JSON, json_reply
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.observe.logs import get_logger
from rewarden_server.service import Service, run_beside

PEER = "sandbox_fusion"

SPARE_S = 8.0
"""The time beyond both time-outs within which there is an answer, in seconds. verl's client waits ten
(`API_TIMEOUT`)."""

_PAUSE_S = 0.1
_KILLED = -9
"""The return code of a program that was killed, as Python's subprocess has it: minus the signal."""

_log = get_logger("compat")


class _Patient(Protocol):
    """A request, read."""

    @property
    def patience_s(self) -> float:
        """Returns the time within which there is an answer, in seconds."""


T = TypeVar("T", bound=_Patient)
_Run = Callable[[Service, T], Coroutine[Any, Any, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A request, read. Time-outs in seconds."""

    job: Job
    compile_s: float
    run_s: float

    @property
    def patience_s(self) -> float:
        """Returns the time that the client waits, less the time for sending the answer, in seconds."""
        return self.compile_s + self.run_s + SPARE_S


def routes(service: Service) -> list[Route]:
    """The route of programs, and those that clients call besides."""

    async def answer(request: Request, read: Callable[[Any], T], run: _Run[T]) -> Response:
        began = asyncio.get_running_loop().time()
        try:
            check_content_type(request, JSON)
            # The body counts against the memory limit while its program waits, so that waiting programs cannot fill the
            # memory.
            async with read_body(request, service.bodies, service.limits.max_run_bytes, "max_run_bytes") as body:
                asked = await run_beside(lambda: read(read_json(body, service.limits)), len(body))
                end = began + asked.patience_s
                work = _in_time(run(service, asked), asked, end)
                found = await unless_gone(request.receive, service.until_stopped(work))
        except (InvalidRequest, InvalidSample) as error:
            path = str(error.details.get("path", ""))
            return refusal(error.message.removeprefix(f"{path}: "), path)
        except (DeadlineExceeded, Overloaded, SandboxError, Unavailable) as error:
            _log.warning("no_result", peer=PEER, code=error.code, message=error.message)
            return json_reply({"detail": error.message}, 504)
        return await run_beside(partial(json_reply, found), weight(found))

    async def run_code(request: Request) -> Response:
        return await answer(request, _asked, _run)

    async def run_jupyter(request: Request) -> Response:
        return await answer(request, jupyter.asked, jupyter.run)

    async def ping(request: Request) -> Response:
        return json_reply("pong")

    at = f"/compat/{PEER}"
    return [
        # FastAPI redirects paths with a trailing slash, and some base addresses end with one.
        *(Route(f"{at}{path}", run_code, methods=["POST"]) for path in ("/run_code/", "//run_code", "/run_code")),
        Route(f"{at}/run_jupyter", run_jupyter, methods=["POST"]),
        Route(f"{at}/v1/ping", ping, methods=["GET"]),
    ]


# --- the request -------------------------------------------------------------------------------------------------


def _asked(body: Any) -> _Asked:
    if type(body) is not dict:
        raise InvalidRequest("the body must be a JSON object")
    for name in ("code", "language"):
        if name not in body:
            raise InvalidRequest(REQUIRED, path=name)
        if type(body[name]) is not str:
            raise InvalidRequest("must be a string", path=name)
    compile_s, run_s = (seconds(body, name) for name in ("compile_timeout", "run_timeout"))
    language = body["language"]
    return _Asked(
        job=Job(
            program=Program(
                language=language,
                code=source(body["code"]),
                files=files(body.get("files", {})),
                limits=Limits(cpu_s=run_s, wall_s=run_s, memory_mb=memory(body.get("memory_limit_MB", -1))),
            ),
            cases=[Case(stdin=stdin(body.get("stdin")))],
            compile_limits=Limits(cpu_s=compile_s, wall_s=compile_s),
            once=True,  # verl sets a wall time limit, and does not wait much longer
            collect=names(body.get("fetch_files", [])),
        ),
        compile_s=compile_s,
        run_s=run_s,
    )


# --- the run -----------------------------------------------------------------------------------------------------


async def _in_time(work: Coroutine[Any, Any, Any], asked: _Patient, end: float) -> Any:
    """Returns the reply's fields before the loop's time is `end`. Raises DeadlineExceeded, and whatever the work
    raises."""
    try:
        async with asyncio.timeout_at(end):
            with charged(1):
                return await work
    except TimeoutError:
        message = f"the program did not finish within {asked.patience_s:g} s, including waiting time"
        raise DeadlineExceeded(message) from None


async def _run(service: Service, asked: _Asked) -> dict[str, Any]:
    """Returns the fields of the reply. Raises InvalidSample for a program that the host refuses; Unavailable,
    SandboxError.

    Waits for room: a client that is told to retry tries three times in three seconds, and then counts a failed test.
    """
    engine, admission, program = service.engine, service.engine.admission, asked.job.program
    size = len(program.code) + len(asked.job.cases[0].stdin) + sum(map(len, program.files.values()))
    while admission.ready and not admission.fits(1, size):
        await asyncio.sleep(_PAUSE_S)
    compiled: dict[str, Any] | None = None
    ended: dict[str, Any] | None = None
    collected: Mapping[str, bytes] = {}
    message = ""
    with admission.running(f"compat-{PEER}", size):
        async with aclosing(engine.sandbox.run(asked.job)) as events:
            async for event in events:  # read to the end: leaving early would cancel the job
                if isinstance(event, CompileResult):
                    compiled = _result(event.report, math.inf)
                    report = event.report
                else:
                    ended, collected = _result(event.program, asked.run_s), event.program.files
                    report = event.program
                if report.limit is not None:
                    message = f"{report.status}: {report.limit}"
    last = ended or compiled
    if last is None:
        raise SandboxError("the sandbox returned no result for the program")
    return {
        "status": "Success" if ended is not None and ended["return_code"] == 0 else "Failed",
        "message": message,
        "compile_result": compiled,
        "run_result": ended,
        "executor_pod_name": None,
        "files": {path: base64.b64encode(data).decode() for path, data in collected.items()},
    }


def _result(report: Report, limit_s: float) -> dict[str, Any]:
    """One command's result. Raises SandboxError for a failure of ours.

    Their time-outs are wall time. Ours count the time that a program ran or idled, but not its waiting for a CPU, so
    that the same program ends the same way on a busy host.
    """
    if report.status == "internal_error":
        raise SandboxError(report.message or "the sandbox failed on this run")
    by_itself = report.exit_code is not None or report.signal is not None
    late = report.status == "time_limit" or (by_itself and report.cpu_time + report.idle_time > limit_s)
    return {
        "status": "TimeLimitExceeded" if late else "Finished",
        "execution_time": report.wall_time,
        "cpu_time": report.cpu_time,
        "return_code": None if late else _return_code(report),
        "stdout": report.stdout.decode("utf-8", "replace"),
        "stderr": report.stderr.decode("utf-8", "replace"),
    }


def _return_code(report: Report) -> int:
    if report.exit_code is not None:
        return report.exit_code
    return -report.signal if report.signal is not None else _KILLED
