"""`/docs/{name}`: one verifier or recipe, from what the catalogue knows of it. Imports it and no other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from rewarden.errors import NotFound
from rewarden_server.catalogue import describe, kind_of
from rewarden_server.http.access import Served
from rewarden_server.http.declared import TEXT, Answers, Name, reply
from rewarden_server.pages.parity import parity
from rewarden_server.pages.prose import code, linked, pretty, prose, prose_line
from rewarden_server.pages.schema import reads_reference, type_name
from rewarden_server.pages.shell import page
from rewarden_server.pages.trial import trial
from rewarden_verifiers.recipes.systems import System, systems
from rewarden_verifiers.summaries import Summary, summaries

router = APIRouter(default_response_class=HTMLResponse, responses={200: {"description": "The page."}})

LOST: Answers = {404: reply("Not found.", TEXT, "text/html")}
"""The response of a page for an unknown name."""


@router.get("/docs/{name}", operation_id="docs_of", summary="The page of a verifier or recipe.", responses=LOST)
async def entry(name: Name, service: Served) -> Response:
    try:
        # In a thread, because the first request for a name can import packages.
        item = await asyncio.to_thread(describe, service.engine, name, kind_of(service.engine, name))
    except NotFound as error:
        return missing(error, "docs")
    recipe = item["kind"] == "recipe"
    place = "gallery" if recipe else "docs"
    if not item["available"]:
        return page(item["name"], refused(item), depth=1, place=place)
    written = service.engine.registry.recipe_path(name).read_text(encoding="utf-8") if recipe else ""
    form = trial(item, service.keys.required, service.config.server.grpc_port)
    body = entry_body(item, form, written)
    return page(item["name"], body, depth=1, place=place, script="playground.js", wide=True)


def missing(error: NotFound, place: str) -> Response:
    """Returns the page for an unknown name; its message suggests near names."""
    back = f'<p><a href="../{place}">All verifiers and recipes</a></p>'
    body = f"<h1>Not found</h1><p>{prose_line(error.message)}</p>{back}"
    return page("Not found", body, depth=1, place=place, status=404)


def refused(item: Mapping[str, Any]) -> str:
    """Returns the page of one that cannot be loaded."""
    problem = prose_line(item["problem"]["message"])
    return f'<h1><code>{escape(item["name"])}</code></h1><p class="note problem">Cannot be loaded: {problem}</p>'


def entry_body(item: Mapping[str, Any], form: str, written: str) -> str:
    """Returns the page of what the catalogue described. form: to try it. written: a recipe as its file has it."""
    name = escape(item["name"])
    return (
        f'<div class="title"><h1><code>{name}</code></h1><p class="muted">{escape("; ".join(facts(item)))}</p></div>'
        f"{_about(item, written)}{form}"
        f'<p><a href="../playground/{name}">The form alone, in the playground</a></p>'
        f"{_parameters(item)}{_reference(item)}{_source(item, written)}{_cases(item['name'], item['cases'])}"
    )


def _about(item: Mapping[str, Any], written: str) -> str:
    """Returns the documentation: of a recipe, its publications and the comment that its file begins with."""
    known = summaries().get(item["name"])
    if not written or known is None:
        return f'<section class="card">{prose(item["doc"])}</section>'
    comment = [line.removeprefix("#") for line in written[: written.index("\nname:")].split("\n")]
    told = "\n".join(f"   {line}" if line.startswith("  ") else line.strip() for line in comment)
    source = f"<p>{linked(known.source)}</p>" if known.source else ""
    return f'<section class="card">{prose(told)}{source}<p>{parity(known.parity)}</p></section>{_covers(known)}'


def _covers(known: Summary) -> str:
    """Returns the published systems that a recipe covers, with the parameters that make it theirs."""
    listed = systems()
    rows = "".join(
        f"<li>{_system(listed[one.id])}{f' ({escape(one.part)})' if one.part else ''}"
        f"{f', with {code(one.params)}' if one.params else ''}</li>"
        for one in known.systems
    )
    return _card("Published systems", f"<p>This recipe is the reward of:</p><ul>{rows}</ul>") if rows else ""


def _system(system: System) -> str:
    named = f"{escape(system.name)}: {escape(system.title)}"
    if not system.arxiv:
        return named
    return f'{named}, <a href="https://arxiv.org/abs/{system.arxiv}" rel="noreferrer">arXiv {system.arxiv}</a>'


def facts(item: Mapping[str, Any]) -> list[str]:
    """Returns short facts on a verifier or recipe for people who are about to use it."""
    low, high = item["score_range"]
    return [
        f"{item['kind']} version {item['version']}",
        f"score {low:g} to {high:g}" + (", graded" if item["graded"] else ""),
        f"determinism: {item['determinism']}",
        *(["judges whole groups"] if item["group"] else []),
        *([f"from the package {item['plugin']}"] if item["plugin"] else []),
        *([f"needs rewarden-server[{','.join(item['requires'])}]"] if item["requires"] else []),
    ]


def _card(title: str, body: str) -> str:
    return f'<section class="card"><h2>{title}</h2>{body}</section>'


def _parameters(item: Mapping[str, Any]) -> str:
    schema = item["params_schema"]
    properties: Mapping[str, Any] = schema.get("properties", {})
    if not properties:
        return _card("Parameters", "<p>None.</p>")
    required = schema.get("required", [])
    rows = "".join(
        f"<dt><code>{escape(name)}</code> <span class=muted>{escape(type_name(part, schema))}"
        f"{_default(name in required, part)}</span></dt><dd>{prose_line(part.get('description', ''))}</dd>"
        for name, part in properties.items()
    )
    return _card("Parameters", f'<dl class="parameters">{rows}</dl>')


def _default(required: bool, part: Mapping[str, Any]) -> str:
    if required:
        return ", required"
    return f", default {code(part['default'])}" if "default" in part else ""


def _reference(item: Mapping[str, Any]) -> str:
    if not reads_reference(item) and not item["reference_required"]:
        # What judges whole samples passes the reference on.
        whole = {"sample", "samples"} & set(item["reads"])
        return _card("Reference", f"<p>{'As the verifiers that it calls need.' if whole else 'Not used.'}</p>")
    schema = item["reference_schema"]
    need = "Required." if item["reference_required"] else "Optional."
    return _card("Reference", f"<p>{need}{'' if schema else ' Any value.'}</p>{pretty(schema) if schema else ''}")


def _source(item: Mapping[str, Any], written: str) -> str:
    text = written or item["source"]
    return _card("Source", f'<pre class="text" tabindex="0">{escape(text)}</pre>') if text else ""


def _cases(name: str, cases: Sequence[Mapping[str, Any]]) -> str:
    if not cases:
        return ""
    return _card("Cases", '<div class="cases">' + "".join(_case(name, case) for case in cases) + "</div>")


def _case(name: str, case: Mapping[str, Any]) -> str:
    use: Any = {"name": name, "params": case["params"]} if case["params"] else name
    request = {"use": use, "samples": case["samples"]}
    expects = case["expects"] if len(case["expects"]) > 1 else case["expects"][0]
    return (
        f'<details><summary><span class="kind {escape(case["kind"])}">{escape(case["kind"])}</span> '
        f"{escape(case['title'])}</summary>"
        f"<p>{escape(case['why'])}</p>{pretty(request)}<p>returns</p>{pretty(expects)}</details>"
    )
