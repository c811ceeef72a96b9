"""`/`: what is where, and one line to try it."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from rewarden_server.pages.shell import page

_PEOPLE = (
    ("playground", "Playground", "Judge a response here and now: a form for every verifier, examples, the verdict."),
    ("docs", "Verifiers and recipes", "What each of them reads, its parameters and examples."),
    ("health", "Health", "What is enforced, what is missing, and how to mend it."),
)
_PROGRAMS = (
    ("openapi.json", "the HTTP interface, for tools"),
    ("v1/info", "versions and limits in force"),
    ("metrics", "metrics for Prometheus"),
    ("readyz", "whether work is admitted"),
)


router = APIRouter(default_response_class=HTMLResponse, responses={200: {"description": "The page."}})


@router.get("/", operation_id="index", summary="What is where.")
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
        '<p class="lead">Samples in, verdicts out: a score, why, and whether it may be trusted.</p>'
        f'<ul class="tiles">{tiles}</ul>'
        f'<section class="card"><h2>From a shell</h2><pre class="text" tabindex="0">{escape(example)}</pre></section>'
        f'<section class="card"><h2>For programs</h2><ul class="names">{rows}</ul></section>'
    )
