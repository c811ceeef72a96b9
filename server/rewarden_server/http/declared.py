"""The words in which routes say, for `/openapi.json`, what they read and what they answer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path

from rewarden_server.http.replies import JSON

_ERRORS = {
    400: "The request is malformed; `details.path` is the field at fault where there is one.",
    401: "The API key is missing or unknown.",
    403: "The key has not the scope, or the request came by a name or from a page that is not served.",
    404: "There is no such thing.",
    408: "The body stopped coming.",
    409: "A verifier does not have the fingerprint or version that the request demands.",
    413: "The request is over a limit; `details.limit` names it.",
    415: "The body is of a form that is not read here.",
    429: "Too much is under way, or over the key's rates; come back after `Retry-After` seconds.",
    431: "The headers are too many or too long.",
    500: "A defect of the server.",
    503: "The server starts or drains, nothing can run in its sandbox, or its audit log cannot be written.",
    507: "The disk of the blobs is full; nothing was kept.",
}

ANY: dict[str, Any] = {"type": "object"}
TEXT: dict[str, Any] = {"type": "string"}

Name = Annotated[str, Path(json_schema_extra={"minLength": 1})]
"""A name in a path."""


def ref(name: str) -> dict[str, Any]:
    """The schema of that name; see `schemas`."""
    return {"$ref": f"#/components/schemas/{name}"}


Answers = dict[int | str, dict[str, Any]]
"""Answers by status, as FastAPI takes them."""


def reply(description: str, schema: dict[str, Any] = ANY, media: str = JSON) -> dict[str, Any]:
    """An answer."""
    return {"description": description, "content": {media: {"schema": schema}}}


def body(schema: dict[str, Any], media: str = JSON) -> dict[str, Any]:
    """The body that a route reads by itself, as what is `openapi_extra` of it."""
    return {"requestBody": {"required": True, "content": {media: {"schema": schema}}}}


def listing(name: str, item: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object that has a list under a name."""
    return {"type": "object", "properties": {name: {"type": "array", "items": item}}, "required": [name]}


def errors(*statuses: int) -> Answers:
    """Answers that are errors."""
    return {status: reply(_ERRORS[status], ref("Error")) for status in statuses}
