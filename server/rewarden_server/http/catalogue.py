"""`GET /v1/verifiers[/name]` and `/v1/recipes[/name]`: what can judge, with schemas and cases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden_server.catalogue import describe, describe_all
from rewarden_server.http.replies import json_reply
from rewarden_server.service import Service


def routes(service: Service) -> list[Route]:
    """The routes of the catalogue. Describing may import a verifier's packages, so it runs on a thread."""

    def listing(kind: str) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def get_all(request: Request) -> Response:
            return json_reply({f"{kind}s": await asyncio.to_thread(describe_all, service.engine, kind)})

        return get_all

    def single(kind: str) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def get_one(request: Request) -> Response:
            name = request.path_params["name"]
            return json_reply(await asyncio.to_thread(describe, service.engine, name, kind))

        return get_one

    return [
        route
        for kind in ("verifier", "recipe")
        for route in (
            Route(f"/v1/{kind}s", listing(kind), methods=["GET"]),
            Route(f"/v1/{kind}s/{{name}}", single(kind), methods=["GET"]),
        )
    ]
