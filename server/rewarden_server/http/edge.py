"""The outermost layer of HTTP: request ids, keys, errors to responses, and a log line and metrics for each request."""

from __future__ import annotations

import base64
import re
import time
import uuid
from collections.abc import Mapping, Sequence

import structlog
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rewarden.errors import InternalError, InvalidRequest, NotFound, RequestError
from rewarden_server.access.audit import Entry
from rewarden_server.access.caller import CURRENT, Caller
from rewarden_server.access.rates import Meter
from rewarden_server.boxes.lease import lease_in
from rewarden_server.http.origin import Origins
from rewarden_server.http.protocol import MAX_HEAD_BYTES
from rewarden_server.http.replies import ClientGone, HeadTooLarge, MethodNotAllowed, error_reply
from rewarden_server.observe.logs import get_logger, log_defect
from rewarden_server.observe.telemetry.span import UNTRACED, Span, within
from rewarden_server.refusals import as_request_error
from rewarden_server.service import Service

SURFACE = "http"
OPEN = frozenset({"/", "/healthz", "/readyz", "/docs", "/gallery", "/playground", "/runs", "/health", "/openapi.json"})
"""Routes that need no key: probes have none, and the pages contain no caller's data (their scripts send the key)."""

OPEN_BELOW = ("/docs/", "/playground/", "/runs/", "/static/")

MAX_HEADERS = 200
"""The maximum number of headers in a request; a request with more gets 431."""

_ONCE = (b"host", b"authorization", b"rewarden-lease", b"origin", b"content-type", b"content-encoding")
"""Attack: a header that is sent twice, so that a proxy in front of the server uses one value and the server the
other."""

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
)
"""Headers of every response, which keep pages of other origins from using it."""

KEY_PROTOCOL = "rewarden.key."

LEASED = "/v1/sessions/"
"""The routes on which a lease takes the place of a key."""

