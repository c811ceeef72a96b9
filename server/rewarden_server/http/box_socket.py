"""The WebSocket of a box, for browsers and other languages: one program with its input, its output and its signals.

The first message is an `ExecRequest`. The server then sends the events of the HTTP stream, one in each message, and
closes the connection. Meanwhile, the client sends the program's input in binary messages, `{"eof": true}` after the
last of them, and `{"signal": "INT"}`. A client that leaves kills its program.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

from fastapi.routing import APIWebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from rewarden.boxes.call import BoxCall
from rewarden.errors import InternalError, InvalidRequest, TooLarge
from rewarden.wire.json import dumps, error_to_json
from rewarden_server.access.caller import CURRENT
from rewarden_server.boxes.desk import Desk
from rewarden_server.http.body import SILENCE_S
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.observe.logs import get_logger, log_defect
from rewarden_server.refusals import as_request_error
from rewarden_server.service import BOX_SCOPE, Service

PROTOCOL = "rewarden.exec"
"""The subprotocol that the server selects if the client offers it."""

SURFACE = "websocket"

INPUT_BYTES = 8 * 1024**2
"""Input that its program has not read yet. More of it ends the connection. Attack: a program that reads nothing, so
that the server either keeps all that comes, or does not notice that its client has left."""

_log = get_logger("boxes")


async def exec_socket(websocket: WebSocket) -> None:
    """Serves a connection. Raises RequestError before it is accepted."""
    caller = CURRENT.get()
    assert caller is not None  # no route of boxes is open
    caller.demand(BOX_SCOPE)
    service: Service = websocket.app.state.service
    desk = Desk(service, caller, SURFACE)
    id = websocket.path_params["id"]
    desk.box(id, "exec")
    await websocket.accept(PROTOCOL if PROTOCOL in websocket.scope["subprotocols"] else None)
    try:
        await _Talk(websocket, service, desk, id).run()
    except WebSocketDisconnect:
        return
    except Exception as error:  # noqa: BLE001 - the client is told whatever it was
        known = as_request_error(error)
        if isinstance(known, InternalError):
            log_defect(_log, error)
        with contextlib.suppress(WebSocketDisconnect):
            await websocket.send_text(dumps(error_to_json(known)).decode())
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # the client has closed it
        await websocket.close()


class _Talk:
    """One program of a connection."""

    def __init__(self, websocket: WebSocket, service: Service, desk: Desk, id: str) -> None:
        self._websocket = websocket
        self._service = service
        self._desk = desk
        self._id = id
        self._begun: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._feeds = False
        self._unread = 0
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def run(self) -> None:
        """Returns when the program has ended. Raises RequestError for the client, and WebSocketDisconnect."""
        try:
            async with asyncio.timeout(SILENCE_S):
                value = self._json(await self._message())
        except TimeoutError:
            raise InvalidRequest(f"no message for {SILENCE_S:g} s: the first one is an ExecRequest") from None
        self._feeds = value.get("feed") is True
        tasks = {asyncio.create_task(self._tell(value)), asyncio.create_task(self._listen())}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()

    async def _tell(self, value: dict[str, Any]) -> None:
        call = BoxCall(operation="exec", box=self._id, value=value)
        async with contextlib.aclosing(self._desk.events(call, self._input() if self._feeds else None)) as events:
            async for event in events:
                if "begun" in event:
                    self._begun.set_result(event["begun"]["exec"])
                await self._websocket.send_text(dumps(event).decode())

    async def _listen(self) -> None:
        """Carries out messages until the client leaves."""
        while True:
            message = await self._message()
            data = message.get("bytes")
            if data is not None:
                self._take(data)
                continue
            order = self._json(message)
            if order == {"eof": True} and self._feeds:
                self._feeds = False
                self._pieces.put_nowait(None)
            elif order.keys() == {"signal"}:
                number = await asyncio.shield(self._begun)
                await self._desk.signal(BoxCall(operation="signal", box=self._id, number=number, value=order))
            else:
                raise InvalidRequest(
                    'send the program\'s input as binary messages (with "feed": true in the first message), '
                    '{"eof": true} once after the last, or {"signal": "INT"}'
                )

    def _take(self, data: bytes) -> None:
        if not self._feeds:
            raise InvalidRequest(
                "the program takes no input: send feed: true in the first message, and nothing after eof"
            )
        self._unread += len(data)
        if self._unread > INPUT_BYTES:
            most = INPUT_BYTES
            raise TooLarge(
                f"the program has not read {self._unread} bytes of its input; at most {most} may wait", most=most
            )
        self._pieces.put_nowait(data)

    async def _input(self) -> AsyncGenerator[bytes, None]:
        while (data := await self._pieces.get()) is not None:
            yield data
            self._unread -= len(data)

    async def _message(self) -> dict[str, Any]:
        message: dict[str, Any] = dict(await self._websocket.receive())
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        return message

    def _json(self, message: dict[str, Any]) -> dict[str, Any]:
        text = message.get("text")
        value = None if text is None else read_json(text.encode("utf-8", "surrogatepass"), self._service.limits)
        if type(value) is not dict:
            raise InvalidRequest("the message must be a JSON object, as text")
        return value


sockets = [APIWebSocketRoute("/v1/sessions/{id}/exec/ws", exec_socket, name="exec_socket")]
