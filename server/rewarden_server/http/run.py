"""`POST /v1/run`: runs a program in the sandbox and returns its result. Nothing is stored."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from rewarden.errors import InvalidRequest
from rewarden.types import Run, RunResult
from rewarden.wire.json import dumps, run_from_json, run_result_to_json
from rewarden_server.http.access import RawRoute, needs, service_of
from rewarden_server.http.body import check_content_type, read_body, unless_gone
from rewarden_server.http.declared import body, ref, reply
from rewarden_server.http.replies import JSON
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.intake.settings import LimitSettings
from rewarden_server.service import run_beside

SURFACE = "http"

router = APIRouter(route_class=RawRoute, dependencies=[needs("run")])


@router.post(
    "/v1/run",
    operation_id="run",
    summary="Run a program in the sandbox. Nothing is stored or cached.",
    responses={200: reply("The result of the run.", ref("RunResult"))},
    openapi_extra=body(ref("Run")),
)
async def run(request: Request) -> Response:
    service = service_of(request)
    check_content_type(request, JSON)
    async with read_body(request, service.bodies, service.limits.max_run_bytes, "max_run_bytes") as content:
        asked = await run_beside(partial(_decode, content, service.limits), len(content))
    result = await unless_gone(request.receive, service.run(asked, SURFACE))
    written = len(result.stdout) + len(result.stderr)
    return Response(await run_beside(partial(_encode, result), written), media_type=JSON)


def _decode(content: bytearray, limits: LimitSettings) -> Run:
    if not content:
        raise InvalidRequest("the body is empty; send a JSON object with 'language' and 'code'")
    return run_from_json(read_json(content, limits))


def _encode(result: RunResult) -> bytes:
    return dumps(run_result_to_json(result))
