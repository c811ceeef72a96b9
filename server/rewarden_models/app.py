"""The model process's surface: `rewarden_models.wire` over HTTP, as an ASGI application."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from urllib.parse import unquote

import msgspec

from rewarden.errors import SampleError
from rewarden_models.failure import Failure
from rewarden_models.hosted_model import HostedModel, Load, Make, defect, load, make
from rewarden_models.settings import ProcessSettings
from rewarden_models.wire import error_to_wire, task_from_wire

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_log = logging.getLogger(__name__)

_encode = msgspec.json.Encoder().encode


class _Item(msgspec.Struct):
    id: int
    kind: str
    task: Any


class _Work(msgspec.Struct):
    model: str
    items: list[_Item]
    call: str = ""


class _Cancel(msgspec.Struct):
    call: str
    ids: list[int]


class _Reload(msgspec.Struct):
    model: str | None = None
    revision: str | None = None


class _Refused(Exception):
    """An HTTP error response."""

    def __init__(self, status: int, message: str, kind: str = "refused", **details: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": error_to_wire(kind, message, **details)}


class App:
    """Created and used on one event loop. `start` begins to load the models; work waits until its model is loaded."""

    def __init__(
        self, settings: ProcessSettings, key: str | None = None, *, load: Load = load, make: Make = make
    ) -> None:
        self._settings = settings
        self._key = f"Bearer {key}".encode() if key else None
        # One at a time: a model needs its memory twice while it is read.
        self._loads = ThreadPoolExecutor(1, thread_name_prefix="load")
        self._models = {
            name: HostedModel(name, model, self._loads, place=settings.swapped.get(name), load=load, make=make)
            for name, model in settings.models.items()
        }
        self._calls: dict[str, dict[int, asyncio.Task[None]]] = {}
        self._open: set[asyncio.Task[None]] = set()
        self._answered = asyncio.Event()
        self._stopped = False

    def start(self) -> None:
        """Start loading the models; returns at once."""
        for model in self._models.values():
            model.start()

    async def stop(self, patience_s: float = 1.0) -> None:
        """Fail all work in progress with `stopped`, and wait briefly until its callers have been told."""
        self._stopped = True
        for task in self._open:
            task.cancel()
        try:
            async with asyncio.timeout(patience_s):
                while self._calls:
                    self._answered.clear()
                    await self._answered.wait()
        except TimeoutError:
            _log.warning("a client does not read its response")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            return
        method, path = scope["method"], scope["path"]
        try:
            if (method, path) == ("GET", "/healthz"):
                loading = any(model.loading for model in self._models.values())
                return await _reply(send, {"status": "alive", "loading": loading})
            self._check_key(scope)
            if (method, path) == ("POST", "/v1/work"):
                return await self._work(await self._body(scope, receive, _Work), receive, send)
            if (method, path) == ("POST", "/v1/cancel"):
                return await _reply(send, self._cancel(await self._body(scope, receive, _Cancel)))
            if (method, path) == ("GET", "/v1/models"):
                for each in self._models.values():
                    each.retry()
                return await _reply(send, {"models": {name: each.status() for name, each in self._models.items()}})
            if method == "POST" and path.startswith("/v1/models/") and path.endswith("/reload"):
                name = unquote(path.removeprefix("/v1/models/").removesuffix("/reload"))
                return await _reply(send, await self._reload(name, await self._body(scope, receive, _Reload)))
            raise _Refused(404, f"unknown route {method} {path}")
        except _Refused as refused:
            await _reply(send, refused.body, refused.status)

    def _check_key(self, scope: Scope) -> None:
        if self._key is None:
            return
        shown = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        if not hmac.compare_digest(shown, self._key):
            raise _Refused(401, "the model process rejects the key: see api_key and api_key_env")

    async def _body(self, scope: Scope, receive: Receive, kind: type[Any]) -> Any:
        most = self._settings.max_body_bytes
        parts, size = [], 0
        said = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        more = True
        while more:
            if size > most or (said.isdigit() and int(said) > most):
                raise _Refused(413, f"the request has more than {most} bytes (max_body_bytes)", "invalid")
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Refused(400, "the request ended before its body was complete")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            more = message.get("more_body", False)
        try:
            return msgspec.json.decode(b"".join(parts) or b"{}", type=kind)
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
            raise _Refused(400, f"the body: {error}") from None

    # --- work ---------------------------------------------------------------------------------------------------

    async def _work(self, work: _Work, receive: Receive, send: Send) -> None:
        """Send each item's line as the item ends. If the caller disconnects, its items are cancelled."""
        loop = asyncio.get_running_loop()
        call = work.call or f"unnamed {id(work)}"
        if call in self._calls or len({item.id for item in work.items}) < len(work.items):
            raise _Refused(400, "a call's name and its items' ids must be unique")
        tasks = self._calls[call] = {}
        lines: list[bytes] = []
        changed = asyncio.Event()
        left = loop.create_task(_until_left(receive))
        left.add_done_callback(lambda _: changed.set())

        def ended(item: _Item, task: asyncio.Task[None]) -> None:
            self._open.discard(task)
            del tasks[item.id]
            changed.set()

        try:
            await send({"type": "http.response.start", "status": 200, "headers": _NDJSON})
            for item in work.items:
                task = tasks[item.id] = loop.create_task(self._do(work.model, item, lines))
                self._open.add(task)
                task.add_done_callback(partial(ended, item))
            while (tasks or lines) and not left.done():
                await changed.wait()
                changed.clear()
                if lines:
                    said = b"".join(lines)
                    lines.clear()
                    await send({"type": "http.response.body", "body": said, "more_body": True})
            if not left.done():
                await send({"type": "http.response.body", "body": b""})
        finally:
            left.cancel()
            for task in tasks.values():
                task.cancel()
            del self._calls[call]
            self._answered.set()

    async def _do(self, model: str, item: _Item, lines: list[bytes]) -> None:
        """Run one item. However it ends, it gets a line."""
        try:
            if self._stopped:
                raise Failure("stopped", "the model's process is stopping")
            hosted = self._models.get(model)
            if hosted is None:
                known = ", ".join(self._models) or "none"
                raise Failure("unknown_model", f"unknown model {model!r} in this process; known: {known}")
            result = await hosted.run(task_from_wire(item.kind, item.task))
            lines.append(_encode({"id": item.id, "result": result}) + b"\n")
            return
        except Failure as failure:
            error = error_to_wire(failure.kind, failure.message, **failure.details)
        except SampleError as wrong:
            error = error_to_wire("invalid", wrong.message, **wrong.details)
        except asyncio.CancelledError:
            error = (
                error_to_wire("stopped", "the model's process is stopping")
                if self._stopped
                else error_to_wire("cancelled", "the caller disconnected")
            )
        except Exception as bug:  # noqa: BLE001 - it costs only this item
            said = defect(f"model {model!r} failed at {item.kind!r}", bug)
            error = error_to_wire(said.kind, said.message)
        lines.append(_encode({"id": item.id, "error": error}) + b"\n")

    def _cancel(self, asked: _Cancel) -> dict[str, Any]:
        tasks = self._calls.get(asked.call, {})
        found = [tasks[number] for number in asked.ids if number in tasks]
        for task in found:
            task.cancel()
        return {"cancelled": len(found)}

    # --- weights ------------------------------------------------------------------------------------------------

    async def _reload(self, name: str, asked: _Reload) -> dict[str, Any]:
        model = self._models.get(name)
        if model is None:
            known = ", ".join(self._models) or "none"
            raise _Refused(404, f"unknown model {name!r} in this process; known: {known}", "unknown_model")
        try:
            about = await model.reload(asked.model, asked.revision)
            return {"about": about, "place": model.place}
        except Failure as failure:
            status = 403 if failure.kind == "forbidden" else 409
            raise _Refused(status, failure.message, failure.kind, **failure.details) from None


_NDJSON = [(b"content-type", b"application/x-ndjson")]


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _reply(send: Send, value: Any, status: int = 200) -> None:
    body = _encode(value)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
