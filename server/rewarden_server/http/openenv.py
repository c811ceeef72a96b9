"""OpenEnv: `/openenv/NAME/reset|step|state|schema|health|metadata`, and `/openenv/NAME/ws`.

Each environment is served as OpenEnv's own servers serve one, and so are boxes and task folders (`box`, `task`). Over
the WebSocket a connection has one episode at a time; over HTTP `episode_id` names one of many, where those servers
forget it after each request. docs/environments.md describes both, and not `/openapi.json`: the protocol is theirs.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections import deque
from collections.abc import Coroutine, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar

from fastapi import APIRouter
from fastapi.routing import APIWebSocketRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from rewarden.errors import InternalError, InvalidRequest, NotFound, RequestError, SampleError, TooLarge, Unavailable
from rewarden.wire.json import dumps
from rewarden_server.access.caller import CURRENT, Caller
from rewarden_server.boxes.desk import Desk
from rewarden_server.compat.peer_requests import body_of
from rewarden_server.environments import boxed
from rewarden_server.environments.boxed import BoxedEpisode
from rewarden_server.environments.live import MOST_ID, SURFACE, Ended, Full, LiveEpisode, LiveEpisodes, Place, Seen
from rewarden_server.http.access import RawRoute, needs, service_of
from rewarden_server.http.body import unless_gone
from rewarden_server.http.replies import json_reply
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.observe.logs import get_logger, log_defect
from rewarden_server.refusals import as_request_error
from rewarden_server.service import BOX_SCOPE, Service
from rewarden_verifiers.environments.actions import action_of
from rewarden_verifiers.environments.contract import Environment
from rewarden_verifiers.environments.episode import MOST_SEED
from rewarden_verifiers.environments.table import environment_of, names

T = TypeVar("T")

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

_MOST_AHEAD = 8
"""Messages that may come while another one is answered."""

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
        "error": {"enum": ["malformed", "refused", "notebook_ended", "no_steps_left"]},
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


def _name(given: str) -> str:
    """Raises NotFound."""
    if given not in boxed.NAMES and given not in names():
        raise NotFound(f"there is no environment {given[:100]!r}; see /openenv")
    return given


def _environment(name: str) -> type[Environment]:
    """Raises Unavailable."""
    try:
        return environment_of(name)
    except SampleError as error:
        raise Unavailable(error.message, reason=error.reason) from None


def _caller(name: str) -> Caller:
    """The caller, who may live episodes of an environment. Raises Forbidden."""
    caller = CURRENT.get()
    assert caller is not None  # none of these routes is open
    if name in boxed.NAMES:
        caller.demand(BOX_SCOPE)
    return caller


@router.get("/openenv")
async def listed(request: Request) -> Response:
    """The names of the environments."""
    return json_reply({"environments": [*boxed.NAMES, *(name for name in names() if name not in boxed.NAMES)]})


@router.post("/openenv/{name}/reset")
async def reset(request: Request) -> Response:
    """Begins an episode, under an id of the caller's or a new one."""
    service, name = service_of(request), _name(request.path_params["name"])
    caller = _caller(name)
    async with body_of(request, service) as body:
        _check_size(body, service)
        begin = _begin_of(body)
        with service.episodes.opening(caller.name, name, begin.id, _kind(name)) as episode:
            answer = await unless_gone(request.receive, _reset(service, caller, episode, begin))
    return json_reply(answer)


@router.post("/openenv/{name}/step")
async def step(request: Request) -> Response:
    """Does an action in the episode that `episode_id` names."""
    service, name = service_of(request), _name(request.path_params["name"])
    caller = _caller(name)
    async with body_of(request, service) as body:
        _check_size(body, service)
        action = _action_of(name, body.get("action"))
        episode = _found(service, caller, name, body.get("episode_id"))
        seen = await unless_gone(request.receive, _step(service, caller, episode, action))
    return json_reply(_told(seen, {"episode_id": episode.id}))


@router.get("/openenv/{name}/state")
async def state(request: Request) -> Response:
    """The state of the episode that `episode_id` names."""
    service, name = service_of(request), _name(request.path_params["name"])
    return json_reply(_found(service, _caller(name), name, request.query_params.get("episode_id")).state())


@router.get("/openenv/{name}/schema")
async def schema(request: Request) -> Response:
    """The schemas of actions, observations and states."""
    if _name(request.path_params["name"]) in boxed.NAMES:
        return json_reply({"action": _BOX_ACTION, "observation": _BOX_OBSERVATION, "state": _BOX_STATE})
    return json_reply({"action": _ACTION, "observation": _OBSERVATION, "state": _STATE})


@router.get("/openenv/{name}/tools")
async def tools(request: Request) -> Response:
    """The tools of the policy, as chat templates take them."""
    name = _name(request.path_params["name"])
    known = boxed.TOOLS if name in boxed.NAMES else _environment(name).tools
    return json_reply({"tools": [tool.schema() for tool in known]})


