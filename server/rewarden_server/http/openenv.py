"""OpenEnv: `/openenv/NAME/reset|step|state|schema|health|metadata`, and `/openenv/NAME/ws`.

Each environment is served as OpenEnv's own servers serve one, and so are boxes and task folders (`box`, `task`). Over
the WebSocket a connection has one episode at a time; over HTTP `episode_id` names one of many, where those servers
forget it after each request. `openenv_mcp` has MCP. docs/environments.md describes both, and not `/openapi.json`: the
protocol is theirs.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Literal

from fastapi import APIRouter
from fastapi.routing import APIWebSocketRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket

from rewarden.errors import InternalError, InvalidRequest, RequestError, TooLarge
from rewarden.wire.json import dumps
from rewarden_server.access.caller import Caller, charged
from rewarden_server.compat.peer_requests import body_of
from rewarden_server.environments import boxed
from rewarden_server.environments.calls import UnknownTool, action_of_call, kind_of, tools_of
from rewarden_server.environments.live import Ended, Full, Place, Seen
from rewarden_server.environments.lived import Begin, act, begin, begin_of, caller_of, name_of, place_kind
from rewarden_server.http import openenv_mcp
from rewarden_server.http.access import RawRoute, needs, service_of
from rewarden_server.http.body import unless_gone
from rewarden_server.http.openenv_connection import Closed, served
from rewarden_server.http.replies import json_reply
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.observe.logs import get_logger, log_defect
from rewarden_server.refusals import as_request_error
from rewarden_server.service import Service
from rewarden_verifiers.environments.table import environment_of, names

SCOPE = "verify"

Code = Literal[
    "INVALID_JSON",
    "UNKNOWN_TYPE",
    "VALIDATION_ERROR",
    "EXECUTION_ERROR",
    "CAPACITY_REACHED",
    "FACTORY_ERROR",
    "SESSION_ERROR",
]
"""The protocol's codes of errors."""

_CALL = ("type", "tool_name", "arguments", "metadata")
_ACTION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "The action, as the policy wrote it."},
        "metadata": {"type": "object"},
    },
    "required": ["text"],
    "additionalProperties": False,
}
"""A call (`tool` and `arguments`, as in `_BOX_ACTION`) is taken in its place."""
_BOX_ACTION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "description": "The name of a tool, as the policy wrote it."},
        "arguments": {"description": "Its arguments, as the policy wrote them: an object, or the JSON of one."},
        "metadata": {"type": "object"},
    },
    "required": ["tool"],
    "additionalProperties": False,
}
_BOX_OBSERVATION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "What the policy sees."},
        "status": {"type": "string", "description": "The end of a program or a cell."},
        "exit_code": {"type": "integer"},
        "signal": {"type": "integer"},
        "limit": {"type": "string", "description": "The limit that was reached."},
        "error": {"enum": ["malformed", "refused", "notebook_ended", "no_steps_left", "box_expired"]},
    },
    "required": ["text"],
}
_BOX_STATE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "episode_id": {"type": "string"},
        "step_count": {"type": "integer", "minimum": 0},
        "environment": {"type": "string"},
        "done": {"type": "boolean"},
        "return": {"type": "number"},
        "seed": {"type": ["integer", "null"]},
        "task": {"type": ["string", "null"]},
        "box": {"type": ["string", "null"], "description": "The id of the box."},
        "ended": {"type": ["string", "null"], "description": "The reason why the box has ended."},
        "submissions": {"type": "integer", "description": "The submissions that end the episode: one for each step."},
        "verdicts": {"type": "array", "items": {"type": "object"}},
    },
}
_OBSERVATION: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "What the policy sees."}},
    "required": ["text"],
}
_STATE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "episode_id": {"type": "string"},
        "step_count": {"type": "integer", "minimum": 0},
        "environment": {"type": "string"},
        "done": {"type": "boolean"},
        "success": {"type": "boolean"},
        "return": {"type": "number"},
        "cost": {"type": "number"},
        "reference": {"type": ["object", "null"], "description": "The reference of the episode's verdict."},
        "actions": {"type": "array", "items": {"type": ["string", "null"]}},
    },
}

_log = get_logger("openenv")

router = APIRouter(route_class=RawRoute, include_in_schema=False, dependencies=[needs(SCOPE)])


@router.get("/openenv")
async def listed(request: Request) -> Response:
    """The names of the environments."""
    return json_reply({"environments": [*boxed.NAMES, *(name for name in names() if name not in boxed.NAMES)]})


