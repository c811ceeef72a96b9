"""MCP in OpenEnv: `/openenv/NAME/mcp`, by POST or as a WebSocket, and the messages `mcp` of `/openenv/NAME/ws`.

A call of a tool is an action of the policy's in the episode of a session, whose id is that of the episode. A session is
made by `openenv/session/create`, or by a reset over HTTP. `session_id` in the parameters or in the address names it,
and a WebSocket that names it shares it. An episode begins by a reset, which no tool can do. Rewards are in the answers
to `step` and in the state, and in none of MCP's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIWebSocketRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket

from rewarden.errors import InternalError, InvalidRequest, NotFound, RequestError, TooLarge
from rewarden_server.access.caller import Caller, charged
from rewarden_server.environments.calls import UnknownTool, action_of_call, tools_of
from rewarden_server.environments.live import Ended, Place, Seen
from rewarden_server.environments.lived import act, caller_of, end, name_of, place_kind
from rewarden_server.http.access import RawRoute, needs, service_of
from rewarden_server.http.body import check_content_type, read_body, unless_gone
from rewarden_server.http.openenv_connection import served
from rewarden_server.http.replies import JSON, json_reply
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.observe.logs import get_logger, log_defect
from rewarden_server.refusals import as_request_error
from rewarden_server.service import Service

SCOPE = "verify"

PARSE, REQUEST, METHOD, PARAMS, INTERNAL, SERVER = -32700, -32600, -32601, -32602, -32603, -32000
"""JSON-RPC's codes of errors."""

_VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
_FIELDS = ("jsonrpc", "method", "params", "id")
_TOLD = ("path", "limit", "most", "reason", "fault", "retry_after_s")

_log = get_logger("openenv")

router = APIRouter(route_class=RawRoute, include_in_schema=False, dependencies=[needs(SCOPE)])


@router.post("/openenv/{name}/mcp")
async def mcp(request: Request) -> Response:
    """Answers a request; a notification has no answer."""
    service, name = service_of(request), name_of(request.path_params["name"])
    caller = caller_of(name)
    check_content_type(request, JSON)
    most = service.episodes.settings.message_bytes
    async with read_body(request, service.bodies, most, "environments.message_bytes") as body:
        session = request.query_params.get("session_id")
        work = answer_to(bytes(body), service, caller, name, session=session)
        reply = await unless_gone(request.receive, work)
    return Response(status_code=202) if reply is None else json_reply(reply)


async def socket(websocket: WebSocket) -> None:
    """A connection on which each message is a request."""
    await served(websocket, SCOPE, _message, partial(_failed, None))


async def _message(service: Service, caller: Caller, text: str | None, place: Place) -> Mapping[str, Any] | None:
    data = b"" if text is None else text.encode("utf-8", "surrogatepass")
    return await service.until_stopped(answer_to(data, service, caller, place.environment, place=place))


async def answer_to(
    body: bytes, service: Service, caller: Caller, name: str, *, place: Place | None = None, session: str | None = None
) -> dict[str, Any] | None:
    """The answer to a request in JSON; None to a notification. place: of the connection that it came by."""
    try:
        asked = read_json(body, service.limits)
    except RequestError as error:
        return _error(None, PARSE, error.message)
    return await answer(asked, service, caller, name, place=place, session=session)


async def answer(
    asked: Any, service: Service, caller: Caller, name: str, *, place: Place | None = None, session: str | None = None
) -> dict[str, Any] | None:
    """The answer to a request; None to a notification. place: of the connection that it came by. session: of the
    address."""
    if not isinstance(asked, dict):
        return _error(None, REQUEST, "a request must be an object; batches are not served")
    id, method, params = asked.get("id"), asked.get("method"), asked.get("params")
    if id is not None and (not isinstance(id, (str, int)) or isinstance(id, bool)):
        return _error(None, REQUEST, "id: must be a string or an integer")
    unknown = next((field for field in asked if field not in _FIELDS), None)
    if unknown is not None or asked.get("jsonrpc") != "2.0" or not isinstance(method, str):
        return _error(id, REQUEST, "a request has jsonrpc, which is 2.0, method, params and id, and no other field")
    if method.startswith("notifications/"):
        return None
    if params is None:
        params = {}
    if not isinstance(params, dict):
        return _error(id, PARAMS, "params: must be an object")
    desk = _Methods(service, caller, name, place, session)
    work = desk.methods.get(method)
    if work is None:
        return _error(id, METHOD, f"unknown method {method[:60]!r}; known: {', '.join(desk.methods)}")
    try:
        return {"jsonrpc": "2.0", "id": id, "result": await work(params)}
    except Exception as error:  # noqa: BLE001 - the protocol has an answer to everything
        known = as_request_error(error)
        if isinstance(known, InternalError):
            log_defect(_log, error)
        return _failed(id, known)


