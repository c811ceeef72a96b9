"""`PUT /v1/blobs/{sha256}`: content that later requests name instead of sending it."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden_server.http.body import read_body
from rewarden_server.http.replies import json_reply
from rewarden_server.intake.blobs import check_name
from rewarden_server.service import Service, run_beside


def routes(service: Service) -> list[Route]:
    """The route of blobs. 201 for a new one, 200 for one that was here."""

    async def put_blob(request: Request) -> Response:
        name = check_name(request.path_params["sha256"], "sha256")
        async with read_body(request, service.bodies, service.limits.max_blob_bytes, "max_blob_bytes") as body:
            new = await run_beside(partial(service.blobs.put, name, body), len(body))
        return json_reply({"sha256": name, "bytes": len(body)}, 201 if new else 200)

    return [Route("/v1/blobs/{sha256}", put_blob, methods=["PUT"])]