@router.post("/openenv/{name}/reset")
async def reset(request: Request) -> Response:
    """Begins an episode, under an id of the caller's or a new one."""
    service, name = service_of(request), name_of(request.path_params["name"])
    caller = caller_of(name)
    async with body_of(request, service) as body:
        _check_size(body, service)
        asked = begin_of(body)
        with service.episodes.opening(caller.name, name, asked.id, place_kind(name)) as place:
            answer = await unless_gone(request.receive, _reset(service, caller, place, asked))
    return json_reply(answer)


@router.post("/openenv/{name}/step")
async def step(request: Request) -> Response:
    """Does an action in the episode that `episode_id` names."""
    service, name = service_of(request), name_of(request.path_params["name"])
    caller = caller_of(name)
    async with body_of(request, service) as body:
        _check_size(body, service)
        action = body.get("action")
        if not isinstance(action, dict):
            raise InvalidRequest("action: must be an object", path="action")
        place = _found(service, caller, name, body.get("episode_id"))
        seen = await unless_gone(request.receive, _step(service, caller, place, action))
    return json_reply(_told(seen, {"episode_id": place.id}))


@router.get("/openenv/{name}/state")
async def state(request: Request) -> Response:
    """The state of the episode that `episode_id` names."""
    service, name = service_of(request), name_of(request.path_params["name"])
    return json_reply(_found(service, caller_of(name), name, request.query_params.get("episode_id")).state())


@router.get("/openenv/{name}/schema")
async def schema(request: Request) -> Response:
    """The schemas of actions, observations and states."""
    if name_of(request.path_params["name"]) in boxed.NAMES:
        return json_reply({"action": _BOX_ACTION, "observation": _BOX_OBSERVATION, "state": _BOX_STATE})
    return json_reply({"action": _ACTION, "observation": _OBSERVATION, "state": _STATE})


@router.get("/openenv/{name}/tools")
async def tools(request: Request) -> Response:
    """The tools of the policy, as chat templates take them."""
    return json_reply({"tools": tools_of(name_of(request.path_params["name"]))})


@router.get("/openenv/{name}/health")
async def health(request: Request) -> Response:
    """Healthy if the environment's module can be imported here; for boxes, if a sandbox is there."""
    name = name_of(request.path_params["name"])
    if name in boxed.NAMES:
        sandbox = await service_of(request).engine.sandbox.status()
        return json_reply({"status": "healthy" if sandbox["state"] == "ready" else "unhealthy"})
    try:
        environment_of(name)
    except Exception:  # noqa: BLE001 - whatever a plug-in raises
        return json_reply({"status": "unhealthy"})
    return json_reply({"status": "healthy"})


@router.get("/openenv/{name}/metadata")
async def metadata(request: Request) -> Response:
    """The name, the description, and the tools, which OpenEnv has no field for."""
    name = name_of(request.path_params["name"])
    if name in boxed.NAMES:
        description = boxed.NAMES[name]
        readme = "\n".join(f"- `{tool.name}({', '.join(tool.arguments)})`: {tool.meaning}" for tool in boxed.TOOLS)
    else:
        kind = kind_of(name)
        description = (inspect.getdoc(kind) or name).split("\n", 1)[0]
        readme = "\n".join(f"- `{tool.form()}`: {tool.meaning}" for tool in kind.tools)
    return json_reply(
        {
            "name": name,
            "description": description,
            "readme_content": readme,
            "version": "1",
        }
    )


async def socket(websocket: WebSocket) -> None:
    """A connection, with one episode at a time."""
    await served(websocket, SCOPE, _answer, _ended)


def _ended(error: RequestError) -> dict[str, Any]:
    return _failed("CAPACITY_REACHED" if isinstance(error, Full) else "SESSION_ERROR", error)