@router.get("/openenv/{name}/health")
async def health(request: Request) -> Response:
    """Healthy if the environment's module can be imported here; for boxes, if a sandbox is there."""
    name = _name(request.path_params["name"])
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
    name = _name(request.path_params["name"])
    if name in boxed.NAMES:
        description = boxed.NAMES[name]
        readme = "\n".join(f"- `{tool.name}({', '.join(tool.arguments)})`: {tool.meaning}" for tool in boxed.TOOLS)
    else:
        kind = _environment(name)
        description = (inspect.getdoc(kind) or name).split("\n", 1)[0]
        readme = "\n".join(f"- `{tool.written(tool.argument.upper())}`: {tool.meaning}" for tool in kind.tools)
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
    name = _name(websocket.path_params["name"])
    caller = _caller(name)
    caller.demand(SCOPE)
    service: Service = websocket.app.state.service
    episodes: LiveEpisodes = service.episodes
    await websocket.accept()
    episode: Place | None = None
    try:
        episode = episodes.open(caller.name, name, held=True, kind=_kind(name))
        await _talk(websocket, service, caller, episode)
    except WebSocketDisconnect:
        return
    except Full as error:
        await _say(websocket, _failed("CAPACITY_REACHED", error))
    except RequestError as error:
        await _say(websocket, _failed("SESSION_ERROR", error))
    finally:
        if episode is not None:
            episodes.close(episode)
            if isinstance(episode, BoxedEpisode):
                await episode.leave(Desk(service, caller, SURFACE))
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # the client has closed it
        await websocket.close()


async def _talk(websocket: WebSocket, service: Service, caller: Caller, episode: Place) -> None:
    """Answers messages, one at a time, until `close`. Raises WebSocketDisconnect, and RequestError for what ends the
    connection."""
    idle_s, most = service.episodes.settings.idle_s, service.episodes.settings.message_bytes
    next_message = _Next(websocket)
    try:
        while True:
            try:
                async with asyncio.timeout(idle_s):
                    message = await service.until_stopped(next_message.take())
            except TimeoutError:
                raise InvalidRequest(f"no message for {idle_s:g} s (environments.idle_s)") from None
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message.get("code", 1005))
            text = message.get("text")
            # The connection takes the larger messages of other routes.
            if len(message.get("bytes") or (text or "").encode("utf-8", "surrogatepass")) > most:
                await websocket.close(1009, f"a message has at most {most} bytes (environments.message_bytes)")
                raise WebSocketDisconnect(1009)
            work = _answer(text, service, caller, episode)
            reply = await (next_message.beside(work) if isinstance(episode, BoxedEpisode) else work)
            if reply is None:
                return
            await _say(websocket, reply)
    finally:
        next_message.stop()


