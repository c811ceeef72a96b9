"""JSON responses, and the only place where errors become HTTP statuses."""

from __future__ import annotations

import math
from typing import Any

from starlette.responses import Response

from rewarden.errors import RequestError
from rewarden.wire.json import dumps, error_to_json

JSON = "application/json"
NDJSON = "application/x-ndjson"


class UnsupportedMedia(RequestError):
    """The body has an unsupported type or encoding."""

    code = "unsupported_media_type"
    http_status = 415


class MethodNotAllowed(RequestError):
    """The route exists, but not for this method."""

    code = "method_not_allowed"
    http_status = 405


class HeadTooLarge(RequestError):
    """A request has too many or too large headers."""

    code = "too_large"
    http_status = 431


class TooSlow(RequestError):
    """The body stopped arriving."""

    code = "too_slow"
    http_status = 408


class ClientGone(Exception):
    """The client disconnected before its response."""


class NdjsonResponse(Response):
    """A response of JSON lines."""

    media_type = NDJSON


def json_reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Returns a JSON response."""
    return Response(dumps(value), status_code=status, headers=headers, media_type=JSON)


def error_reply(error: RequestError) -> Response:
    """Returns the response for an error, with `Retry-After` if a retry can help."""
    headers: dict[str, str] = {}
    after = error.details.get("retry_after_s")
    if error.http_status in (429, 503):
        headers["Retry-After"] = str(max(1, math.ceil(after)) if isinstance(after, (int, float)) else 1)
    if error.http_status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if error.http_status == 405:
        headers["Allow"] = str(error.details.get("allow", ""))
    return json_reply(error_to_json(error), error.http_status, headers)
