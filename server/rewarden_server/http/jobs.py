"""`/v1/jobs`: files of rollouts, uploaded, rescored, and fetched again."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from rewarden.errors import InvalidRequest, NotFound
from rewarden.wire.json import loads
from rewarden_server.access.caller import CURRENT, Caller, detail
from rewarden_server.http.body import SILENCE_S, check_content_type, encoding_of, pieces_of
from rewarden_server.http.replies import json_reply
from rewarden_server.http.stream import NDJSON
from rewarden_server.service import Service
from rewarden_server.studies.jobs import Job, Jobs

_SUFFIX = {None: "", "gzip": ".gz", "zstd": ".zst"}


def routes(service: Service) -> list[Route]:
    """The routes of jobs. They answer 404 where no folder is configured (`[jobs] dir`)."""

    def jobs() -> Jobs:
        if service.jobs is None:
            raise NotFound("this server keeps no jobs: set jobs.dir (REWARDEN_JOBS_DIR) to a folder")
        return service.jobs

    def own(request: Request) -> Job:
        job = jobs().get(request.path_params["id"])
        if not _may_see(job):
            raise NotFound(f"there is no job {job.id!r}")  # nor is it told that there is
        detail(job=job.id)
        return job

    async def submit(request: Request) -> Response:
        """The body is the input; the query's `job` is a JSON object: use, columns, sort, only, unscored."""
        check_content_type(request, NDJSON)
        asked = _asked(request)
        caller = _caller()
        if caller.meter is not None:
            caller.meter.check_left()
        pieces = pieces_of(request.receive, SILENCE_S)
        job = await jobs().submit(asked, pieces, _SUFFIX[encoding_of(request)], caller.name)
        detail(job=job.id)
        return json_reply(job.to_json(), 202, {"Location": f"/v1/jobs/{job.id}"})

    async def listed(request: Request) -> Response:
        return json_reply({"jobs": [job.to_json() for job in jobs().list() if _may_see(job)]})

    async def get(request: Request) -> Response:
        return json_reply(own(request).to_json())

    async def verdicts(request: Request) -> Response:
        return FileResponse(jobs().output(own(request).id), media_type=NDJSON)

    async def delete(request: Request) -> Response:
        await jobs().delete(own(request).id)
        return Response(status_code=204)

    # One route a path, so that `Allow` names all its methods.
    async def all_jobs(request: Request) -> Response:
        return await (submit if request.method == "POST" else listed)(request)

    async def one_job(request: Request) -> Response:
        return await (delete if request.method == "DELETE" else get)(request)

    return [
        Route("/v1/jobs", all_jobs, methods=["GET", "POST"]),
        Route("/v1/jobs/{id}", one_job, methods=["GET", "DELETE"]),
        Route("/v1/jobs/{id}/verdicts", verdicts, methods=["GET"]),
    ]


def _caller() -> Caller:
    caller = CURRENT.get()
    assert caller is not None  # no route of jobs is open
    return caller


def _may_see(job: Job) -> bool:
    """Returns whether a job is the caller's own: it holds the texts of its uploader."""
    caller = _caller()
    return job.key == caller.name or "admin" in caller.scopes


def _asked(request: Request) -> Any:
    text = request.query_params.get("job")
    if text is None:
        raise InvalidRequest('say what is to be done: ?job={"use": "math"}', path="job")
    value = loads(text)
    if not isinstance(value, dict):
        raise InvalidRequest("job must be a JSON object", path="job")
    return value
