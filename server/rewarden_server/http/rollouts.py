"""The stored rollouts of a run: found, compared between two parts of it, and judged again. See `http/runs.py`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Le
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from rewarden.errors import InvalidRequest
from rewarden.wire.json import STATUSES, loads
from rewarden_server.http.access import Served, needs
from rewarden_server.http.body import check_content_type, read_body
from rewarden_server.http.declared import TEXT, body, errors, reply
from rewarden_server.http.replies import JSON, json_reply
from rewarden_server.http.runs import (
    AXIS,
    RANGE,
    Own,
    Stored,
    axis_of,
    number_of,
    parameter,
    range_of,
    whole_of,
)
from rewarden_server.runs import rejudging, responses
from rewarden_server.runs.feed import unstored
from rewarden_server.runs.reader import Axis, Range, Run
from rewarden_server.runs.responses import Wanted
from rewarden_server.setting import Text
from rewarden_verifiers.schema import Misfit, json_schema, read

_MOST_BODY = 64 * 1024

_LONGEST = 1000
"""Characters of a text that is searched for, or of a name."""

_LARGEST = 2**63 - 1
_PART = re.compile(r"(\d{1,19}(?:\.\d{1,9})?)-(\d{1,19}(?:\.\d{1,9})?)", re.ASCII)
_PART_SCHEMA = {"type": "string", "pattern": r"^[0-9]{1,15}-[0-9]{1,15}$"}

router = APIRouter(dependencies=[needs("read")])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """Two parts of a run.

    a, b: the first and the last step (or second since the epoch), such as 10-20. The rollouts of b are judged with the
    uses of a. source: only this data source. most: the number of rollouts.
    """

    a: Text
    b: Text
    source: str | None = None
    axis: Axis | None = None
    most: Annotated[int, Ge(1), Le(rejudging.MOST)] = rejudging.DEFAULT_MOST


def _body() -> dict[str, Any]:
    """The schema of `_Asked`."""
    schema = json_schema(_Asked)
    return {**schema, "properties": {**schema["properties"], "a": _PART_SCHEMA, "b": _PART_SCHEMA}}


@router.get(
    "/v1/runs/{id}/rollouts",
    operation_id="run_rollouts",
    summary="Get stored rollouts with their verdicts, the latest of those that match. The server stores rollouts if "
    "`runs.texts` is set.",
    responses={200: reply("The rollouts, as the data of a report."), **errors(404, 503)},
    openapi_extra={
        "parameters": [
            *RANGE,
            parameter("status", {"enum": list(STATUSES)}, "The verdict's status."),
            parameter("passed", {"enum": ["true", "false"]}, "Whether it passed."),
            *(parameter(name, TEXT, f"The verdict's {name}.") for name in ("reason", "flag", "group")),
            parameter("text", TEXT, "A text in the prompt or the response."),
            parameter("low", {"type": "number"}, "The position of the score is above it (or equal, if `high` is)."),
            parameter("high", {"type": "number"}, "The position of the score is not above it."),
            parameter("rollout", {"type": "integer", "minimum": 0, "maximum": _LARGEST}, "Only this rollout."),
            parameter(
                "most",
                {"type": "integer", "minimum": 1, "maximum": responses.MOST},
                f"Default: {responses.DEFAULT_MOST}.",
            ),
        ]
    },
)
async def rollouts(run: Own, request: Request, store: Stored) -> Response:
    most = whole_of(request, "most", 1, responses.MOST)
    passed = _one_of(request, "passed", ("true", "false"))
    wanted = Wanted(
        part=range_of(request, run),
        status=_one_of(request, "status", STATUSES),
        passed=None if passed is None else passed == "true",
        reason=_text(request, "reason"),
        flag=_text(request, "flag"),
        group=_text(request, "group"),
        text=_text(request, "text"),
        low=number_of(request, "low"),
        high=number_of(request, "high"),
        rollout=whole_of(request, "rollout", 0, _LARGEST),
        most=responses.DEFAULT_MOST if most is None else most,
    )
    return Response(await store.rollouts(run, wanted), media_type=JSON)


@router.get(
    "/v1/runs/{id}/moved",
    operation_id="run_moved",
    summary="Compare two parts of a run: the counts of both, and the stored rollouts that differ most.",
    responses={200: reply("The counts of `a` and `b`, and rollouts."), **errors(404, 503)},
    openapi_extra={
        "parameters": [
            parameter("a", _PART_SCHEMA, "The first and the last step (or second) of the earlier part.", required=True),
            parameter("b", _PART_SCHEMA, "The same of the later part.", required=True),
            AXIS,
            parameter("source", TEXT, "A data source. Default: all."),
        ]
    },
)
async def moved(run: Own, request: Request, store: Stored) -> Response:
    source, axis = _text(request, "source"), axis_of(request)
    a, b = (_part(run, name, request.query_params.get(name, ""), axis, source) for name in ("a", "b"))
    return Response(await store.moved(run, a, b), media_type=JSON)


@router.post(
    "/v1/runs/{id}/rejudge",
    dependencies=[needs("verify")],
    operation_id="rejudge_run",
    summary="Judge stored rollouts of one part of a run as those of another part were judged. The samples count "
    "against the key's rates, and are not stored again.",
    responses={200: reply("The verdicts before and after."), **errors(404, 503)},
    openapi_extra=body(_body()),
)
async def rejudge(run: Own, request: Request, store: Stored, service: Served) -> Response:
    check_content_type(request, JSON)
    async with read_body(request, service.bodies, _MOST_BODY, "the body of this route") as content:
        given = loads(bytes(content))
    try:
        asked: _Asked = read(_Asked, given, "")
    except Misfit as misfit:
        raise InvalidRequest(misfit.message, path=misfit.path) from None
    a, b = (_part(run, name, text, asked.axis, asked.source) for name, text in (("a", asked.a), ("b", asked.b)))
    found = await store.rejudging(run, a, b, asked.most)
    with unstored():
        return json_reply(await found.judge(lambda batch: service.verify(batch, "http")))


def _part(run: Run, name: str, given: str, axis: Axis | None, source: str | None) -> Range:
    found = _PART.fullmatch(given)
    if found is None:
        raise InvalidRequest(f"{name} must be FIRST-LAST, such as 10-20", path=name)
    return Range(axis=axis or run.axis, first=float(found[1]), last=float(found[2]), source=source)


def _text(request: Request, name: str) -> str | None:
    given = request.query_params.get(name)
    if given is not None and len(given) > _LONGEST:
        raise InvalidRequest(f"{name} must have at most {_LONGEST} characters", path=name)
    return given


def _one_of(request: Request, name: str, allowed: tuple[str, ...]) -> str | None:
    given: Any = request.query_params.get(name)
    if given is not None and given not in allowed:
        raise InvalidRequest(f"{name} must be {', '.join(allowed)}", path=name)
    return None if given is None else str(given)
