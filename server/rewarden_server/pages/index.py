"""`/`: the state of the server, the latest run, and links to everything."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from rewarden_server.http.access import Served
from rewarden_server.pages.shell import key_field, page

_PEOPLE = (
    ("runs", "Runs", "The reward of each run, live, and the rollouts behind it."),
    ("playground", "Playground", "Judge a response in the browser."),
    ("docs", "Verifiers", "Parameters, references and examples."),
    ("gallery", "Gallery", "Recipes for published rewards."),
    ("health", "Health", "What is enforced, and what is missing."),
)
_PROGRAMS = (
    ("openapi.json", "the HTTP interface, for tools"),
    ("v1/info", "versions and current limits"),
    ("metrics", "metrics for Prometheus"),
    ("readyz", "whether the server accepts work"),
)


router = APIRouter(default_response_class=HTMLResponse, responses={200: {"description": "The page."}})


@router.get("/", operation_id="index", summary="The start page.")
async def index(service: Served) -> Response:
    return page("Rewarden", index_body(service.keys.required), script="index.js", styles=("runs.css",))


def index_body(keyed: bool) -> str:
    """The index between head and foot."""
    tiles = "".join(
        f'<li><a href="{path}"><strong>{title}</strong></a> <span class="muted">{text}</span></li>'
        for path, title, text in _PEOPLE
    )
    links = " · ".join(f'<a href="{path}" title="{escape(text)}"><code>/{path}</code></a>' for path, text in _PROGRAMS)
    example = (
        "curl -s localhost:8080/v1/verify -H 'Content-Type: application/json' \\\n"
        """  -d '{"use": "choice", "samples": [{"response": "The answer is (B).", "reference": "B"}]}'"""
    )
    form = f'<form class="key-form" autocomplete="off">{key_field()}<button type="submit">Show</button></form>'
    return (
        '<div class="title"><h1>Verdicts, not just scores</h1>'
        '<p class="lead">Samples in, verdicts out: a score, its reason, and whether you can trust it.</p></div>'
        f"{form if keyed else ''}"
        '<div class="state"><section class="card" aria-labelledby="server"><h2 id="server">This server</h2>'
        '<p id="told" role="status" class="told muted">Loading …</p><div id="state"></div>'
        '<noscript><p><a href="health">Health</a> and <code>rewarden doctor</code> show the state.</p></noscript>'
        '</section><section class="card" aria-labelledby="latest"><h2 id="latest">Latest run</h2>'
        '<div id="run"><p class="muted">…</p></div></section></div>'
        f'<ul class="ways card">{tiles}</ul>'
        f'<section class="card"><h2>From a shell</h2><pre class="text" tabindex="0">{escape(example)}</pre>'
        f'<p class="small muted">For programs: {links}</p></section>'
    )
