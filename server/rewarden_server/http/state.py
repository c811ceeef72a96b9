"""The state of the server: `/healthz`, `/readyz`, `/metrics`, `/v1/info`."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rewarden.errors import Unauthorized, Unavailable
from rewarden_server.http.access import Served, needs
from rewarden_server.http.declared import errors, reply
from rewarden_server.http.replies import json_reply
from rewarden_server.info import info
from rewarden_server.observe.metrics import CONTENT_TYPE
from rewarden_server.service import Service

router = APIRouter()


@router.get(
    "/healthz",
    operation_id="healthz",
    summary="Check whether the process is alive.",
    responses={200: reply("The process is alive.")},
)
async def healthz() -> Response:
    return json_reply({"status": "alive"})


@router.get(
    "/readyz",
    operation_id="readyz",
    summary="Check whether the server accepts work.",
    responses={200: reply("The server accepts work."), **errors(503)},
)
async def readyz(request: Request, service: Served) -> Response:
    told = _may_read(service, request)
    reason = await service.why_not_ready()
    if reason is not None:
        raise Unavailable(reason if told else "not ready; send a key with the scope 'read' to see the reason")
    sandbox = await service.engine.sandbox.status()
    shown = ("state", "reason") if told else ("state",)
    return json_reply({"status": "ready", "sandbox": {name: sandbox[name] for name in shown}})


@router.get(
    "/metrics",
    operation_id="metrics",
    summary="Get metrics for Prometheus.",
    dependencies=[needs("read")],
    response_class=PlainTextResponse,
    response_description="The metrics.",
)
async def metrics(service: Served) -> Response:
    service.metrics.engine(service.engine.info())
    service.metrics.sandbox(await service.engine.sandbox.status())
    service.metrics.boxes(service.boxes.figures())
    service.metrics.judges(service.engine.judges.status())
    service.metrics.models(service.engine.models.status())
    return Response(service.metrics.page(), headers={"content-type": CONTENT_TYPE})


@router.get(
    "/v1/info",
    operation_id="info",
    summary="Get versions, lanes and limits.",
    dependencies=[needs("read")],
    responses={200: reply("Versions, lanes and limits.")},
)
async def get_info(service: Served) -> Response:
    return json_reply(await info(service))


def _may_read(service: Service, request: Request) -> bool:
    """Returns whether a probe, which needs no key, sent one with the scope `read`. Reasons contain paths, hosts and
    models, which a caller without a key must not learn."""
    try:
        return "read" in service.keys.caller(request.headers.get("authorization")).scopes
    except Unauthorized:
        return False
