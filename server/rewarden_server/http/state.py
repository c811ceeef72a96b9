"""The state of the server: `/healthz`, `/readyz`, `/metrics`, `/v1/info`."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden.errors import Unauthorized, Unavailable
from rewarden_server.http.replies import json_reply
from rewarden_server.info import info
from rewarden_server.observe.metrics import CONTENT_TYPE
from rewarden_server.service import Service


def routes(service: Service) -> list[Route]:
    """The routes of probes, metrics and information."""

    async def healthz(request: Request) -> Response:
        return json_reply({"status": "alive"})

    async def readyz(request: Request) -> Response:
        told = _may_read(service, request)
        reason = await service.why_not_ready()
        if reason is not None:
            raise Unavailable(reason if told else "not ready; a key with the scope 'read' is told why")
        sandbox = await service.engine.sandbox.status()
        shown = ("state", "reason") if told else ("state",)
        return json_reply({"status": "ready", "sandbox": {name: sandbox[name] for name in shown}})

    async def metrics(request: Request) -> Response:
        service.metrics.engine(service.engine.info())
        service.metrics.sandbox(await service.engine.sandbox.status())
        service.metrics.judges(service.engine.judges.status())
        service.metrics.models(service.engine.models.status())
        return Response(service.metrics.page(), headers={"content-type": CONTENT_TYPE})

    async def get_info(request: Request) -> Response:
        return json_reply(await info(service))

    return [
        Route("/healthz", healthz, methods=["GET"]),
        Route("/readyz", readyz, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
        Route("/v1/info", get_info, methods=["GET"]),
    ]


def _may_read(service: Service, request: Request) -> bool:
    """Returns whether a probe, which needs no key, has one that may read. Reasons name paths, hosts and models, which a
    caller without a key must not learn.
    """
    try:
        return "read" in service.keys.caller(request.headers.get("authorization")).scopes
    except Unauthorized:
        return False
