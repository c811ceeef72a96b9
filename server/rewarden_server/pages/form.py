"""The playground's form of one verifier: a field for each parameter, made from their JSON Schema, and one sample."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from rewarden_server.pages.prose import prose_line
from rewarden_server.pages.schema import reads_reference, type_name

_PLAIN = ("string", "number", "integer", "boolean")


def parameters(item: Mapping[str, Any]) -> str:
    """The fields of the parameters, those that must be given first; what no field is for is given as JSON."""
    schema = item["params_schema"]
    required = schema.get("required", [])
    properties: Mapping[str, Any] = schema.get("properties", {})
    names = [*(name for name in properties if name in required), *(name for name in properties if name not in required)]
    fields = "".join(_field(name, properties[name], schema, name in required) for name in names)
    more = _shell(
        "",
        "more",
        "other parameters, as a JSON object",
        '<textarea rows="1" spellcheck="false" aria-describedby="about-more" placeholder="{}"></textarea>',
        'Such as <code>{"view": "full"}</code>: the part of the response that the verifier sees.',
    )
    return fields + more


def _field(name: str, part: Mapping[str, Any], root: Mapping[str, Any], required: bool) -> str:
    target = _target(part, root)
    kind, options = _kind(target, root)
    default = "" if "default" not in part else json.dumps(part["default"], ensure_ascii=False)
    about = f'aria-describedby="about-{escape(name)}"'
    if kind == "choice":
        first = (
            []
            if "default" in part and any(option == part["default"] for option in options)
            else [f'<option value="">{"choose" if required else "default"}</option>']
        )
        made = [
            f'<option value="{escape(json.dumps(option))}"'
            f"{' selected' if 'default' in part and option == part['default'] else ''}>{escape(_word(option))}</option>"
            for option in options
        ]
        control = f"<select {about}>{''.join([*first, *made])}</select>"
    elif kind in ("number", "integer"):
        step = "1" if kind == "integer" else "any"
        shown = escape(json.dumps(part["default"])) if part.get("default") is not None else ""
        control = (
            f'<input type="number" step="{step}" inputmode="decimal" {about} value="{shown}" '
            f'placeholder="{"required" if required else "none"}">'
        )
    elif kind == "string":
        shown = part["default"] if isinstance(part.get("default"), str) else ""
        control = f'<textarea rows="1" spellcheck="false" {about}>\n{escape(shown)}</textarea>'
    else:
        shown = default if kind == "json" or not isinstance(part.get("default"), str) else part["default"]
        # What a field must be given but has no default starts empty, and empty means: not sent.
        control = f'<textarea rows="1" spellcheck="false" {about}>\n{escape(shown)}</textarea>'
    words = type_name(part, root)
    return _shell(name, kind, words + (", required" if required else ""), control, part.get("description", ""), default)


def _shell(name: str, kind: str, words: str, control: str, description: str, default: str = "") -> str:
    hint = prose_line(description) if name else description
    about = f'<div class="hint" id="about-{escape(name or "more")}">{hint}</div>'
    label = f"<code>{escape(name)}</code>" if name else "More"
    title = f'<span class="label">{label} <span class="muted">{escape(words)}</span></span>'
    return (
        f'<div class="field" data-param="{escape(name)}" data-kind="{kind}" data-default="{escape(default)}">'
        f"<label>{title}{control}</label>{about}</div>"
    )


def _target(part: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in part:
        return part
    found: Mapping[str, Any] = root.get("$defs", {}).get(part["$ref"].rpartition("/")[2], {})
    return found


def _kind(part: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    """Returns the kind of a field and its options. Kinds are `choice`, `number`, `integer`, `string`, `json`, and
    `either`: a text, or JSON of one of the types in the options.
    """
    branches = [_target(option, root) for word in ("anyOf", "oneOf") for option in part.get(word, ())] or [part]
    options: list[Any] = []
    others: list[str] = []
    nullable = False
    for branch in branches:
        if "enum" in branch:
            options += branch["enum"]
        elif "const" in branch:
            options.append(branch["const"])
        elif branch.get("type") == "boolean":
            options += [True, False]
        elif branch.get("type") == "null":
            nullable = True
        else:
            others.append(str(branch.get("type", "anything")))
    if options and not others:
        return "choice", [*options, *([None] if nullable else [])]
    if not options and len(others) == 1 and others[0] in _PLAIN:
        return others[0], []
    if "string" in others or any(isinstance(one, str) for one in options):
        json_types = {*others, *map(_json_type, options), *(["null"] if nullable else [])} - {"string"}
        return " ".join(["either", *sorted(json_types)]), []
    return "json", []


def _json_type(value: Any) -> str:
    return "boolean" if isinstance(value, bool) else "integer" if isinstance(value, int) else "string"


def _word(option: Any) -> str:
    if option is None or isinstance(option, bool):
        return {None: "none", True: "yes", False: "no"}[option]
    return option if isinstance(option, str) and option else json.dumps(option)


def sample(item: Mapping[str, Any]) -> str:
    """The fields of one response. Labels are around what they name, so that a copy of it needs no new ids."""
    reads = set(item["reads"])
    # Who sees whole samples may read anything of them: the examples tell what is usual.
    whole = bool(reads & {"sample", "samples"})
    usual = {name for case in item["cases"] for one in case["samples"] for name in one} if whole else set()
    fields = [_text("response", "Response", "the model's response", 7)]
    if reads_reference(item) or "reference" in usual:
        need = "required" if item["reference_required"] else "optional"
        schema = item["reference_schema"]
        plain = not schema or "string" in type_name(schema, schema) or "anything" in type_name(schema, schema)
        fields.append(_text("reference", "Reference", f"the expected answer, {need}", 2, json_first=not plain))
    if "prompt" in reads or "prompt" in usual:
        fields.append(_text("prompt", "Prompt", "the question, optional", 2))
    others = (
        '<details class="others"><summary>Other fields of the sample</summary><label class="part" data-part="others">'
        '<span class="hidden">Other fields of the sample, as a JSON object</span>'
        '<textarea rows="2" spellcheck="false" placeholder="{&quot;metadata&quot;: {}, &quot;token_count&quot;: 512}">'
        "</textarea></label></details>"
    )
    return (
        '<fieldset class="sample"><legend>Sample</legend>'
        f'<button type="button" class="link remove" hidden>Remove</button>{"".join(fields)}{others}</fieldset>'
    )


def _text(name: str, title: str, words: str, rows: int, *, json_first: bool = False) -> str:
    checked = " checked" if json_first else ""
    label = f'<span class="label">{title} <span class="muted">{words}</span></span>'
    return (
        f'<div class="part" data-part="{name}"><label>{label}'
        f'<textarea rows="{rows}" spellcheck="false" dir="auto"></textarea></label>'
        f'<label class="as-json"><input type="checkbox"{checked}> as JSON<span class="hidden">: {title.lower()}</span>'
        "</label></div>"
    )
