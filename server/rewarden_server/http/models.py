"""`/v1/models`: the models and their state, and replacing a model's weights without a pause."""

from __future__ import annotations

from dataclasses import asdict, dataclass

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
from rewarden_server.setting import Text
from rewarden_verifiers.schema import Misfit, json_schema, read

_MOST = 64 * 1024


router = APIRouter()
_MODEL = ref("Model")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reload:
    """The model to load instead.

    model: a folder, or a hub's name, that the server allows. revision: of a hub's name.
    """

    model: Text | None = None
    revision: Text | None = None


@router.get(
    "/v1/models",
    dependencies=[needs("read")],
    operation_id="list_models",
    summary="List the configured models and their state.",
    responses={200: reply("The models.", listing("models", _MODEL))},
)
async def all_models(service: Served) -> Response:
    status = service.engine.models.status()
    return json_reply({"models": [{"name": name, **told} for name, told in status.items()]})


@router.get(
    "/v1/models/{name}",
    dependencies=[needs("read")],
    operation_id="get_model",
    summary="Get the details of one model.",
    responses={200: reply("The model.", _MODEL), **errors(404)},
)
async def one_model(name: Name, service: Served) -> Response:
    return json_reply({"name": name, **await service.engine.models.about(name)})


@router.post(
    "/v1/models/{name}/reload",
    dependencies=[needs("admin")],
    operation_id="reload_model",
    summary="Replace a model's weights with those of another folder or revision, or reload the same place. "
    "Responds when it is done; work in progress is not lost.",
    responses={200: reply("The model with its new weights.", _MODEL), **errors(404)},
    openapi_extra=body(json_schema(_Reload)),
)
async def reload(name: Name, request: Request, service: Served) -> Response:
    check_content_type(request, JSON)
    async with read_body(request, service.bodies, _MOST, "max_body_bytes") as content:
        asked = _asked(content)
    detail(model=name, to={field: given for field, given in asdict(asked).items() if given is not None})
    lane = service.engine.models
    try:
        # Not cancelled if the caller disconnects: weights must not be left half swapped.
        about = await service.until_stopped(lane.reload(name, asked.model, asked.revision))
    except (ModelError, ProviderError) as error:
        raise Unavailable(error.message, **error.details) from None
    return json_reply({"name": name, **lane.status()[name], "about": to_wire(about)})


def _asked(content: bytearray) -> _Reload:
    """Returns the content of the body. Raises InvalidRequest."""
    try:
        made: _Reload = read(_Reload, loads(content) if content.strip() else {}, "")
    except Misfit as misfit:
        raise InvalidRequest(misfit.message, path=misfit.path) from None
    return made
