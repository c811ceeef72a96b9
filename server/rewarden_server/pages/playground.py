"""`/playground` and `/playground/{name}`: a form to judge a response. Its script calls `POST /v1/verify`."""

from __future__ import annotations

import asyncio
from html import escape

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from rewarden.errors import NotFound
from rewarden_server.catalogue import describe, kind_of
from rewarden_server.http.access import Served
from rewarden_server.http.declared import Name
from rewarden_server.pages.contents import FAMILY, KINDS, LOADS, lines, listing, summary
from rewarden_server.pages.entry import LOST, facts, missing, refused
from rewarden_server.pages.prose import prose_line
from rewarden_server.pages.shell import page
from rewarden_server.pages.trial import trial

router = APIRouter(default_response_class=HTMLResponse, responses={200: {"description": "The page."}})


@router.get("/playground", operation_id="playground", summary="Choose a verifier or recipe to try.")
async def choose(service: Served) -> Response:
    intro = "<h1>Playground</h1><p>Choose a verifier or recipe. Each comes with examples.</p>"
    found = [line for kind in KINDS for line in lines(service.engine, kind)]
    body = intro + listing(found, "playground/", summary, (FAMILY, LOADS))
    return page("Playground", body, place="playground", script="filter.js")


@router.get("/playground/{name}", operation_id="playground_of", summary="Judge a response in a form.", responses=LOST)
async def playground(name: Name, service: Served) -> Response:
    try:
        item = await asyncio.to_thread(describe, service.engine, name, kind_of(service.engine, name))
    except NotFound as error:
        return missing(error, "playground")
    title = f"{item['name']} · Playground"
    if not item["available"]:
        return page(title, refused(item), depth=1, place="playground")
    name = escape(item["name"])
    head = (
        f'<div class="title"><h1><code>{name}</code></h1><p>{prose_line(item["summary"])} '
        f'<a href="../docs/{name}">Documentation</a></p>'
        f'<p class="muted">{escape("; ".join(facts(item)))}</p></div>'
    )
    body = head + trial(item, service.keys.required, service.config.server.grpc_port)
    return page(title, body, depth=1, place="playground", script="playground.js", wide=True)
