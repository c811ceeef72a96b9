"""`/playground` and `/playground/{name}`: a form to judge a response. Its script calls `POST /v1/verify`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from html import escape
from typing import Any

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from rewarden.errors import NotFound
from rewarden_server.catalogue import describe, kind_of
from rewarden_server.http.access import Served
from rewarden_server.http.declared import Name
from rewarden_server.pages import form
from rewarden_server.pages.contents import KINDS, lines, listing, summary
from rewarden_server.pages.entry import LOST, entry_body, facts, missing
from rewarden_server.pages.prose import prose_line
from rewarden_server.pages.shell import key_field, page

_KINDS: Mapping[str, str] = {
    "full": "full marks",
    "partial": "partial marks",
    "zero": "no marks",
    "malformed": "malformed",
    "hack": "an attempt to cheat",
}


router = APIRouter(default_response_class=HTMLResponse, responses={200: {"description": "The page."}})


@router.get("/playground", operation_id="playground", summary="Choose a verifier or recipe to try.")
async def choose(service: Served) -> Response:
    intro = "<h1>Playground</h1><p>Choose a verifier or recipe. Each comes with examples.</p>"
    found = [line for kind in KINDS for line in lines(service.engine, kind)]
    body = intro + listing(found, "playground/", summary)
    return page("Playground", body, place="playground", script="filter.js")


@router.get("/playground/{name}", operation_id="playground_of", summary="Judge a response in a form.", responses=LOST)
async def playground(name: Name, service: Served) -> Response:
    try:
        item = await asyncio.to_thread(describe, service.engine, name, kind_of(service.engine, name))
    except NotFound as error:
        return missing(error, "playground")
    title = f"{item['name']} · Playground"
    if not item["available"]:
        return page(title, entry_body(item), depth=1, place="playground")
    body = _body(item, service.keys.required, service.config.server.grpc_port)
    return page(title, body, depth=1, place="playground", script="playground.js", wide=True)


def _body(item: Mapping[str, Any], keyed: bool, grpc_port: int) -> str:
    name = escape(item["name"])
    data = {
        "name": item["name"],
        "group": item["group"],
        "grpc_port": grpc_port,
        "keyed": keyed,
        "cases": item["cases"],
    }
    return (
        f'<div class="title"><h1><code>{name}</code></h1><p>{prose_line(item["summary"])} '
        f'<a href="../docs/{name}">Documentation</a></p>'
        f'<p class="muted">{escape("; ".join(facts(item)))}</p></div>'
        '<noscript><p class="note">The playground needs JavaScript. Without it, use <code>rewarden verify</code>, or '
        "see the examples in the documentation.</p></noscript>"
        f'<div class="play"><section class="examples" aria-labelledby="examples"><h2 id="examples">Examples '
        f'<small class="muted">{len(item["cases"])}</small></h2>{_cases(item)}</section>'
        f'<form class="ask" autocomplete="off">{key_field() if keyed else ""}'
        f'<div id="about" class="note" hidden></div>'
        f'<div id="samples">{form.sample(item)}</div>'
        '<button type="button" id="add" class="link">Add a response</button>'
        f'<details class="params"><summary>Parameters <span id="changed" class="muted"></span></summary>'
        f'<div class="fields">{form.parameters(item)}</div></details>'
        '<div class="send"><button type="submit" id="send">Send</button>'
        '<span class="muted"><kbd>Ctrl</kbd><kbd>Enter</kbd></span>'
        f"{_copies()}</div></form>"
        '<section class="answer" aria-labelledby="verdict"><h2 id="verdict">Verdict</h2>'
        '<div id="told" role="status" class="told"></div><div id="verdicts"><p class="muted blank">Choose an example '
        "or write a response, then send it.</p></div></section></div>"
        f'<script type="application/json" id="data">{_embedded(data)}</script>'
    )


def _copies() -> str:
    buttons = "".join(
        f'<button type="button" data-copy="{kind}">{label}</button>'
        for kind, label in (("curl", "curl"), ("python", "Python"), ("grpc", "gRPC"))
    )
    return f'<span class="copies" role="group" aria-label="Copy as"><span class="muted">Copy as</span>{buttons}</span>'


def _cases(item: Mapping[str, Any]) -> str:
    cases = item["cases"]
    if not cases:
        return '<p class="muted">None.</p>'
    rows = "".join(
        f'<li><button type="button" data-case="{number}" title="{escape(_KINDS.get(case["kind"], ""))}">'
        f'<span class="kind {escape(case["kind"])}">{escape(case["kind"])}</span> {escape(case["title"])}</button></li>'
        for number, case in enumerate(cases)
    )
    return f'<ul class="case-list" tabindex="0" aria-labelledby="examples">{rows}</ul>'


def _embedded(value: Any) -> str:
    """JSON within a script element: nothing in it can end the element or begin a comment."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
