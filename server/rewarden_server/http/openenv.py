"""OpenEnv: `/openenv/NAME/reset|step|state|schema|health|metadata`, and `/openenv/NAME/ws`.

Each environment is served as OpenEnv's own servers serve one. Over the WebSocket a connection has one episode at a
time; over HTTP `episode_id` names one of many, where those servers forget it after each request. docs/environments.md
describes both, and not `/openapi.json`: the protocol is theirs.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from fastapi import APIRouter
from fastapi.routing import APIWebSocketRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from rewarden.errors import InternalError, InvalidRequest, NotFound, RequestError, SampleError, TooLarge, Unavailable
from rewarden.wire.json import dumps
from rewarden_server.access.caller import CURRENT
from rewarden_server.compat.peer_requests import body_of
from rewarden_server.environments.live import Ended, Full, LiveEpisode, LiveEpisodes, Seen
from rewarden_server.http.access import RawRoute, needs, service_of
from rewarden_server.http.body import unless_gone
from rewarden_server.http.replies import json_reply
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.observe.logs import get_logger, log_defect
from rewarden_server.refusals import as_request_error
from rewarden_server.service import Service
from rewarden_verifiers.environments.episode import MOST_SEED
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

_OF_EPISODE = ("max_steps", "illegal")
_ACTION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "The action, as the policy wrote it."},
        "metadata": {"type": "object"},
    },
    "required": ["text"],
    "additionalProperties": False,
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
        "actions": {"type": "array", "items": {"type": "string"}},
    },
}

_log = get_logger("openenv")

router = APIRouter(route_class=RawRoute, include_in_schema=False, dependencies=[needs(SCOPE)])


def _name(given: str) -> str:
    """Raises NotFound."""
    if given not in names():
        raise NotFound(f"there is no environment {given[:100]!r}; see /openenv")
    return given


def _owner() -> str:
    caller = CURRENT.get()
    assert caller is not None  # none of these routes is open
    return caller.name


@router.get("/openenv")
async def listed(request: Request) -> Response:
    """The names of the environments."""
    return json_reply({"environments": names()})


@router.post("/openenv/{name}/reset")
async def reset(request: Request) -> Response:
    """Begins an episode, under an id of the caller's or a new one."""
    service, name = service_of(request), _name(request.path_params["name"])
    async with body_of(request, service) as body:
        _check_size(body, service)
        start, id = _start_of(body)
        episodes = service.episodes
        new = len(episodes)
        episode = episodes.open(_owner(), name, id)
        try:
            seen = await unless_gone(request.receive, episodes.reset(service, episode, start))
        except BaseException:
            if len(episodes) > new:  # a place that was made for nothing
                episodes.close(episode)
            raise
    return json_reply(_told(seen, {"episode_id": episode.id, "seed": (episode.start or {}).get("seed")}))


@router.post("/openenv/{name}/step")
async def step(request: Request) -> Response:
    """Does an action in the episode that `episode_id` names."""
    service, name = service_of(request), _name(request.path_params["name"])
    async with body_of(request, service) as body:
        _check_size(body, service)
        action = _text_of(body.get("action"))
        episode = _found(service, name, body.get("episode_id"))
        seen = await unless_gone(request.receive, service.episodes.step(service, episode, action))
    return json_reply(_told(seen, {"episode_id": episode.id}))


@router.get("/openenv/{name}/state")
async def state(request: Request) -> Response:
    """The state of the episode that `episode_id` names."""
    service, name = service_of(request), _name(request.path_params["name"])
    return json_reply(_found(service, name, request.query_params.get("episode_id")).state())


@router.get("/openenv/{name}/schema")
async def schema(request: Request) -> Response:
    """The schemas of actions, observations and states."""
    _name(request.path_params["name"])
    return json_reply({"action": _ACTION, "observation": _OBSERVATION, "state": _STATE})


@router.get("/openenv/{name}/health")
async def health(request: Request) -> Response:
    """Healthy if the environment's module can be imported here."""
    name = _name(request.path_params["name"])
    try:
        environment_of(name)
    except Exception:  # noqa: BLE001 - whatever a plug-in raises
        return json_reply({"status": "unhealthy"})
    return json_reply({"status": "healthy"})


@router.get("/openenv/{name}/metadata")
async def metadata(request: Request) -> Response:
    """The name, the description, and the tools, which OpenEnv has no field for."""
    name = _name(request.path_params["name"])
    try:
        kind = environment_of(name)
    except SampleError as error:
        raise Unavailable(error.message, reason=error.reason) from None
    readme = "\n".join(f"- `{tool.written(tool.argument.upper())}`: {tool.meaning}" for tool in kind.tools)
    return json_reply(
        {
            "name": name,
            "description": (inspect.getdoc(kind) or name).split("\n", 1)[0],
            "readme_content": readme,
            "version": "1",
        }
    )


async def socket(websocket: WebSocket) -> None:
    """A connection, with one episode at a time."""
    caller = CURRENT.get()
    assert caller is not None
    caller.demand(SCOPE)
    name = _name(websocket.path_params["name"])
    service: Service = websocket.app.state.service
    episodes: LiveEpisodes = service.episodes
    await websocket.accept()
    episode: LiveEpisode | None = None
    try:
        episode = episodes.open(caller.name, name, held=True)
        await _talk(websocket, service, episode)
    except WebSocketDisconnect:
        return
    except Full as error:
        await _say(websocket, _failed("CAPACITY_REACHED", error))
    except RequestError as error:
        await _say(websocket, _failed("SESSION_ERROR", error))
    finally:
        if episode is not None:
            episodes.close(episode)
    await websocket.close()


