"""`/v1/models`: which models there are, how each is, and other weights for one without a pause."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from rewarden.errors import InvalidRequest, ModelError, ProviderError, Unavailable
from rewarden.wire.json import loads
from rewarden_models.wire import to_wire
from rewarden_server.access.caller import detail
from rewarden_server.http.access import Served, needs
from rewarden_server.http.body import check_content_type, read_body
from rewarden_server.http.declared import Name, body, errors, listing, ref, reply
from rewarden_server.http.replies import JSON, json_reply

_MOST = 64 * 1024
_FIELDS = ("model", "revision")


router = APIRouter()
_MODEL = ref("Model")
_TEXT_OR_NULL: dict[str, Any] = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}
_RELOAD: dict[str, Any] = {
    "type": "object",
    "properties": {
        "model": {**_TEXT_OR_NULL, "description": "A folder, or a hub's name, that the server allows."},
        "revision": {**_TEXT_OR_NULL, "description": "Of a hub's name."},
    },
    "additionalProperties": False,
}


@router.get(
    "/v1/models",
    dependencies=[needs("read")],
    operation_id="list_models",
    summary="The configured models, and how each is.",
    responses={200: reply("The models.", listing("models", _MODEL))},
)
async def all_models(service: Served) -> Response:
    status = service.engine.models.status()
    return json_reply({"models": [{"name": name, **told} for name, told in status.items()]})


@router.get(
    "/v1/models/{name}",
    dependencies=[needs("read")],
    operation_id="get_model",
    summary="One model, with what is known of it.",
    responses={200: reply("The model.", _MODEL), **errors(404)},
)
async def one_model(name: Name, service: Served) -> Response:
    return json_reply({"name": name, **await service.engine.models.about(name)})


@router.post(
    "/v1/models/{name}/reload",
    dependencies=[needs("admin")],
    operation_id="reload_model",
    summary="Swap a model's weights: for those of another folder or revision, or for what lies in the same place now. "
    "Answered when it is done; no work under way is lost.",
    responses={200: reply("The model after the swap.", _MODEL), **errors(404)},
    openapi_extra=body(_RELOAD),
)
async def reload(name: Name, request: Request, service: Served) -> Response:
    check_content_type(request, JSON)
    async with read_body(request, service.bodies, _MOST, "max_body_bytes") as content:
        asked = _asked(content)
    detail(model=name, to=asked)
    lane = service.engine.models
    try:
        # Not given up when the caller leaves: weights are not half swapped.
        about = await service.until_stopped(lane.reload(name, asked.get("model"), asked.get("revision")))
    except (ModelError, ProviderError) as error:
        raise Unavailable(error.message, **error.details) from None
    return json_reply({"name": name, **lane.status()[name], "about": to_wire(about)})


def _asked(content: bytearray) -> dict[str, Any]:
    """Returns the fields of the body: the model or revision to load instead. Raises InvalidRequest."""
    value = loads(content) if content.strip() else {}
    if not isinstance(value, dict):
        raise InvalidRequest("the body must be an object, with 'model' and 'revision' or without", path="")
    for name, item in value.items():
        if name not in _FIELDS:
            raise InvalidRequest(f"there is no field {name[:80]!r}; there are: {', '.join(_FIELDS)}", path=name[:80])
        if item is not None and (not isinstance(item, str) or not item):
            raise InvalidRequest(f"{name} must be a text", path=name)
    return value
