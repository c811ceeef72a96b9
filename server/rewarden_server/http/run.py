"""`POST /v1/run`: a program in the sandbox, and how it ended. Nothing of it is kept."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden.errors import InvalidRequest
from rewarden.types import Run, RunResult
from rewarden.wire.json import dumps, run_from_json, run_result_to_json
from rewarden_server.config import LimitSettings
from rewarden_server.http.body import check_content_type, read_body, unless_gone
from rewarden_server.http.replies import JSON
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.service import Service, run_beside

SURFACE = "http"


def routes(service: Service) -> list[Route]:
    """The route of single programs."""

    async def run(request: Request) -> Response:
        check_content_type(request, JSON)
        async with read_body(request, service.bodies, service.limits.max_run_bytes, "max_run_bytes") as body:
            asked = await run_beside(partial(_decode, body, service.limits), len(body))
        result = await unless_gone(request.receive, service.run(asked, SURFACE))
        written = len(result.stdout) + len(result.stderr)
        return Response(await run_beside(partial(_encode, result), written), media_type=JSON)

    return [Route("/v1/run", run, methods=["POST"])]


def _decode(body: bytearray, limits: LimitSettings) -> Run:
    if not body:
        raise InvalidRequest("the body is empty; send a JSON object with 'language' and 'code'")
    return run_from_json(read_json(body, limits))


def _encode(result: RunResult) -> bytes:
    return dumps(run_result_to_json(result))
