"""`POST /v1/verify`: judges a batch and returns all verdicts, or none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rewarden.errors import InvalidRequest
from rewarden.types import Batch, BatchResult
from rewarden.wire.json import batch_from_json, dumps, group_to_json, result_to_json, verdict_to_json
from rewarden_server.http.access import RawRoute, needs, service_of
from rewarden_server.http.body import check_content_type, read_body, unless_gone
from rewarden_server.http.declared import body, errors, ref, reply
from rewarden_server.http.replies import JSON, json_reply
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.intake.settings import LimitSettings
from rewarden_server.service import Service, check_count, run_beside

SURFACE = "http"

_PIECE = 1000
"""Verdicts encoded at a time; a larger response is sent in pieces of this size."""


router = APIRouter(route_class=RawRoute, dependencies=[needs("verify")])


@router.post(
    "/v1/verify",
    operation_id="verify",
    summary="Judge a batch, and return all verdicts at once.",
    responses={200: reply("The verdicts.", ref("BatchResult")), **errors(404, 409)},
    openapi_extra=body(ref("Batch")),
)
async def verify(request: Request) -> Response:
    service = service_of(request)
    check_content_type(request, JSON)
    async with read_body(request, service.bodies, service.limits.max_body_bytes, "max_body_bytes") as content:
        batch = await run_beside(partial(decode_batch, content, service), len(content))
    result = await unless_gone(request.receive, service.verify(batch, SURFACE))
    if len(result.verdicts) <= _PIECE:
        return json_reply(result_to_json(result, batch.fields))
    return StreamingResponse(_pieces(result, batch.fields), media_type=JSON)


def decode_batch(content: bytes | bytearray, service: Service) -> Batch:
    """Returns the batch in a request's bytes, within all limits. Raises InvalidRequest, TooLarge, NotFound."""
    return service.take_batch(batch_from_json(decode(content, service.limits)))


def decode(content: bytes | bytearray, limits: LimitSettings) -> Any:
    """Returns the JSON value of a body. The number of samples is checked before any sample object is made."""
    if not content:
        raise InvalidRequest("the body is empty; send a JSON object with 'samples'")
    value = read_json(content, limits)
    if type(value) is dict and type(value.get("samples")) is list:
        check_count(len(value["samples"]), limits)
    return value


async def _pieces(result: BatchResult, fields: Sequence[str] | None) -> AsyncIterator[bytes]:
    wanted = None if fields is None else frozenset(fields)
    verdicts = result.verdicts

    def encode(first: int) -> bytes:
        return dumps([verdict_to_json(verdict, wanted) for verdict in verdicts[first : first + _PIECE]])[1:-1]

    yield b'{"verdicts":['
    for first in range(0, len(verdicts), _PIECE):
        piece = await run_beside(partial(encode, first), len(verdicts) * 256)
        yield b"," + piece if first else piece
    yield b'],"groups":' + dumps([group_to_json(group) for group in result.groups]) + b"}"
