"""`/runs` and `/runs/{run}`: the runs that the server has seen. Their scripts call `/v1/runs`, with the key if any."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from rewarden_server.http.access import Served
from rewarden_server.http.declared import Name
from rewarden_server.pages.asset import ROLLOUTS
from rewarden_server.pages.shell import key_field, page

_NOSCRIPT = (
    '<noscript><p class="note">This page needs JavaScript; <code>GET /v1/runs</code> and <code>rewarden top</code> '
    "show the same.</p></noscript>"
)


router = APIRouter(default_response_class=HTMLResponse, responses={200: {"description": "The page."}})


@router.get("/runs", operation_id="runs_page", summary="All runs, from /v1/runs.")
async def runs(service: Served) -> Response:
    body = (
        '<div class="title"><h1>Runs</h1><p id="told" role="status" class="told muted">Loading …</p></div>'
        f"{_NOSCRIPT}{_key(service.keys.required)}"
        '<search class="find" hidden><label for="find">Find</label>'
        '<input id="find" type="search" autocomplete="off" spellcheck="false" placeholder="run, source or verifier">'
        '<output id="found" for="find"></output></search>'
        '<div id="runs" class="run-list"></div>'
    )
    return page("Runs", body, place="runs", script="runs.js", styles=("runs.css",), wide=True)


@router.get("/runs/{run}", operation_id="run_page", summary="A run: its reward over steps, and why it moved.")
async def run(run: Name, service: Served) -> Response:
    body = (
        f'<p id="told" role="status" class="told muted">Loading …</p>{_NOSCRIPT}{_key(service.keys.required)}'
        f'<div id="run" class="run" data-run="{escape(run)}"></div>'
    )
    return page(
        "Run",
        body,
        depth=1,
        place="runs",
        script="run.js",
        library="vendor/uplot/uPlot.iife.min.js",
        styles=(ROLLOUTS, "runs.css"),
        wide=True,
    )


def _key(required: bool) -> str:
    if not required:
        return ""
    return f'<form class="key-form" autocomplete="off">{key_field()}<button type="submit">Show</button></form>'