class _Next:
    """The next messages of a connection, which may come while the one before them is answered."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket
        self._coming: asyncio.Future[Any] | None = None
        self._come: deque[Any] = deque()

    async def take(self) -> Any:
        """Returns the next one."""
        if self._come:
            return self._come.popleft()
        coming, self._coming = self._coming, None
        return await (coming if coming is not None else self._websocket.receive())

    async def beside(self, work: Coroutine[Any, Any, T]) -> T:
        """Returns what the work returns. Raises WebSocketDisconnect if the client leaves, which ends the work, and
        InvalidRequest if too many messages come meanwhile. Attack: a client that leaves during a step, perhaps behind
        further messages, whose program would run on in its box."""
        working = asyncio.ensure_future(work)
        try:
            while True:
                if self._coming is None:
                    self._coming = asyncio.ensure_future(self._websocket.receive())
                await asyncio.wait({working, self._coming}, return_when=asyncio.FIRST_COMPLETED)
                if working.done():
                    return await working
                message, self._coming = self._coming.result(), None
                if message["type"] == "websocket.disconnect":
                    raise WebSocketDisconnect(message.get("code", 1005))
                if len(self._come) == _MOST_AHEAD:
                    raise InvalidRequest(f"more than {_MOST_AHEAD} messages came before the answer to the first")
                self._come.append(message)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    def stop(self) -> None:
        """Waits for no more messages."""
        if self._coming is not None:
            self._coming.cancel()


async def _answer(text: str | None, service: Service, caller: Caller, episode: Place) -> dict[str, Any] | None:
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
            action = _action_of(episode.environment, data)
            seen = await service.until_stopped(_step(service, caller, episode, action))
            return {"type": "observation", "data": _told(seen, {})}
        return {
            "type": "observation",
            "data": await service.until_stopped(_reset(service, caller, episode, _begin_of(data))),
        }
    except Exception as error:  # noqa: BLE001 - the protocol has an answer to everything
        known = as_request_error(error)
        if isinstance(known, InternalError):
            log_defect(_log, error)
        mistake = isinstance(known, (InvalidRequest, TooLarge)) and not isinstance(known, Ended)
        return _failed(code if mistake else "EXECUTION_ERROR", known)


async def _say(websocket: WebSocket, message: Mapping[str, Any]) -> None:
    await websocket.send_text(dumps(message).decode())


def _failed(code: Code, error: RequestError) -> dict[str, Any]:
    told = ("path", "limit", "most", "reason", "fault")
    details = {name: error.details[name] for name in told if name in error.details}
    return {"type": "error", "data": {"message": error.message, "code": code, **details}}


def _told(seen: Seen, more: Mapping[str, Any]) -> dict[str, Any]:
    told = asdict(seen)
    return {**told, "metadata": dict(more)} if more else told


def _kind(name: str) -> type[Place]:
    return BoxedEpisode if name in boxed.NAMES else LiveEpisode


async def _reset(service: Service, caller: Caller, episode: Place, begin: _Begin) -> dict[str, Any]:
    """Begins an episode. Raises RequestError."""
    if isinstance(episode, BoxedEpisode):
        options = {**begin.own, **begin.options}
        if begin.id is not None:
            options.setdefault("rollout", begin.id)
        seen, seed = await episode.reset(service, Desk(service, caller, SURFACE), begin.seed, options), begin.seed
        service.episodes.used(episode)
    else:
        assert isinstance(episode, LiveEpisode)
        start = {**begin.own, "seed": begin.seed, "options": begin.options}
        seen = await service.episodes.reset(service, episode, start)
        seed = (episode.start or {}).get("seed")
    # The id is the caller's own name; a connection is the episode's place, whatever its name.
    return _told(seen, {"episode_id": begin.id or episode.id, "seed": seed})


async def _step(service: Service, caller: Caller, episode: Place, action: Mapping[str, Any]) -> Seen:
    """Does an action. Raises RequestError."""
    if isinstance(episode, BoxedEpisode):
        seen = await episode.step(Desk(service, caller, SURFACE), action)
        service.episodes.used(episode)
        return seen
    assert isinstance(episode, LiveEpisode)
    text = action.get("text")
    if text is None:
        known = _environment(episode.environment).tools
        called = action_of(action["tool"], action.get("arguments"), known)
        if called is None:  # no action, as in a verdict of the same messages
            text = f"There is no tool {action['tool'][:40]!r}; the tools are {', '.join(tool.name for tool in known)}."
            return Seen({"text": text, "error": "malformed"}, None, episode.done)
        text = called.text
    return await service.episodes.step(service, episode, text)


@dataclass(frozen=True, slots=True)
class _Begin:
    """A request to reset. own: fields of the episode that are no options of the environment."""

    seed: int | None
    id: str | None
    own: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


def _begin_of(body: Mapping[str, Any]) -> _Begin:
    """The request in a body. What is not the episode's is an option of the environment's. Raises InvalidRequest."""
    seed, id = body.get("seed"), body.get("episode_id")
    if seed is not None and (type(seed) is not int or not 0 <= seed <= MOST_SEED):
        raise InvalidRequest(f"seed: must be a whole number from 0 to {MOST_SEED}", path="seed")
    if id is not None and not (isinstance(id, str) and 1 <= len(id) <= MOST_ID):
        raise InvalidRequest(f"episode_id: must be a text of 1 to {MOST_ID} characters", path="episode_id")
    given = body.get("options")
    if given is not None and not isinstance(given, dict):
        raise InvalidRequest("options: must be an object", path="options")
    known = ("seed", "episode_id", "options", "environment", *_OF_EPISODE)
    flat = {name: value for name, value in body.items() if name not in known}
    both = next((name for name in flat if name in (given or {})), None)
    if both is not None:
        raise InvalidRequest(f"{both[:40]}: is given twice", path=both[:40])
    own = {name: body[name] for name in _OF_EPISODE if body.get(name) is not None}
    return _Begin(seed, id, own, {**(given or {}), **flat})


def _action_of(name: str, action: Any) -> Mapping[str, Any]:
    """An action in its environment's form. Raises InvalidRequest."""
    if name in boxed.NAMES:
        if not isinstance(action, dict):
            raise InvalidRequest("action: must be an object with tool and arguments", path="action")
        return action
    if not isinstance(action, dict):
        raise InvalidRequest("action: must be an object with text", path="action")
    if "tool" in action and "text" not in action:
        if action.keys() - {"tool", "arguments", "metadata"} or not isinstance(action["tool"], str):
            raise InvalidRequest("action: must be an object with tool, a text, and arguments", path="action.tool")
        return action
    unknown = next((name for name in action if name not in ("text", "metadata")), None)
    if unknown is not None or not isinstance(action.get("text"), str):
        raise InvalidRequest("action: must be an object with text, a text", path="action.text")
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


sockets = [APIWebSocketRoute("/openenv/{name}/ws", socket)]
"""The routes of WebSockets, which `check_scopes` does not see: `socket` demands the scope itself."""
