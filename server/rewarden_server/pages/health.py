"""`/health`: the state of the server. The page is static; its script calls `/v1/info`, with the key if needed."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from rewarden_server.http.access import Served
from rewarden_server.pages.shell import key_field, page

router = APIRouter(default_response_class=HTMLResponse, responses={200: {"description": "The page."}})


@router.get("/health", operation_id="health", summary="The state of the server, from /v1/info.")
async def health(service: Served) -> Response:
    keyed = service.keys.required
    form = f'<form class="key-form" autocomplete="off">{key_field()}<button type="submit">Show</button></form>'
    body = (
        '<div class="title"><h1>Health</h1><p id="told" role="status" class="told muted">Loading …</p></div>'
        '<noscript><p class="note">This page needs JavaScript; <code>rewarden doctor</code> and '
        "<code>/v1/info</code> show the same.</p></noscript>"
        f'{form if keyed else ""}<div id="health" class="health"></div>'
    )
    return page("Health", body, place="health", script="health.js", wide=True)
