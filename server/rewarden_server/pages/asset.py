"""`/static/{digest}/{name}`: scripts and the icon, kept for good by browsers, since a change moves them; the styles.

The scripts of pages have plain names, the report's modules are below `report/`, and packages of others below `vendor/`.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

from fastapi import APIRouter
from starlette.responses import Response

from rewarden.errors import NotFound
from rewarden_server.http.declared import TEXT, Name, errors

TYPES: Mapping[str, str] = {".js": "text/javascript", ".svg": "image/svg+xml"}
"""Media types by ending: what else lies in the folder is not served."""

_REPORT = "rewarden_server.studies.report"
_IMPORT = re.compile(r"^import .* from '(\.[\w./-]+)';$", re.MULTILINE)
_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}


router = APIRouter()


@router.get(
    "/static/{version}/{name:path}",
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
    """Content by name. Read once; some hundreds of kilobytes."""
    own = resources.files(__package__)
    report = resources.files(_REPORT).joinpath("js")
    vendor = {f"vendor/{one.name}/": one for one in own.joinpath("vendor").iterdir() if one.is_dir()}
    folders = {"": own.joinpath("static"), "report/": report, **vendor}
    return {
        prefix + item.name: item.read_bytes()
        for prefix, folder in folders.items()
        for item in folder.iterdir()
        if _type_of(item.name)
    }


@lru_cache(maxsize=32)
def imports(script: str) -> tuple[str, ...]:
    """The modules that a script imports, and those that they import, so that a browser can fetch them in one go and not
    one after the other.
    """
    found: dict[str, None] = {}
    waiting = [script]
    while waiting:
        name = waiting.pop(0)
        for path in _IMPORT.findall(assets()[name].decode()):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            if target != script and target not in found:
                found[target] = None
                waiting.append(target)
    return tuple(found)


@lru_cache(maxsize=1)
def digest() -> str:
    """One digest for all: modules import each other by plain names, and must be of one version."""
    made = hashlib.sha256()
    for name, content in sorted(assets().items()):
        made.update(f"{name} {len(content)}\n".encode() + content)
    return made.hexdigest()[:16]


@lru_cache(maxsize=8)
def style(*more: str) -> str:
    """The style sheet of all pages, and `more` of them. It is in every page: nothing is painted before it is there, and
    fetching takes a while.
    """
    return "".join(_sheet(name) for name in ("page.css", *more))


ROLLOUTS = "rollouts"
"""The name of the report's style sheet, for what a page shows of rollouts."""


def _sheet(name: str) -> str:
    if name == ROLLOUTS:
        # Nested, because the report has a frame of its own, whose rules must not reach ours.
        sheet = resources.files(_REPORT).joinpath("page.css").read_text(encoding="utf-8")
        return f".{ROLLOUTS} {{\n{sheet}}}\n"
    return resources.files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def _type_of(name: str) -> str:
    return TYPES.get("." + name.rpartition(".")[2], "")
