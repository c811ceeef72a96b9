"""The outermost layer of HTTP: request ids, keys, errors to answers, one log line and one count a request."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Mapping
from typing import Any

import structlog
from starlette.exceptions import HTTPException
from starlette.routing import Router
from starlette.types import Message, Receive, Scope, Send

from rewarden.errors import InternalError, NotFound, RequestError
from rewarden_server.http.replies import ClientGone, MethodNotAllowed, error_reply
from rewarden_server.logs import get_logger, log_defect
from rewarden_server.refusals import as_request_error
from rewarden_server.service import Service

SURFACE = "http"
OPEN = frozenset({"/", "/healthz", "/readyz", "/docs", "/docs/{name}", "/openapi.json"})
"""Routes that ask for no key: probes have none, and the documentation holds nothing of a caller's."""

_CLIENT_GONE = 499
"""What logs and metrics say of a request whose client left; nobody receives it."""

_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}")

_log = get_logger("http")


class Edge:
    """ASGI around the routes."""

    def __init__(self, service: Service, router: Router) -> None:
        self._service = service
        self._router = router
        self._paths: Mapping[Any, str] = {route.endpoint: route.path for route in router.routes}  # type: ignore[attr-defined]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":  # websockets and lifespan: nothing of ours
            return
        headers = dict(scope["headers"])
        request_id = _request_id(headers.get(b"x-request-id"))
        start = time.perf_counter()
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
            await send(message)

        key = ""
        # The router raises instead of answering by itself when an application is named.
        scope["app"] = self
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                key = self._check_key(scope, headers)
                with structlog.contextvars.bound_contextvars(key=key):
                    await self._router(scope, receive, answer)
            except ClientGone:
                status = status or _CLIENT_GONE
            except Exception as error:
                known = _named(error, scope)
                if isinstance(known, InternalError):
                    log_defect(_log, error)
                if status:
                    raise  # half an answer is out: the connection must break, so that nobody takes it for a whole one
                await error_reply(known)(scope, receive, answer)
            finally:
                route = self._paths.get(scope.get("endpoint"), "unmatched")
                self._service.metrics.request(SURFACE, route, str(status), key)
                seconds = round(time.perf_counter() - start, 6)
                say = _log.debug if route in ("/healthz", "/readyz", "/metrics") else _log.info
                say("request", method=scope["method"], route=route, status=status, seconds=seconds, key=key)

    def _check_key(self, scope: Scope, headers: Mapping[bytes, bytes]) -> str:
        if scope["path"] in OPEN or scope["path"].startswith("/docs/"):
            return ""
        authorization = headers.get(b"authorization")
        return self._service.keys.check(authorization.decode("latin-1") if authorization is not None else None)


def _request_id(given: bytes | None) -> str:
    text = (given or b"").decode("latin-1")
    return text if _REQUEST_ID.fullmatch(text) else uuid.uuid4().hex


def _named(error: Exception, scope: Scope) -> RequestError:
    """The error under one of our names."""
    if isinstance(error, HTTPException) and error.status_code == 404:
        return NotFound(f"there is no route {scope['path'][:200]!r}; see /docs or /openapi.json")
    if isinstance(error, HTTPException) and error.status_code == 405:
        allow = (error.headers or {}).get("Allow", "")
        return MethodNotAllowed(f"{scope['method'][:20]} is not for this route; it takes {allow}", allow=allow)
    return as_request_error(error)