async def _talk(websocket: WebSocket, service: Service, episode: LiveEpisode) -> None:
    """Answers messages, one at a time, until `close`. Raises WebSocketDisconnect, and RequestError for what ends the
    connection."""
    idle_s, most = service.episodes.settings.idle_s, service.episodes.settings.message_bytes
    while True:
        try:
            async with asyncio.timeout(idle_s):
                message = await service.until_stopped(websocket.receive())
        except TimeoutError:
            raise InvalidRequest(f"no message for {idle_s:g} s (environments.idle_s)") from None
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        text = message.get("text")
        # The connection takes the larger messages of other routes.
        if len(message.get("bytes") or (text or "").encode("utf-8", "surrogatepass")) > most:
            await websocket.close(1009, f"a message has at most {most} bytes (environments.message_bytes)")
            raise WebSocketDisconnect(1009)
        reply = await _answer(text, service, episode)
        if reply is None:
            return
        await _say(websocket, reply)


async def _answer(text: str | None, service: Service, episode: LiveEpisode) -> dict[str, Any] | None:
    """The answer to a message; None for `close`."""
    code: Code = "INVALID_JSON"
    try:
        if text is None:
            raise InvalidRequest("messages are texts of JSON")
        message = read_json(text.encode("utf-8", "surrogatepass"), service.limits)
        code = "VALIDATION_ERROR"
        if not isinstance(message, dict):
            raise InvalidRequest("a message must be an object with type and data")
        kind, data = message.get("type"), message.get("data", {})
        if kind not in ("reset", "step", "state", "close"):
            code = "UNKNOWN_TYPE"
            raise InvalidRequest(f"unknown message type {str(kind)[:40]!r}: use reset, step, state or close")
        if not isinstance(data, dict):
            raise InvalidRequest("data: must be an object", path="data")
        if kind == "close":
            return None
        if kind == "state":
            return {"type": "state", "data": episode.state()}
        if kind == "step":
            seen = await service.until_stopped(service.episodes.step(service, episode, _text_of(data)))
            return {"type": "observation", "data": _told(seen, {})}
        start, id = _start_of(data)
        # The id is the caller's own name; the connection is the episode's place, whatever its name.
        seen = await service.until_stopped(service.episodes.reset(service, episode, start))
        told = {"episode_id": id or episode.id, "seed": (episode.start or {}).get("seed")}
        return {"type": "observation", "data": _told(seen, told)}
    except Exception as error:  # noqa: BLE001 - the protocol has an answer to everything
        known = as_request_error(error)
        if isinstance(known, InternalError):
            log_defect(_log, error)
        mistake = isinstance(known, (InvalidRequest, TooLarge)) and not isinstance(known, Ended)
        return _failed(code if mistake else "EXECUTION_ERROR", known)


async def _say(websocket: WebSocket, message: Mapping[str, Any]) -> None:
    await websocket.send_text(dumps(message).decode())


def _failed(code: Code, error: RequestError) -> dict[str, Any]:
    details = {name: error.details[name] for name in ("path", "limit", "most") if name in error.details}
    return {"type": "error", "data": {"message": error.message, "code": code, **details}}


def _told(seen: Seen, more: Mapping[str, Any]) -> dict[str, Any]:
    told = asdict(seen)
    return {**told, "metadata": dict(more)} if more else told


def _start_of(body: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The reference and the id of a request to reset. What is not the episode's is an option of the environment's.
    Raises InvalidRequest."""
    seed, id = body.get("seed"), body.get("episode_id")
    if seed is not None and (type(seed) is not int or not 0 <= seed <= MOST_SEED):
        raise InvalidRequest(f"seed: must be a whole number from 0 to {MOST_SEED}", path="seed")
    if id is not None and not isinstance(id, str):
        raise InvalidRequest("episode_id: must be a text", path="episode_id")
    given = body.get("options")
    if given is not None and not isinstance(given, dict):
        raise InvalidRequest("options: must be an object", path="options")
    known = ("seed", "episode_id", "options", "environment", *_OF_EPISODE)
    flat = {name: value for name, value in body.items() if name not in known}
    both = next((name for name in flat if name in (given or {})), None)
    if both is not None:
        raise InvalidRequest(f"{both[:40]}: is given twice", path=both[:40])
    start = {name: body[name] for name in _OF_EPISODE if body.get(name) is not None}
    return {**start, "seed": seed, "options": {**(given or {}), **flat}}, id


def _text_of(action: Any) -> str:
    """The text of an action. Raises InvalidRequest."""
    if not isinstance(action, dict):
        raise InvalidRequest("action: must be an object with text", path="action")
    unknown = next((name for name in action if name not in ("text", "metadata")), None)
    text = action.get("text")
    if unknown is not None or not isinstance(text, str):
        raise InvalidRequest("action: must be an object with text, a text", path="action.text")
    return text


def _found(service: Service, name: str, id: Any) -> LiveEpisode:
    if not isinstance(id, str):
        raise InvalidRequest(
            "episode_id: is missing; send the one of the answer to reset, or use the WebSocket", path="episode_id"
        )
    return service.episodes.find(_owner(), name, id)


def _check_size(body: Mapping[str, Any], service: Service) -> None:
    """Raises TooLarge. A smaller limit than that of other bodies: what is sent here is kept."""
    most = service.episodes.settings.message_bytes
    if len(dumps(body)) > most:
        raise TooLarge(
            f"the message has more than {most} bytes (environments.message_bytes)", limit="message_bytes", most=most
        )


sockets = [APIWebSocketRoute("/openenv/{name}/ws", socket)]
"""The routes of WebSockets, which `check_scopes` does not see: `socket` demands the scope itself."""
