"""`/v1/jobs`: files of rollouts, uploaded, rescored, and fetched again."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from rewarden.errors import InvalidRequest, NotFound
from rewarden.wire.json import loads
from rewarden_server.http.body import check_content_type, encoding_of, pieces_of
from rewarden_server.http.replies import json_reply
from rewarden_server.http.stream import NDJSON
from rewarden_server.jobs import Jobs
from rewarden_server.service import Service

_SUFFIX = {None: "", "gzip": ".gz", "zstd": ".zst"}


def routes(service: Service) -> list[Route]:
    """The routes of jobs. They answer 404 where no folder is configured (`[jobs] dir`)."""

    def jobs() -> Jobs:
        if service.jobs is None:
            raise NotFound("this server keeps no jobs: set jobs.dir (REWARDEN_JOBS_DIR) to a folder")
        return service.jobs

    async def submit(request: Request) -> Response:
        """The body is the input; the query's `job` is a JSON object: use, columns, sort, only, unscored."""
        check_content_type(request, NDJSON)
        asked = _asked(request)
        job = await jobs().submit(asked, pieces_of(request.receive), _SUFFIX[encoding_of(request)])
        return json_reply(job.to_json(), 202, {"Location": f"/v1/jobs/{job.id}"})

    async def listed(request: Request) -> Response:
        return json_reply({"jobs": [job.to_json() for job in jobs().list()]})

    async def get(request: Request) -> Response:
        return json_reply(jobs().get(request.path_params["id"]).to_json())

    async def verdicts(request: Request) -> Response:
        return FileResponse(jobs().output(request.path_params["id"]), media_type=NDJSON)

    async def delete(request: Request) -> Response:
        await jobs().delete(request.path_params["id"])
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


def _asked(request: Request) -> Any:
    text = request.query_params.get("job")
    if text is None:
        raise InvalidRequest('say what is to be done: ?job={"use": "math"}', path="job")
    value = loads(text)
    if not isinstance(value, dict):
        raise InvalidRequest("job must be a JSON object", path="job")
    return value
