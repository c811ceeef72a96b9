"""`/health`: how the server is. The page itself tells nothing: its script asks `/v1/info`, with the key if need be."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden_server.pages.shell import key_field, page
from rewarden_server.service import Service


def routes(service: Service) -> list[Route]:
    """The route of the page."""

    async def health(request: Request) -> Response:
        keyed = bool(service.keys.names)
        body = (
            '<div class="title"><h1>Health</h1><p id="told" role="status" class="told muted">Asking …</p></div>'
            '<noscript><p class="note">This page needs JavaScript; <code>rewarden doctor</code> and '
            "<code>/v1/info</code> tell the same.</p></noscript>"
            f'{_key_form() if keyed else ""}<div id="health" class="health"></div>'
        )
        return page("Health", body, place="health", script="health.js", wide=True)

    return [Route("/health", health, methods=["GET"])]


def _key_form() -> str:
    return f'<form class="key-form" autocomplete="off">{key_field()}<button type="submit">Ask</button></form>'
