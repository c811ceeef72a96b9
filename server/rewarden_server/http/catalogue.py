"""`GET /v1/verifiers[/name]` and `/v1/recipes[/name]`: verifiers and recipes, with schemas and cases."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from starlette.responses import Response

from rewarden_server.catalogue import describe, describe_all
from rewarden_server.http.access import Served, needs
from rewarden_server.http.declared import Name, errors, listing, ref, reply
from rewarden_server.http.replies import json_reply

router = APIRouter(dependencies=[needs("read")])
_ITEM = ref("Description")


def _add(kind: str) -> None:
    """Adds the routes of a kind. Describing a verifier may import its packages, so it runs on a thread."""

    @router.get(
        f"/v1/{kind}s",
        operation_id=f"list_{kind}s",
        summary=f"List the {kind}s.",
        responses={200: reply(f"The {kind}s.", listing(f"{kind}s", _ITEM))},
    )
    async def get_all(service: Served) -> Response:
        return json_reply({f"{kind}s": await asyncio.to_thread(describe_all, service.engine, kind)})

    @router.get(
        f"/v1/{kind}s/{{name}}",
        operation_id=f"get_{kind}",
        summary=f"Get one {kind}, with its schemas and cases.",
        responses={200: reply(f"The {kind}.", _ITEM), **errors(404)},
    )
    async def get_one(name: Name, service: Served) -> Response:
        return json_reply(await asyncio.to_thread(describe, service.engine, name, kind))


_add("verifier")
_add("recipe")
