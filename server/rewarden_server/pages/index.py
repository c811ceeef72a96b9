"""`/`: links to the other pages, and an example request."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from rewarden_server.pages.shell import page

_PEOPLE = (
    ("playground", "Playground", "Judge a response in the browser, with a form and examples for every verifier."),
    ("docs", "Verifiers and recipes", "What each one reads, its parameters and examples."),
    ("health", "Health", "What is enforced, what is missing, and how to fix it."),
)
_PROGRAMS = (
    ("openapi.json", "the HTTP interface, for tools"),
    ("v1/info", "versions and current limits"),
    ("metrics", "metrics for Prometheus"),
    ("readyz", "whether the server accepts work"),
)


router = APIRouter(default_response_class=HTMLResponse, responses={200: {"description": "The page."}})


@router.get("/", operation_id="index", summary="The start page.")
async def index() -> Response:
    return page("Rewarden", index_body())


def index_body() -> str:
    """The index between head and foot."""
    tiles = "".join(
        f'<li class="card"><a href="{path}"><strong>{title}</strong></a><p>{text}</p></li>'
        for path, title, text in _PEOPLE
    )
    rows = "".join(f'<li><a href="{path}"><code>/{path}</code></a><span>{text}</span></li>' for path, text in _PROGRAMS)
    example = (
        "curl -s localhost:8080/v1/verify -H 'Content-Type: application/json' \\\n"
        """  -d '{"use": "choice", "samples": [{"response": "The answer is (B).", "reference": "B"}]}'"""
    )
    return (
        "<h1>Verdicts, not just scores</h1>"
        '<p class="lead">Samples in, verdicts out: a score, its reason, and whether you can trust it.</p>'
        f'<ul class="tiles">{tiles}</ul>'
        f'<section class="card"><h2>From a shell</h2><pre class="text" tabindex="0">{escape(example)}</pre></section>'
        f'<section class="card"><h2>For programs</h2><ul class="names">{rows}</ul></section>'
    )
