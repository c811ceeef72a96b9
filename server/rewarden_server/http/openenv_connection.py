"""A WebSocket of OpenEnv: it holds a place for an episode, and each message is answered before the next."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeVar

from starlette.websockets import WebSocket, WebSocketDisconnect

from rewarden.errors import InvalidRequest, RequestError
from rewarden.wire.json import dumps
from rewarden_server.access.caller import Caller
from rewarden_server.environments.boxed import BoxedEpisode
from rewarden_server.environments.live import Place
from rewarden_server.environments.lived import caller_of, end, name_of, place_kind
from rewarden_server.service import Service

T = TypeVar("T")

Answer = Callable[[str | None, Place], Coroutine[Any, Any, Mapping[str, Any] | None]]
"""Answers a message; None for one that has no answer. Raises Closed."""

Answers = Callable[[Service, Caller, str | None, Place], Coroutine[Any, Any, Mapping[str, Any] | None]]
Failed = Callable[[RequestError], Mapping[str, Any]]

_MOST_AHEAD = 8
"""Messages that may come while another one is answered."""


class Closed(Exception):
    """The client said that it is done."""


async def served(websocket: WebSocket, scope: str, answer: Answers, failed: Failed) -> None:
    """Serves a connection to the environment of its address. answer: see `Answer`, for a service and a caller. failed:
    the last message, about what ended the connection."""
    name = name_of(websocket.path_params["name"])
    caller = caller_of(name)
    caller.demand(scope)
    service: Service = websocket.app.state.service
    await websocket.accept()
    try:
        async with held(websocket, service, caller, name) as place:
            await talk(websocket, service, place, partial(answer, service, caller))
    except WebSocketDisconnect:
        return
    except RequestError as error:
        await say(websocket, failed(error))
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # the client has closed it
        await websocket.close()


@contextlib.asynccontextmanager
async def held(websocket: WebSocket, service: Service, caller: Caller, name: str) -> AsyncIterator[Place]:
    """Yields the place of a connection: a new one, which ends with it, or that of the session in `session_id`. Raises
    RequestError."""
    session = websocket.query_params.get("session_id")
    if session is None:
        place = service.episodes.open(caller.name, name, held=True, kind=place_kind(name))
    else:
        place = service.episodes.attach(caller.name, name, session)
    try:
        yield place
    finally:
        place.held = False
        if session is None or place.ending:
            await end(service, caller, place)
        else:
            service.episodes.used(place)


async def talk(websocket: WebSocket, service: Service, place: Place, answer: Answer) -> None:
    """Answers messages, one at a time, until one says that it is the last. Raises WebSocketDisconnect, and RequestError
    for what ends the connection."""
    episodes = service.episodes
    most = episodes.settings.message_bytes
    next_message = _Next(websocket)
    try:
        while True:
            try:
                async with asyncio.timeout(episodes.left_s(place)):
                    message = await service.until_stopped(next_message.take())
            except TimeoutError:
                if episodes.left_s(place) > 0:  # a session is used over HTTP as well
                    continue
                idle_s = episodes.settings.idle_s
                raise InvalidRequest(f"no message for {idle_s:g} s (environments.idle_s)") from None
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message.get("code", 1005))
            text = message.get("text")
            # The connection takes the larger messages of other routes.
            if len(message.get("bytes") or (text or "").encode("utf-8", "surrogatepass")) > most:
                await websocket.close(1009, f"a message has at most {most} bytes (environments.message_bytes)")
                raise WebSocketDisconnect(1009)
            work = answer(text, place)
            try:
                reply = await (next_message.beside(work) if isinstance(place, BoxedEpisode) else work)
            except Closed:
                return
            episodes.used(place)
            if reply is not None:
                await say(websocket, reply)
    finally:
        next_message.stop()


async def say(websocket: WebSocket, message: Mapping[str, Any]) -> None:
    """Sends a message."""
    await websocket.send_text(dumps(message).decode())


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
                    raise InvalidRequest(f"more than {_MOST_AHEAD} messages came before the reply to the first")
                self._come.append(message)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    def stop(self) -> None:
        """Waits for no more messages."""
        if self._coming is not None:
            self._coming.cancel()
