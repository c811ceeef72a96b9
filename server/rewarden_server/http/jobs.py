"""`/v1/jobs`: uploading, rescoring and downloading files of rollouts.

Without a configured folder (`[jobs] dir`), all routes answer 404. The body is the job's input; a JSON object in the
query contains its options: use, columns, sort, only, unscored.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from rewarden.errors import InvalidRequest, NotFound
from rewarden.routing.forms import FORMS
from rewarden.wire.json import loads
from rewarden_server.access.caller import CURRENT, Caller, detail
from rewarden_server.http.access import Served, needs
from rewarden_server.http.body import SILENCE_S, check_content_type, encoding_of, pieces_of
from rewarden_server.http.declared import ANY, TEXT, Name, body, errors, listing, ref, reply
from rewarden_server.http.replies import JSON, NDJSON, NdjsonResponse, json_reply
from rewarden_server.studies.jobs import Job, Jobs

_SUFFIX = {None: "", "gzip": ".gz", "zstd": ".zst"}


_NAMED: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1}, "params": ANY},
    "required": ["name"],
    "additionalProperties": False,
}
_JOB_USE: dict[str, Any] = {
    "description": "A name, a name with parameters, or uses by patterns of data sources. A recipe can be given inline.",
    "anyOf": [
        {"type": "string", "minLength": 1},
        _NAMED,
        {
            "type": "object",
            "properties": {
                "routes": {
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": {"anyOf": [{"type": "string", "minLength": 1}, _NAMED]},
                }
            },
            "required": ["routes"],
            "additionalProperties": False,
        },
    ],
}
_PATTERNS: dict[str, Any] = {
    "description": "A file name pattern, or several.",
    "anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}],
}
_JOB_ROUTING: dict[str, Any] = {
    "description": "The content of a routing file as JSON (docs/routing.md), or `starter`. Instead of `use`.",
    "anyOf": [
        {"const": "starter"},
        {
            "type": "object",
            "properties": {
                "route": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "properties": {
                            "use": {"anyOf": [{"type": "string", "pattern": r"^[a-z_]+$"}, _NAMED]},
                            "reference_form": {"enum": sorted(FORMS)},
                            **dict.fromkeys(("data_source", "id", "group"), _PATTERNS),
                        },
                        "patternProperties": {r"^metadata\.[a-z_]+$": _PATTERNS},
                        "additionalProperties": False,
                        "required": ["use"],
                    },
                }
            },
            "required": ["route"],
            "additionalProperties": False,
        },
    ],
}
_SUBMISSION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "use": _JOB_USE,
        "routing": _JOB_ROUTING,
        "columns": {"type": "object", "additionalProperties": {"type": "string"}},
        "sort": {"type": "boolean"},
        "only": {"type": "array", "items": {"enum": ["scored", "undecided", "error", "missing"]}},
        "unscored": {"anyOf": [{"type": "null"}, {"const": "skip"}, {"type": "number"}]},
        "overwrite": {"type": "boolean"},
    },
    "oneOf": [{"required": ["use"]}, {"required": ["routing"]}],
    "additionalProperties": False,
}

router = APIRouter(dependencies=[needs("jobs")])
_JOB = ref("Job")


async def _jobs(service: Served) -> Jobs:
    if service.jobs is None:
        raise NotFound("jobs are not enabled on this server: set jobs.dir (REWARDEN_JOBS_DIR) to a folder")
    return service.jobs


Store = Annotated[Jobs, Depends(_jobs)]
"""The server's jobs."""


async def _own(id: Name, jobs: Store) -> Job:
    job = jobs.get(id)
    if not _may_see(job):
        raise NotFound(f"there is no job {job.id!r}")  # a caller must not learn that it exists
    detail(job=job.id)
    return job


Own = Annotated[Job, Depends(_own)]
"""The job that the path names, if the caller has access to it."""


@router.post(
    "/v1/jobs",
    operation_id="submit_job",
    summary="Rescore a file of rollouts (JSON lines, optionally with Content-Encoding gzip or zstd).",
    status_code=202,
    responses={202: reply("The queued job.", _JOB), **errors(404)},
    openapi_extra={
        **body(TEXT, NDJSON),
        "parameters": [{"name": "job", "in": "query", "required": True, "content": {JSON: {"schema": _SUBMISSION}}}],
    },
)
async def submit(request: Request, jobs: Store) -> Response:
    check_content_type(request, NDJSON)
    asked = _asked(request)
    caller = _caller()
    if caller.meter is not None:
        caller.meter.check_left()
    pieces = pieces_of(request.receive, SILENCE_S)
    job = await jobs.submit(asked, pieces, _SUFFIX[encoding_of(request)], caller.name)
    detail(job=job.id)
    return json_reply(job.to_json(), 202, {"Location": f"/v1/jobs/{job.id}"})


@router.get(
    "/v1/jobs",
    operation_id="list_jobs",
    summary="List jobs.",
    responses={200: reply("The jobs.", listing("jobs", _JOB)), **errors(404)},
)
async def listed(jobs: Store) -> Response:
    return json_reply({"jobs": [job.to_json() for job in jobs.list() if _may_see(job)]})


@router.get(
    "/v1/jobs/{id}",
    operation_id="get_job",
    summary="Get the status of a job.",
    responses={200: reply("The job.", _JOB), **errors(404)},
)
async def get(job: Own) -> Response:
    return json_reply(job.to_json())


@router.get(
    "/v1/jobs/{id}/verdicts",
    operation_id="job_verdicts",
    summary="Download the rows of a finished job, with their verdicts.",
    response_class=NdjsonResponse,
    responses={200: reply("The rows, as JSON lines.", TEXT, NDJSON), **errors(404)},
)
async def verdicts(job: Own, jobs: Store) -> Response:
    return FileResponse(jobs.output(job.id), media_type=NDJSON)


@router.delete(
    "/v1/jobs/{id}",
    operation_id="delete_job",
    summary="Stop and delete a job.",
    status_code=204,
    response_description="The job is deleted.",
    responses=errors(404),
)
async def delete(job: Own, jobs: Store) -> Response:
    await jobs.delete(job.id)
    return Response(status_code=204)


def _caller() -> Caller:
    caller = CURRENT.get()
    assert caller is not None  # all routes of jobs need a key
    return caller


def _may_see(job: Job) -> bool:
    """Returns whether a caller has access to a job, which contains its uploader's texts."""
    caller = _caller()
    return job.key == caller.name or "admin" in caller.scopes


def _asked(request: Request) -> Any:
    text = request.query_params.get("job")
    if text is None:
        raise InvalidRequest('the query parameter job is missing: ?job={"use": "math"}', path="job")
    value = loads(text)
    if not isinstance(value, dict):
        raise InvalidRequest("job must be a JSON object", path="job")
    return value
