"""`PUT /v1/blobs/{sha256}`: content that later requests name instead of sending it."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import Response

from rewarden_server.http.access import Served, needs
from rewarden_server.http.body import read_body
from rewarden_server.http.declared import body, errors, reply
from rewarden_server.http.replies import json_reply
from rewarden_server.intake.blobs import check_name
from rewarden_server.service import run_beside

router = APIRouter(dependencies=[needs("verify")])

Sha256 = Annotated[str, Path(json_schema_extra={"pattern": "^[0-9a-f]{64}$"})]
"""The digest in a path; `check_name` rejects an invalid one with our own message."""

_BLOB = {
    "type": "object",
    "properties": {"sha256": {"type": "string"}, "bytes": {"type": "integer"}},
    "required": ["sha256", "bytes"],
}


@router.put(
    "/v1/blobs/{sha256}",
    operation_id="put_blob",
    summary="Store content that later requests refer to by its SHA-256. 201: stored; 200: already stored.",
    responses={
        200: reply("The content was stored already.", _BLOB),
        201: reply("The content is stored.", _BLOB),
        **errors(507),
    },
    openapi_extra=body({"type": "string", "format": "binary"}, "application/octet-stream"),
)
async def put_blob(sha256: Sha256, request: Request, service: Served) -> Response:
    name = check_name(sha256, "sha256")
    async with read_body(request, service.bodies, service.limits.max_blob_bytes, "max_blob_bytes") as content:
        new = await run_beside(partial(service.blobs.put, name, content), len(content))
    return json_reply({"sha256": name, "bytes": len(content)}, 201 if new else 200)
