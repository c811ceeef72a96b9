"""`/docs/{name}`: one verifier or recipe, from what the catalogue knows of it. Imports it and no other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from rewarden.errors import NotFound
from rewarden_server.catalogue import describe, kind_of
from rewarden_server.http.access import Served
from rewarden_server.http.declared import TEXT, Answers, Name, reply
from rewarden_server.pages.formula import drawn
from rewarden_server.pages.prose import code, pretty, prose, prose_line
from rewarden_server.pages.shell import page
from rewarden_verifiers.recipes.load import parse_recipe
from rewarden_verifiers.recipes.model import Component

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
    place = "gallery" if item["kind"] == "recipe" else "docs"
    return page(item["name"], entry_body(item), depth=1, place=place)


def missing(error: NotFound, place: str) -> Response:
    """Returns the page for an unknown name; its message suggests near names."""
    back = f'<p><a href="../{place}">All verifiers and recipes</a></p>'
    body = f"<h1>Not found</h1><p>{prose_line(error.message)}</p>{back}"
    return page("Not found", body, depth=1, place=place, status=404)


def entry_body(item: Mapping[str, Any]) -> str:
    """The page of what the catalogue described."""
    name = escape(item["name"])
    head = f"<h1><code>{name}</code></h1>"
    if not item["available"]:
        return f'{head}<p class="note problem">Cannot be loaded: {prose_line(item["problem"]["message"])}</p>'
    return (
        f'{head}<p class="muted">{escape("; ".join(facts(item)))}</p>'
        f'<p><a class="action" href="../playground/{name}">Try it in the playground</a></p>'
        f'<section class="card">{prose(item["doc"])}</section>'
        f"{_formula(item)}"
        f"{_parameters(item)}{_reference(item)}{_source(item)}{_cases(item['name'], item['cases'])}"
    )


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


def type_name(part: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """A JSON Schema in few words: `number or null`, `list of string`, `"strict" | "lax"`."""
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        target = root.get("$defs", {}).get(name, {})
        return type_name(target, root) if "enum" in target else name
    if "enum" in part:
        return " | ".join(json.dumps(value) for value in part["enum"])
    if "const" in part:
        return json.dumps(part["const"])
    for word in ("anyOf", "oneOf"):
        if word in part:
            return " or ".join(dict.fromkeys(type_name(option, root) for option in part[word]))
    kind = part.get("type")
    if kind == "array":
        items = part.get("items") or (part.get("prefixItems") or [{}])[0]
        return f"list of {type_name(items, root)}"
    return kind if isinstance(kind, str) else "anything"


def _reference(item: Mapping[str, Any]) -> str:
    if not reads_reference(item):
        return _card("Reference", "<p>Not used.</p>")
    schema = item["reference_schema"]
    need = "Required." if item["reference_required"] else "Optional."
    return _card("Reference", f"<p>{need}{'' if schema else ' Any value.'}</p>{pretty(schema) if schema else ''}")


def reads_reference(item: Mapping[str, Any]) -> bool:
    """Returns whether what was described looks at a sample's reference."""
    return "reference" in item["reads"] or "prepared" in item["reads"]


def _formula(item: Mapping[str, Any]) -> str:
    """Returns the drawing of a recipe, with the verifiers of its components."""
    if item["kind"] != "recipe":
        return ""
    recipe = parse_recipe(item["source"])
    rows = "".join(
        f"<dt><code>{escape(name)}</code></dt><dd>{_judges(component)}</dd>"
        for name, component in recipe.components.items()
    )
    return _card("Formula", f'{drawn(recipe)}<dl class="parameters">{rows}</dl>')


def _judges(component: Component) -> str:
    """Returns the verifiers that can judge a component, the first that gives a score."""
    told = []
    for candidate in component.candidates:
        if isinstance(candidate.name, str):
            told.append(f'<a href="{quote(candidate.name, safe="")}"><code>{escape(candidate.name)}</code></a>')
        elif candidate.name is not None:
            told.append(f"the verifier that <code>{escape(candidate.name.text)}</code> names")
        else:
            told.append("a recipe of its own")
    default = f"; without a score {component.default:g}" if component.default is not None else ""
    return f"judged by {', else '.join(told)}{default}"


def _source(item: Mapping[str, Any]) -> str:
    return _card("Source", pretty(json.loads(item["source"]))) if item["source"] else ""


def _cases(name: str, cases: Sequence[Mapping[str, Any]]) -> str:
    if not cases:
        return ""
    return _card("Examples", '<div class="cases">' + "".join(_case(name, case) for case in cases) + "</div>")


def _case(name: str, case: Mapping[str, Any]) -> str:
    use: Any = {"name": name, "params": case["params"]} if case["params"] else name
    request = {"use": use, "samples": case["samples"]}
    expects = case["expects"] if len(case["expects"]) > 1 else case["expects"][0]
    return (
        f'<details><summary><span class="kind {escape(case["kind"])}">{escape(case["kind"])}</span> '
        f"{escape(case['title'])}</summary>"
        f"<p>{escape(case['why'])}</p>{pretty(request)}<p>returns</p>{pretty(expects)}</details>"
    )
