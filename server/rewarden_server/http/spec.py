"""`GET /openapi.json`: the requests and responses of this server. Built once, from the routes and the types."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import Response

from rewarden.wire.json import dumps
from rewarden_server.boxes.settings import BoxSettings
from rewarden_server.http.access import Served
from rewarden_server.http.declared import errors, reply
from rewarden_server.http.replies import JSON
from rewarden_server.http.schemas import schemas

_OF_EVERY = (400, 431, 500)
"""Statuses of every route: a repeated header, headers over their limits, a defect."""

_OF_GUARDED = (400, 401, 403, 429, 431, 500, 503)
"""Statuses of routes that need a key, which the edge returns before the route is called."""

_OF_BODIES = (408, 413, 415)

router = APIRouter()


@router.get(
    "/openapi.json",
    operation_id="openapi",
    summary="The OpenAPI document.",
    responses={200: reply("Get this document.")},
)
async def openapi(request: Request, service: Served) -> Response:
    app: FastAPI = request.app
    if app.openapi_schema is None:
        app.openapi_schema = document(app, keyed=service.keys.required, boxes=service.boxes.settings)
    return Response(dumps(app.openapi_schema), media_type=JSON)


def document(app: FastAPI, *, keyed: bool, boxes: BoxSettings) -> dict[str, Any]:
    """Returns the OpenAPI 3.1 document. `keyed`: whether the server requires an API key. `boxes`: their bounds."""
    made = get_openapi(
        title="Rewarden",
        version=version("rewarden-server"),
        summary="A verifier and sandboxed reward server: samples in, verdicts out.",
        description="Protocols of other servers are available at `/compat/<peer>/…`; see docs/trainers.",
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        routes=app.routes,
    )
    for item in made["paths"].values():
        for operation in item.values():
            told = {*(_OF_GUARDED if "security" in operation else _OF_EVERY)}
            told |= {*_OF_BODIES} if "requestBody" in operation else set()
            answers = operation["responses"]
            answers.pop("422", None)  # FastAPI's own validation of parameters, which never fails here
            answers.update({str(status): answer for status, answer in errors(*told).items()})
            operation["responses"] = dict(sorted(answers.items()))
            if not keyed:
                operation.pop("security", None)
    components = {"schemas": schemas(boxes)}
    if keyed:
        components["securitySchemes"] = made["components"]["securitySchemes"]
    made["components"] = components
    return made
