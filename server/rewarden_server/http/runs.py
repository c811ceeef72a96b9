"""`/v1/runs`: what training runs were rewarded, by step and data source; see `rewarden_server.runs`.

A key sees its own runs; one with the scope `admin` sees all. All but the list answer 404 where nothing is stored.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rewarden.errors import Forbidden, InvalidRequest, NotFound, Unauthorized
from rewarden_server.access.caller import CURRENT, Caller, detail
from rewarden_server.http.access import Served, needs, service_of
from rewarden_server.http.declared import TEXT, Name, errors, listing, ref, reply
from rewarden_server.http.replies import JSON, json_reply
from rewarden_server.runs.reader import DEFAULT_POINTS, MOST_POINTS, Axis, Range, Run
from rewarden_server.runs.store import Store
from rewarden_server.service import Service

EVENTS = "text/event-stream"

_LOOK_S = 0.5
"""Seconds after which an events stream looks at the file even if this server wrote nothing: another one may have."""

_BEAT_S = 15.0

_LONGEST_S = 3600.0
"""Seconds that an events stream lasts; clients connect again."""

_LARGEST = 2**63 - 1

router = APIRouter(dependencies=[needs("read")])


async def _store(service: Served) -> Store:
    if service.runs is None:
        raise NotFound("runs are not stored on this server: set runs.store (REWARDEN_RUNS_STORE) to true")
    return service.runs


Stored = Annotated[Store, Depends(_store)]
"""The server's store of runs."""


async def _own(id: Name, store: Stored) -> Run:
    run = await store.run(id, key_of_caller())
    detail(run=run.id)
    return run


Own = Annotated[Run, Depends(_own)]
"""The run that the path names, where the caller may see it."""


def parameter(name: str, schema: dict[str, Any], description: str, *, required: bool = False) -> dict[str, Any]:
    """A parameter in the query, as routes declare those that they read by themselves."""
    return {"name": name, "in": "query", "required": required, "schema": schema, "description": description}


AXIS = parameter("axis", {"enum": ["step", "time"]}, "Default: steps, if the run has any.")
RANGE = [
    AXIS,
    parameter("from", {"type": "number"}, "The first step, or second since the epoch."),
    parameter("to", {"type": "number"}, "The last one."),
    parameter("source", TEXT, "A data source. Default: all."),
]
_WIDTHS = "`width` is the number of steps, or seconds, of one point."


@router.get(
    "/v1/runs",
    operation_id="list_runs",
    summary="List runs, the latest first.",
    responses={200: reply("The runs.", listing("runs", ref("TrainingRun"))), **errors(503)},
)
async def listed(service: Served) -> Response:
    store, settings = service.runs, service.config.runs
    runs = [] if store is None else await store.runs(key_of_caller())
    told = {"store": store is not None, "texts": settings.texts, "max_bytes": settings.max_bytes}
    used = 0 if store is None else await store.used_bytes()
    return json_reply({"runs": [run.to_json() for run in runs], "bytes": used, **told})


@router.get(
    "/v1/runs/{id}/points",
    operation_id="run_points",
    summary=f"Get a run's figures by step or time, and by data source, as columns. {_WIDTHS}",
    responses={200: reply("The points."), **errors(404, 503)},
    openapi_extra={
        "parameters": [
            AXIS,
            parameter(
                "most",
                {"type": "integer", "minimum": 1, "maximum": MOST_POINTS},
                f"Places to return; neighbours are merged. Default: {DEFAULT_POINTS}.",
            ),
        ]
    },
)
async def points(id: Name, request: Request, store: Stored) -> Response:
    most = whole_of(request, "most", 1, MOST_POINTS)
    made = await store.points(id, key_of_caller(), axis_of(request), DEFAULT_POINTS if most is None else most)
    return Response(made.body, media_type=JSON)


@router.get(
    "/v1/runs/{id}/counts",
    operation_id="run_counts",
    summary="Count the reasons, flags, faults, groups, positions and lengths of a part of a run.",
    responses={200: reply("The counts."), **errors(404, 503)},
    openapi_extra={"parameters": RANGE},
)
async def counts(run: Own, request: Request, store: Stored) -> Response:
    return json_reply(await store.counts(run, range_of(request, run)))


