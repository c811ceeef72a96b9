"""The form to try a verifier or recipe, with its examples, a recipe's drawing, and the verdict: the playground and the
page of a verifier share it. Its script is `playground.js`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from rewarden_server.pages import form
from rewarden_server.pages.shell import key_field
from rewarden_server.pages.structure import drawing
from rewarden_verifiers.recipes.load import parse_recipe

_KINDS: Mapping[str, str] = {
    "full": "full marks",
    "partial": "partial marks",
    "zero": "no marks",
    "malformed": "malformed",
    "hack": "an attempt to cheat",
}


def trial(item: Mapping[str, Any], keyed: bool, grpc_port: int) -> str:
    """Returns the markup of a verifier or recipe to try. keyed: callers need a key."""
    data = {
        "name": item["name"],
        "group": item["group"],
        "grpc_port": grpc_port,
        "keyed": keyed,
        "cases": item["cases"],
    }
    formula = drawing(parse_recipe(item["source"])) if item["kind"] == "recipe" else ""
    return (
        '<noscript><p class="note">To judge here needs JavaScript. Without it, use <code>rewarden verify</code>.</p>'
        f'</noscript><div class="play"><section class="examples" aria-labelledby="examples"><h2 id="examples">Examples '
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
        f'<div class="answer">{formula}<section aria-labelledby="verdict"><h2 id="verdict">Verdict</h2>'
        '<div id="told" role="status" class="told"></div><div id="verdicts"><p class="muted blank">Choose an example '
        "or write a response, then send it.</p></div></section></div></div>"
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