UNTRACED_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that probes request every few seconds."""

_CLIENT_GONE = 499
"""The status that logs and metrics show for a request whose client disconnected. It is never sent."""

_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}")

_log = get_logger("http")


class Edge:
    """ASGI middleware around the application. `routes`: all routes of the application."""

    def __init__(self, service: Service, app: ASGIApp, routes: Sequence[Route]) -> None:
        self._service = service
        self._app = app
        self._routes = routes
        self._origins = Origins(service.config.server, keyed=service.keys.required)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
            return
        if scope["type"] != "http":  # lifespan: not supported
            return
        headers = dict(scope["headers"])
        request_id = _request_id(headers.get(b"x-request-id"))
        start = time.perf_counter()
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode()), *_HEADERS]
            await send(message)

        key = ""
        caller: Caller | None = None
        meter: Meter | None = None
        audit = self._service.audit
        entry: Entry | None = None
        if audit is not None and not is_open(scope["path"]):
            entry = audit.entry(request_id, SURFACE, peer_of(scope))
        # HEAD runs the GET handler; the layer below omits the body.
        inner = scope if scope["method"] != "HEAD" else {**scope, "method": "GET"}
        with structlog.contextvars.bound_contextvars(request_id=request_id), within(self._span(scope, headers)) as span:
            try:
                _check_head(scope["headers"], headers)
                caller = self._caller(scope, headers)
                if caller is not None:
                    key = caller.name
                    caller.entry = entry
                    if caller.meter is not None:
                        caller.meter.begin()
                        meter = caller.meter
                    if audit is not None:
                        audit.check()
                    CURRENT.set(caller)
                with structlog.contextvars.bound_contextvars(key=key):
                    await self._app(inner, receive, answer)
            except ClientGone:
                status = status or _CLIENT_GONE
            except Exception as error:
                known = self._named(error, scope)
                if isinstance(known, InternalError):
                    log_defect(_log, error)
                if status:
                    _log.warning("response broken off", code=known.code)  # the client is told nothing but that
                    raise  # a part of the response was sent: break the connection, so that it does not look complete
                await error_reply(known)(scope, receive, answer)
            finally:
                if meter is not None:
                    meter.end()
                matched = inner.get("route")
                route = "unmatched" if matched is None else matched.path
                seconds = round(time.perf_counter() - start, 6)
                self._service.metrics.request(SURFACE, route, str(status), key, seconds)
                span.rename(f"{scope['method']} {route}")
                span.note(method=scope["method"], route=route, status_code=status, key=key, request_id=request_id)
                if status >= 500:
                    span.fail(str(status))
                say = _log.debug if route in ("/healthz", "/readyz", "/metrics") else _log.info
                say("request", method=scope["method"], route=route, status=status, seconds=seconds, key=key)
                if audit is not None and entry is not None and (route, status) != ("/metrics", 200):
                    method = scope["method"]
                    audit.write(entry.line(route=route, method=method, key=key, status=str(status), seconds=seconds))

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a WebSocket, which is checked as a request is before it is accepted. It is one request of its key,
        for as long as it is open."""
        headers = dict(scope["headers"])
        request_id = _request_id(headers.get(b"x-request-id"))
        start = time.perf_counter()
        status, key = 0, ""
        meter: Meter | None = None
        audit = self._service.audit
        entry = audit.entry(request_id, SURFACE, peer_of(scope)) if audit is not None else None

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "websocket.accept":
                status = 101
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
            elif message["type"] == "websocket.http.response.start":
                status = message["status"]
            elif message["type"] == "websocket.close" and not status:
                status = 403  # the status with which the server refuses an address that has no WebSocket
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                _check_head(scope["headers"], headers)
                caller = self._caller(scope, {**headers, **key_in(scope, headers)})
                if caller is None:
                    raise NotFound("there is no WebSocket at this address")
                key, caller.entry = caller.name, entry
                if caller.meter is not None:
                    caller.meter.begin()
                    meter = caller.meter
                if audit is not None:
                    audit.check()
                CURRENT.set(caller)
                with structlog.contextvars.bound_contextvars(key=key):
                    await self._app(scope, receive, answer)
            except Exception as error:
                known = as_request_error(error)
                if isinstance(known, InternalError):
                    log_defect(_log, error)
                if status:
                    raise  # the connection breaks
                await error_reply(known)(scope, receive, answer)
            finally:
                if meter is not None:
                    meter.end()
                matched = scope.get("route")
                route = "unmatched" if matched is None else matched.path
                seconds = round(time.perf_counter() - start, 6)
                self._service.metrics.request(SURFACE, route, str(status), key, seconds)
                _log.info("websocket", route=route, status=status, seconds=seconds, key=key)
                if audit is not None and entry is not None:
                    audit.write(entry.line(route=route, method="GET", key=key, status=str(status), seconds=seconds))

    def _span(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Span:
        if scope["path"] in UNTRACED_PATHS:
            return UNTRACED
        parent, state = (headers.get(name, b"").decode("latin-1") for name in (b"traceparent", b"tracestate"))
        return self._service.tracing.request("HTTP", parent, state)

    def _caller(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Caller | None:
        """Returns the caller, or None on a route that needs no key. Raises Unauthorized, Forbidden."""
        if is_open(scope["path"]):
            return None
        self._origins.check(_text(headers.get(b"host")), _text(headers.get(b"origin")))
        authorization = _text(headers.get(b"authorization"))
        leased = scope["path"].startswith(LEASED)
        lease = lease_in(authorization, _text(headers.get(b"rewarden-lease"))) if leased else None
        return self._service.keys.caller(authorization) if lease is None else self._service.leaseholder(lease)

    def _named(self, error: Exception, scope: Scope) -> RequestError:
        """Returns the error as a RequestError."""
        if isinstance(error, HTTPException) and error.status_code == 404:
            return NotFound(f"unknown route {scope['path'][:200]!r}; see /docs or /openapi.json")
        if isinstance(error, HTTPException) and error.status_code == 405:
            found = [route for route in self._routes if route.matches(scope)[0] is not Match.NONE]
            methods = {method for route in found for method in route.methods or ()}
            allow = ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
            return MethodNotAllowed(f"{scope['method'][:20]} is not allowed on this route; use {allow}", allow=allow)
        return as_request_error(error)


def is_open(path: str) -> bool:
    """Returns whether a path needs no key."""
    return path in OPEN or path.startswith(OPEN_BELOW)


def key_in(scope: Scope, headers: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Returns the `Authorization` that a page puts among a WebSocket's subprotocols, because browsers let it set no
    header: `rewarden.key.` and the key, or the lease, in base64url. Raises InvalidRequest."""
    given = [each for each in scope["subprotocols"] if each.startswith(KEY_PROTOCOL)]
    if not given:
        return {}
    if len(given) > 1 or b"authorization" in headers:  # attack: a proxy checks the one, and the server the other
        raise InvalidRequest("the WebSocket has more than one key")
    text = given[0].removeprefix(KEY_PROTOCOL)
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise InvalidRequest(f"the subprotocol {KEY_PROTOCOL}… must have the key in base64url") from None
    return {b"authorization": b"Bearer " + key}


def peer_of(scope: Scope) -> str:
    """Returns the address that a request came from. Headers are ignored, because any client can set them."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")


def _check_head(pairs: Sequence[tuple[bytes, bytes]], headers: Mapping[bytes, bytes]) -> None:
    """Raises HeadTooLarge, InvalidRequest."""
    if len(pairs) > MAX_HEADERS:
        raise HeadTooLarge(f"the request has more than {MAX_HEADERS} headers")
    # The protocol limits a head that arrives in pieces, before it is complete. This check is for one that arrives at
    # once.
    if sum([len(name) + len(value) for name, value in pairs]) > MAX_HEAD_BYTES:
        raise HeadTooLarge(f"the headers have more than {MAX_HEAD_BYTES} bytes")
    if len(pairs) != len(headers):
        names = [name for name, _ in pairs]
        for name in _ONCE:
            if names.count(name) > 1:
                raise InvalidRequest(f"the header {name.decode()} is sent twice")


def _request_id(given: bytes | None) -> str:
    text = (given or b"").decode("latin-1")
    return text if _REQUEST_ID.fullmatch(text) else uuid.uuid4().hex
