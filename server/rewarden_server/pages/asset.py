"""`/static/{digest}/{name}`: scripts and the icon, kept for good by browsers, since a change moves them; the styles."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

from fastapi import APIRouter
from starlette.responses import Response

from rewarden.errors import NotFound
from rewarden_server.http.declared import TEXT, Name, errors

TYPES: Mapping[str, str] = {".js": "text/javascript", ".svg": "image/svg+xml"}
"""Media types by ending: what else lies in the folder is not served."""

_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}


router = APIRouter()


@router.get(
    "/static/{version}/{name}",
    operation_id="static",
    summary="Style sheet, scripts and icon of the pages.",
    response_class=Response,
    responses={
        200: {"description": "The file.", "content": {kind: {"schema": TEXT} for kind in TYPES.values()}},
        **errors(404),
    },
)
async def static(version: Name, name: Name) -> Response:
    content = assets().get(name)
    if content is None or version != digest():
        raise NotFound("unknown asset; reload the page")
    return Response(content, media_type=_type_of(name), headers=_FOREVER)


@lru_cache(maxsize=1)
def assets() -> Mapping[str, bytes]:
    """Content by name. Read once; a few tens of kilobytes."""
    folder = resources.files(__package__).joinpath("static")
    return {item.name: item.read_bytes() for item in folder.iterdir() if _type_of(item.name)}


@lru_cache(maxsize=1)
def digest() -> str:
    """One digest for all: modules import each other by plain names, and must be of one version."""
    made = hashlib.sha256()
    for name, content in sorted(assets().items()):
        made.update(f"{name} {len(content)}\n".encode() + content)
    return made.hexdigest()[:16]


@lru_cache(maxsize=1)
def style() -> str:
    """The style sheet. It stands in every page: nothing is painted before it is there, and fetching takes a while."""
    return resources.files(__package__).joinpath("static", "page.css").read_text(encoding="utf-8")


def _type_of(name: str) -> str:
    return TYPES.get("." + name.rpartition(".")[2], "")
