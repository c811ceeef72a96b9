"""JSON answers, and the one place where an error becomes an HTTP status."""

from __future__ import annotations

import math
from typing import Any

from starlette.responses import Response

from rewarden.errors import RequestError
from rewarden.wire.json import dumps, error_to_json

JSON = "application/json"
NDJSON = "application/x-ndjson"


class UnsupportedMedia(RequestError):
    """The body is not of a form that is read here."""

    code = "unsupported_media_type"
    http_status = 415


class MethodNotAllowed(RequestError):
    """The route exists, but not for this method."""

    code = "method_not_allowed"
    http_status = 405


class HeadTooLarge(RequestError):
    """A request's headers are too many."""

    code = "too_large"
    http_status = 431


class TooSlow(RequestError):
    """The body stopped coming."""

    code = "too_slow"
    http_status = 408


class ClientGone(Exception):
    """The client left before its answer, which nobody would read."""


class NdjsonResponse(Response):
    """An answer of JSON lines."""

    media_type = NDJSON


def json_reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(dumps(value), status_code=status, headers=headers, media_type=JSON)


def error_reply(error: RequestError) -> Response:
    """The answer for what was raised; `Retry-After` where coming back later helps."""
    headers: dict[str, str] = {}
    after = error.details.get("retry_after_s")
    if error.http_status in (429, 503):
        headers["Retry-After"] = str(max(1, math.ceil(after)) if isinstance(after, (int, float)) else 1)
    if error.http_status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if error.http_status == 405:
        headers["Allow"] = str(error.details.get("allow", ""))
    return json_reply(error_to_json(error), error.http_status, headers)