async def _answer(service: Service, caller: Caller, text: str | None, place: Place) -> dict[str, Any] | None:
    """The answer to a message; None for one that has none. Raises Closed for `close`."""
    code: Code = "INVALID_JSON"
    try:
        if text is None:
            raise InvalidRequest("messages must be JSON text")
        message = read_json(text.encode("utf-8", "surrogatepass"), service.limits)
        code = "VALIDATION_ERROR"
        if not isinstance(message, dict):
            raise InvalidRequest("a message must be an object with type and data")
        kind, data = message.get("type"), message.get("data", {})
        if kind not in ("reset", "step", "state", "close", "mcp"):
            code = "UNKNOWN_TYPE"
            raise InvalidRequest(f"unknown message type {str(kind)[:40]!r}: use reset, step, state, mcp or close")
        if not isinstance(data, dict):
            raise InvalidRequest("data: must be an object", path="data")
        if kind == "close":
            raise Closed
        if kind == "state":
            return {"type": "state", "data": place.state()}
        if kind == "mcp":
            work = openenv_mcp.answer(data, service, caller, place.environment, place=place)
            reply = await service.until_stopped(work)
            return None if reply is None else {"type": "mcp", "data": reply}
        if kind == "step":
            seen = await service.until_stopped(_step(service, caller, place, data))
            return {"type": "observation", "data": _told(seen, {})}
        told = await service.until_stopped(_reset(service, caller, place, begin_of(data)))
        return {"type": "observation", "data": told}
    except Closed:
        raise
    except Exception as error:  # noqa: BLE001 - the protocol has an answer to everything
        known = as_request_error(error)
        if isinstance(known, InternalError):
            log_defect(_log, error)
        mistake = isinstance(known, (InvalidRequest, TooLarge)) and not isinstance(known, Ended)
        return _failed(code if mistake else "EXECUTION_ERROR", known)


def _failed(code: Code, error: RequestError) -> dict[str, Any]:
    told = ("path", "limit", "most", "reason", "fault")
    details = {name: error.details[name] for name in told if name in error.details}
    return {"type": "error", "data": {"message": error.message, "code": code, **details}}


def _told(seen: Seen, more: Mapping[str, Any]) -> dict[str, Any]:
    told = asdict(seen)
    return {**told, "metadata": dict(more)} if more else told


async def _reset(service: Service, caller: Caller, place: Place, asked: Begin) -> dict[str, Any]:
    """Begins an episode. Raises RequestError."""
    seen, seed = await begin(service, caller, place, asked)
    # The id is the caller's own name; a connection is the episode's place, whatever its name.
    return _told(seen, {"episode_id": asked.id or place.id, "seed": seed})


async def _step(service: Service, caller: Caller, place: Place, action: Mapping[str, Any]) -> Seen:
    """Does an action, or answers one of those of OpenEnv's clients of MCP. Raises RequestError."""
    kind = action.get("type")
    if kind is None:
        try:
            return await act(service, caller, place, _action_of(place.environment, action))
        except UnknownTool as mistake:  # no action
            with charged(1):
                return Seen({"text": str(mistake), "error": "malformed"}, None, place.done)
    if kind == "list_tools":
        return Seen({"tools": openenv_mcp.listed(place.environment)}, None, place.done)
    unknown = next((name for name in action if name not in _CALL), None)
    tool = action.get("tool_name")
    if kind != "call_tool" or unknown is not None or not isinstance(tool, str):
        raise InvalidRequest("action: with a type must be list_tools, or call_tool with tool_name", path="action.type")
    seen, result = await openenv_mcp.call(service, caller, place, tool, action.get("arguments", {}))
    if seen is None:
        error = {"error_type": "tool_not_found", "message": result["data"]}
        return Seen({"tool_name": tool, "result": None, "error": error}, None, place.done)
    return replace(seen, observation={"tool_name": tool, "result": result, "error": None})


def _action_of(name: str, action: Mapping[str, Any]) -> Mapping[str, Any]:
    """An action in its environment's form. Raises InvalidRequest."""
    if name in boxed.NAMES:
        return action
    if "tool" in action and "text" not in action:
        if action.keys() - {"tool", "arguments", "metadata"} or not isinstance(action["tool"], str):
            raise InvalidRequest("action: must be an object with tool, a string, and arguments", path="action.tool")
        return action_of_call(name, action["tool"], action.get("arguments", {}))
    unknown = next((name for name in action if name not in ("text", "metadata")), None)
    if unknown is not None or not isinstance(action.get("text"), str):
        raise InvalidRequest("action: must be an object with text, a string", path="action.text")
    return action


def _found(service: Service, caller: Caller, name: str, id: Any) -> Place:
    if not isinstance(id, str):
        raise InvalidRequest(
            "episode_id: is missing; send the one of the answer to reset, or use the WebSocket", path="episode_id"
        )
    return service.episodes.find(caller.name, name, id)


def _check_size(body: Mapping[str, Any], service: Service) -> None:
    """Raises TooLarge. A smaller limit than that of other bodies: what is sent here is kept."""
    most = service.episodes.settings.message_bytes
    if len(dumps(body)) > most:
        raise TooLarge(
            f"the message has more than {most} bytes (environments.message_bytes)", limit="message_bytes", most=most
        )


sockets = [APIWebSocketRoute("/openenv/{name}/ws", socket), *openenv_mcp.sockets]
"""The routes of WebSockets, which `check_scopes` does not see: `socket` demands the scope itself."""
