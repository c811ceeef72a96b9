"""`/` and `/docs`: pages made from the registry, so that no verifier is without one. They load nothing."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from rewarden_server.catalogue import describe, names
from rewarden_server.engine.engine import Engine
from rewarden_server.service import Service

_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid #ccc; padding-top: 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.875em; }
pre { background: #f4f4f4; padding: 0.75rem; overflow-x: auto; white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.75rem 0.25rem 0; }
td { border-top: 1px solid #ddd; } .facts { color: #555; } .problem { color: #a00; }
summary { cursor: pointer; } .kind { display: inline-block; min-width: 5.5rem; color: #555; }
@media (prefers-color-scheme: dark) {
  body { background: #141414; color: #e4e4e4; } pre { background: #222; } a { color: #8ab4f8; }
  .facts, .kind { color: #aaa; } .problem { color: #f88; } td { border-color: #333; } h2 { border-color: #444; }
}
"""


def routes(service: Service) -> list[Route]:
    """The routes of the pages."""

    async def index(request: Request) -> Response:
        return HTMLResponse(index_page(), headers=_HEADERS)

    async def docs(request: Request) -> Response:
        return HTMLResponse(await asyncio.to_thread(docs_page, service.engine), headers=_HEADERS)

    return [Route("/", index, methods=["GET"]), Route("/docs", docs, methods=["GET"])]


def index_page() -> str:
    """What is where."""
    rows = (
        ("/docs", "Verifiers and recipes: parameters, references, examples"),
        ("/openapi.json", "The HTTP interface, for tools"),
        ("/v1/info", "Versions and limits in force"),
        ("/metrics", "Metrics for Prometheus"),
        ("/readyz", "Whether work is admitted"),
    )
    items = "".join(f'<tr><td><a href="{path}"><code>{path}</code></a></td><td>{text}</td></tr>' for path, text in rows)
    example = (
        "curl -s localhost:8080/v1/verify -H 'Content-Type: application/json' \\\n"
        """  -d '{"use": "choice", "samples": [{"response": "The answer is (B).", "reference": "B"}]}'"""
    )
    return _page("Rewarden", f"<h1>Rewarden</h1><table>{items}</table><h2>Try it</h2><pre>{escape(example)}</pre>")


def docs_page(engine: Engine) -> str:
    """Every verifier and recipe on one page. May import their packages: not for the loop."""
    parts: list[str] = []
    contents: list[str] = []
    for kind, title in (("verifier", "Verifiers"), ("recipe", "Recipes")):
        described = [describe(engine, name, kind) for name in names(engine, kind)]
        links = "".join(
            f'<tr><td><a href="#{escape(item["name"])}"><code>{escape(item["name"])}</code></a></td>'
            f"<td>{_prose_line(item.get('summary') or 'cannot be loaded')}</td></tr>"
            for item in described
        )
        contents.append(f"<h3>{title}</h3><table>{links}</table>")
        parts.extend(_section(item) for item in described)
    return _page("Verifiers and recipes", "<h1>Verifiers and recipes</h1>" + "".join(contents) + "".join(parts))


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>{body}</body></html>'
    )


def _section(item: Mapping[str, Any]) -> str:
    name = escape(item["name"])
    head = f'<h2 id="{name}"><code>{name}</code></h2>'
    if not item["available"]:
        return f'{head}<p class="problem">Cannot be loaded: {escape(item["problem"]["message"])}</p>'
    low, high = item["score_range"]
    facts = [
        f"{item['kind']} version {item['version']}",
        f"score {low:g} to {high:g}" + (", graded" if item["graded"] else ""),
        f"determinism: {item['determinism']}",
        *(["judges whole groups"] if item["group"] else []),
        *([f"from the package {item['plugin']}"] if item["plugin"] else []),
        *([f"needs rewarden-server[{','.join(item['requires'])}]"] if item["requires"] else []),
    ]
    return (
        f'{head}<p class="facts">{escape("; ".join(facts))}</p>{_prose(item["doc"])}'
        f"{_parameters(item)}{_reference(item)}{_source(item)}{_cases(item['name'], item['cases'])}"
    )


def _prose(text: str) -> str:
    """A docstring's paragraphs; indented ones keep their lines."""
    made = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if any(line.startswith("    ") for line in paragraph.split("\n")):
            made.append(f"<pre>{escape(paragraph)}</pre>")
        else:
            made.append(f"<p>{_prose_line(paragraph)}</p>")
    return "".join(made)


def _prose_line(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def _parameters(item: Mapping[str, Any]) -> str:
    schema = item["params_schema"]
    properties: Mapping[str, Any] = schema.get("properties", {})
    if not properties:
        return "<h3>Parameters</h3><p>None.</p>"
    required = schema.get("required", [])
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(type_name(part, schema))}</td>"
        f"<td>{'required' if name in required else _code(part.get('default'))}</td>"
        f"<td>{_prose_line(part.get('description', ''))}</td></tr>"
        for name, part in properties.items()
    )
    head = "<tr><th>Name</th><th>Type</th><th>Default</th><th></th></tr>"
    return f"<h3>Parameters</h3><table>{head}{rows}</table>"


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
            return " or ".join(type_name(option, root) for option in part[word])
    kind = part.get("type")
    if kind == "array":
        items = part.get("items") or (part.get("prefixItems") or [{}])[0]
        return f"list of {type_name(items, root)}"
    return kind if isinstance(kind, str) else "anything"


def _reference(item: Mapping[str, Any]) -> str:
    if "reference" not in item["reads"] and "prepared" not in item["reads"]:
        return "<h3>Reference</h3><p>Not read.</p>"
    schema = item["reference_schema"]
    need = "Required." if item["reference_required"] else "Optional."
    shown = f"<pre>{escape(json.dumps(schema, indent=2))}</pre>" if schema else " Any value."
    return f"<h3>Reference</h3><p>{need}{'' if schema else shown}</p>{shown if schema else ''}"


def _source(item: Mapping[str, Any]) -> str:
    return f"<h3>Source</h3><pre>{escape(item['source'])}</pre>" if item["source"] else ""


def _cases(name: str, cases: Sequence[Mapping[str, Any]]) -> str:
    if not cases:
        return ""
    return "<h3>Examples</h3>" + "".join(_case(name, case) for case in cases)


def _case(name: str, case: Mapping[str, Any]) -> str:
    use: Any = {"name": name, "params": case["params"]} if case["params"] else name
    request = {"use": use, "samples": case["samples"]}
    expects = case["expects"] if len(case["expects"]) > 1 else case["expects"][0]
    return (
        f'<details><summary><span class="kind">{escape(case["kind"])}</span> {escape(case["title"])}</summary>'
        f"<p>{escape(case['why'])}</p><pre>{_pretty(request)}</pre><p>gives</p><pre>{_pretty(expects)}</pre></details>"
    )


def _pretty(value: Any) -> str:
    return escape(json.dumps(value, indent=1, ensure_ascii=False))


def _code(value: Any) -> str:
    return f"<code>{escape(json.dumps(value, ensure_ascii=False))}</code>"
