"""Declarations of requests and responses for `/openapi.json`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path

from rewarden_server.http.replies import JSON

_ERRORS = {
    400: "The request is malformed; `details.path` names the field, if one is at fault.",
    401: "The API key is missing or unknown.",
    403: "The key lacks the scope, or the host name or the origin of the page is not allowed.",
    404: "Not found.",
    408: "The body stopped arriving.",
    409: "A verifier does not have the fingerprint or version that the request expects, or a box not the image of a "
    "snapshot.",
    410: "The box has ended; `details.reason` says why.",
    413: "The request is over a limit; `details.limit` names it.",
    415: "The media type or encoding of the body is not supported.",
    429: "Too many requests are in progress, or the key is over its rates; retry after `Retry-After` seconds.",
    431: "The headers are too many or too long.",
    500: "Internal server error.",
    503: "The server is starting or draining, its sandbox cannot run programs, or its audit log cannot be written.",
    507: "The disk for blobs is full; nothing was stored.",
}

ANY: dict[str, Any] = {"type": "object"}
TEXT: dict[str, Any] = {"type": "string"}

Name = Annotated[str, Path(json_schema_extra={"minLength": 1})]
"""A name in a path."""


def ref(name: str) -> dict[str, Any]:
    """Returns a reference to the schema of that name; see `schemas`."""
    return {"$ref": f"#/components/schemas/{name}"}


Answers = dict[int | str, dict[str, Any]]
"""Returns responses by status, in FastAPI's form."""


def reply(description: str, schema: dict[str, Any] = ANY, media: str = JSON) -> dict[str, Any]:
    """Returns a response."""
    return {"description": description, "content": {media: {"schema": schema}}}


def body(schema: dict[str, Any], media: str = JSON) -> dict[str, Any]:
    """Returns the body of a route that parses it itself, as a part of its `openapi_extra`."""
    return {"requestBody": {"required": True, "content": {media: {"schema": schema}}}}


def listing(name: str, item: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema of an object that contains a list under a name."""
    return {"type": "object", "properties": {name: {"type": "array", "items": item}}, "required": [name]}


def errors(*statuses: int) -> Answers:
    """Returns error responses."""
    return {status: reply(_ERRORS[status], ref("Error")) for status in statuses}
