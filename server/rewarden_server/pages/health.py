"""`/health`: how the server is. The page itself tells nothing: its script asks `/v1/info`, with the key if need be."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from rewarden_server.http.access import Served
from rewarden_server.pages.shell import key_field, page

router = APIRouter(default_response_class=HTMLResponse, responses={200: {"description": "The page."}})


@router.get("/health", operation_id="health", summary="How the server is; asks /v1/info for it.")
async def health(service: Served) -> Response:
    keyed = service.keys.required
    form = f'<form class="key-form" autocomplete="off">{key_field()}<button type="submit">Ask</button></form>'
    body = (
        '<div class="title"><h1>Health</h1><p id="told" role="status" class="told muted">Asking …</p></div>'
        '<noscript><p class="note">This page needs JavaScript; <code>rewarden doctor</code> and '
        "<code>/v1/info</code> tell the same.</p></noscript>"
        f'{form if keyed else ""}<div id="health" class="health"></div>'
    )
    return page("Health", body, place="health", script="health.js", wide=True)
