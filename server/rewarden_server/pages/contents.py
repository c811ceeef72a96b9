"""`/docs`: every verifier and recipe with a line on it. Imports none of them."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from urllib.parse import quote

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from rewarden_server.catalogue import names
from rewarden_server.engine.engine import Engine
from rewarden_server.http.access import Served
from rewarden_server.pages.prose import prose_line
from rewarden_server.pages.shell import page
from rewarden_verifiers.summaries import summaries

_TITLES = (("verifier", "Verifiers"), ("recipe", "Recipes"))


@dataclass(frozen=True, slots=True)
class Line:
    """`summary` is empty for a plug-in's: only importing it would tell. `plugin` is the distribution it comes from."""

    name: str
    summary: str
    plugin: str | None


router = APIRouter(default_response_class=HTMLResponse, responses={200: {"description": "The page."}})


@router.get("/docs", operation_id="docs", summary="All verifiers and recipes, with a line on each.")
async def contents(service: Served) -> Response:
    intro = (
        "<h1>Verifiers and recipes</h1>"
        "<p>A verifier judges one thing; a recipe combines verifiers, often as in a published system.</p>"
    )
    body = intro + listing(service.engine, "docs/")
    return page("Verifiers and recipes", body, place="docs", script="filter.js")


def listing(engine: Engine, below: str) -> str:
    """All names with their summaries, as links to `below` and the name, and a field that narrows the list."""
    found = {kind: _lines(engine, kind) for kind, _ in _TITLES}
    total = sum(map(len, found.values()))
    search = (
        '<search class="find" hidden><label for="find">Find</label>'
        '<input id="find" type="search" autocomplete="off" spellcheck="false" placeholder="name or words">'
        f'<output id="found" for="find">{total} of {total}</output></search>'
    )
    return search + "".join(_section(kind, title, found[kind], below) for kind, title in _TITLES)


def _lines(engine: Engine, kind: str) -> list[Line]:
    """All verifiers, or all recipes, in the catalogue's order, without importing one."""
    known = summaries()
    return [
        Line(name, known[name].summary if name in known else "", engine.registry.plugin_of(name))
        for name in names(engine, kind)
    ]


def _section(kind: str, title: str, items: list[Line], below: str) -> str:
    rows = "".join(
        f'<li><a href="{escape(below + quote(item.name, safe=""))}"><code>{escape(item.name)}</code></a>'
        f"<span>{_summary(item)}</span></li>"
        for item in items
    )
    return (
        f'<section class="card" aria-labelledby="{kind}s"><h2 id="{kind}s">{title} '
        f'<small class="muted">{len(items)}</small></h2><ul class="names">{rows}</ul></section>'
    )


def _summary(item: Line) -> str:
    if item.summary:
        return prose_line(item.summary)
    return f'<span class="muted">from the package {escape(item.plugin or "of this process")}</span>'