class _Methods:
    """The methods for one request."""

    def __init__(self, service: Service, caller: Caller, name: str, place: Place | None, session: str | None) -> None:
        self._service, self._caller, self._name = service, caller, name
        self._place, self._session = place, session
        self.methods = {
            "initialize": self._initialize,
            "ping": self._ping,
            "tools/list": self._list,
            "tools/call": self._call,
            "openenv/session/create": self._create,
            "openenv/session/close": self._close,
        }

    async def _initialize(self, params: Mapping[str, Any]) -> dict[str, Any]:
        wanted = params.get("protocolVersion")
        return {
            "protocolVersion": wanted if wanted in _VERSIONS else _VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": self._name, "version": "1"},
        }

    async def _ping(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {}

    async def _list(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {"tools": listed(self._name)}

    async def _call(self, params: Mapping[str, Any]) -> dict[str, Any]:
        tool = params.get("name")
        if not isinstance(tool, str):
            raise InvalidRequest("name: must be the name of a tool", path="name")
        _, result = await call(self._service, self._caller, self._found(params), tool, params.get("arguments", {}))
        return result

    async def _create(self, params: Mapping[str, Any]) -> dict[str, Any]:
        place = self._place
        if place is None:
            place = self._service.episodes.open(self._caller.name, self._name, kind=place_kind(self._name))
            place.session = True
        return {"session_id": place.id}

    async def _close(self, params: Mapping[str, Any]) -> dict[str, Any]:
        place = self._found(params)
        if place is self._place:
            raise InvalidRequest("session_id: is that of this connection: close the connection", path="session_id")
        if place.held:
            place.ending = True
            return {"session_id": place.id, "closed": False, "closing": True}
        await end(self._service, self._caller, place)
        return {"session_id": place.id, "closed": True}

    def _found(self, params: Mapping[str, Any]) -> Place:
        """The place that the request names, or its connection's. Raises InvalidRequest, NotFound."""
        id = params.get("session_id", self._session)
        if id is None and self._place is not None:
            return self._place
        if not isinstance(id, str):
            raise InvalidRequest("session_id: is missing; see openenv/session/create", path="session_id")
        return self._service.episodes.find(self._caller.name, self._name, id)


def listed(name: str) -> list[dict[str, Any]]:
    """The tools of an environment, as MCP lists them. Raises Unavailable."""
    told = [tool["function"] for tool in tools_of(name)]
    return [{"name": it["name"], "description": it["description"], "inputSchema": it["parameters"]} for it in told]


async def call(
    service: Service, caller: Caller, place: Place, tool: str, arguments: Any
) -> tuple[Seen | None, dict[str, Any]]:
    """The outcome of a call, None for a tool that is not there, and the same as a result of MCP. Raises
    RequestError."""
    try:
        action = action_of_call(place.environment, tool, arguments)
    except UnknownTool as mistake:
        with charged(1):
            return None, _result({"text": str(mistake), "error": "unknown_tool"})
    seen = await act(service, caller, place, action)
    return seen, _result(seen.observation)


def _result(observation: Mapping[str, Any]) -> dict[str, Any]:
    """A result of MCP. `data` is where OpenEnv's client looks for it."""
    return {
        "content": [{"type": "text", "text": observation["text"]}],
        "structuredContent": dict(observation),
        "isError": "error" in observation,
        "data": observation["text"],
    }


def _failed(id: str | int | None, error: RequestError) -> dict[str, Any]:
    if isinstance(error, Ended):
        code = REQUEST
    elif isinstance(error, (InvalidRequest, NotFound, TooLarge)):
        code = PARAMS
    else:
        code = INTERNAL if isinstance(error, InternalError) else SERVER
    details = {name: error.details[name] for name in _TOLD if name in error.details}
    return _error(id, code, error.message, {"code": error.code, **details})


def _error(id: str | int | None, code: int, message: str, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
    told = {"code": code, "message": message, **({"data": data} if data is not None else {})}
    return {"jsonrpc": "2.0", "id": id, "error": told}


sockets = [APIWebSocketRoute("/openenv/{name}/mcp", socket)]
"""The routes of WebSockets, which `check_scopes` does not see: `socket` demands the scope itself."""