@router.get(
    "/v1/runs/{id}/events",
    operation_id="watch_run",
    summary="Watch a run: server-sent events `points`, each with the points that changed. If `width` is not that of "
    "the points that you have, get them all again.",
    response_class=StreamingResponse,
    responses={200: reply("The events.", TEXT, EVENTS), **errors(404, 503)},
    openapi_extra={
        "parameters": [
            AXIS,
            parameter(
                "after",
                {"type": "integer", "minimum": 0, "maximum": _LARGEST},
                "`seq` of the points that you have. Default: 0, which returns all.",
            ),
        ]
    },
)
async def events(run: Own, request: Request, store: Stored) -> Response:
    store.check_watchers()
    after = whole_of(request, "after", 0, _LARGEST)
    service = service_of(request)
    found = _events(service, store, run.id, request.headers.get("authorization"), axis_of(request), after or 0)
    return StreamingResponse(found, media_type=EVENTS, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


@router.delete(
    "/v1/runs/{id}",
    operation_id="delete_run",
    summary="Delete a run and its rollouts. If the run continues, it starts again from zero.",
    status_code=204,
    response_description="The run is deleted.",
    responses=errors(404, 503),
)
async def delete(run: Own, store: Stored) -> Response:
    await store.delete(run)
    return Response(status_code=204)


async def _events(
    service: Service, store: Store, id: str, authorization: str | None, axis: Axis | None, after: int
) -> AsyncIterator[bytes]:
    """The changes of a run, until it is deleted, the key no longer opens it, the server stops, or enough time has
    passed."""
    ends = time.monotonic() + _LONGEST_S
    beat = time.monotonic()
    with store.watching():
        while not service.stopped.is_set() and time.monotonic() < ends:
            try:
                caller = service.keys.caller(authorization)  # again each time: keys can be revoked
                caller.demand("read")
                key = _key_of(caller)
                run = await store.run(id, key)
                made = await store.points(id, key, axis, MOST_POINTS, after) if run.seq > after else None
            except (Unauthorized, Forbidden, NotFound):
                return
            if made is not None:
                after = made.seq
                yield b"event: points\ndata: %s\n\n" % made.body
            elif time.monotonic() - beat > _BEAT_S:
                yield b": \n\n"
            else:
                await store.changed(_LOOK_S)
                continue
            beat = time.monotonic()
            await asyncio.sleep(0)


def key_of_caller() -> str | None:
    """The key whose runs the caller sees; None if all."""
    caller = CURRENT.get()
    assert caller is not None  # no route of runs is open
    return _key_of(caller)


def _key_of(caller: Caller) -> str | None:
    return None if "admin" in caller.scopes else caller.name


def axis_of(request: Request) -> Axis | None:
    """The axis that is asked for. Raises InvalidRequest."""
    given = request.query_params.get("axis")
    if given is None:
        return None
    if given == "step":
        return "step"
    if given == "time":
        return "time"
    raise InvalidRequest(f"axis must be step or time, not {given[:40]!r}", path="axis")


def range_of(request: Request, run: Run) -> Range:
    """The part of a run that is asked for. Raises InvalidRequest."""
    return Range(
        axis=axis_of(request) or run.axis,
        first=number_of(request, "from"),
        last=number_of(request, "to"),
        source=request.query_params.get("source"),
    )


def number_of(request: Request, name: str) -> float | None:
    """A number in the query. Raises InvalidRequest."""
    given = request.query_params.get(name)
    if given is None:
        return None
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidRequest(f"{name} must be a number, not {given[:40]!r}", path=name)
    return value


def whole_of(request: Request, name: str, least: int, most: int) -> int | None:
    """A whole number in the query. Raises InvalidRequest."""
    given = request.query_params.get(name)
    if given is None:
        return None
    if not given.isascii() or not given.isdigit() or len(given) > 19 or not least <= int(given) <= most:
        raise InvalidRequest(f"{name} must be a whole number from {least} to {most}", path=name)
    return int(given)
