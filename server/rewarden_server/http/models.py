"""`/v1/models`: which models there are, how each is, and other weights for one without a pause."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden.errors import InvalidRequest, ModelError, ProviderError, Unavailable
from rewarden.wire.json import loads
from rewarden_models.wire import to_wire
from rewarden_server.access.caller import detail
from rewarden_server.http.body import check_content_type, read_body
from rewarden_server.http.replies import JSON, json_reply
from rewarden_server.service import Service

_MOST = 64 * 1024
_FIELDS = ("model", "revision")


def routes(service: Service) -> list[Route]:
    """The routes of models."""

    async def all_models(request: Request) -> Response:
        status = service.engine.models.status()
        return json_reply({"models": [{"name": name, **told} for name, told in status.items()]})

    async def one_model(request: Request) -> Response:
        name = request.path_params["name"]
        return json_reply({"name": name, **await service.engine.models.about(name)})

    async def reload(request: Request) -> Response:
        check_content_type(request, JSON)
        async with read_body(request, service.bodies, _MOST, "max_body_bytes") as body:
            asked = _asked(body)
        detail(model=request.path_params["name"], to=asked)
        name, lane = request.path_params["name"], service.engine.models
        try:
            # Not given up when the caller leaves: weights are not half swapped.
            about = await service.until_stopped(lane.reload(name, asked.get("model"), asked.get("revision")))
        except (ModelError, ProviderError) as error:
            raise Unavailable(error.message, **error.details) from None
        return json_reply({"name": name, **lane.status()[name], "about": to_wire(about)})

    return [
        Route("/v1/models", all_models, methods=["GET"]),
        Route("/v1/models/{name}", one_model, methods=["GET"]),
        Route("/v1/models/{name}/reload", reload, methods=["POST"]),
    ]


def _asked(body: bytearray) -> dict[str, Any]:
    """Returns the fields of the body: the model or revision to load instead. Raises InvalidRequest."""
    value = loads(body) if body.strip() else {}
    if not isinstance(value, dict):
        raise InvalidRequest("the body must be an object, with 'model' and 'revision' or without", path="")
    for name, item in value.items():
        if name not in _FIELDS:
            raise InvalidRequest(f"there is no field {name[:80]!r}; there are: {', '.join(_FIELDS)}", path=name[:80])
        if item is not None and (not isinstance(item, str) or not item):
            raise InvalidRequest(f"{name} must be a text", path=name)
    return value
