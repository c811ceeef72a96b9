"""A verifier's page, made from its docstring, its signature, its schemas and its cases."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from making import formats
from making.families import scores
from making.markdown import cell, code, table
from rewarden_verifiers.cases import KINDS, Case, cases_path, load_cases
from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.fingerprint.fingerprint import libraries_of
from rewarden_verifiers.schema import params_schema, reference_schema

ROOT = Path(__file__).parents[2]

KIND_TITLES: Mapping[str, str] = {
    "full": "Full marks",
    "partial": "Partial credit",
    "zero": "No credit",
    "hack": "Attempts at reward hacking",
    "malformed": "Malformed samples and references",
}

DETERMINISM: Mapping[str, str] = {
    "exact": "exact: the same input gives the same verdict",
    "tolerance": "tolerance: scores can differ in their last digits between machines and batches",
    "sampled": "sampled: a model or program that it calls can return a different result each time",
    "stateful": "stateful: depends on earlier requests; never cached",
}

_ROUNDING = 1e-5
"""The distance of two bounds that only allow for rounding."""

_PARTS = {
    "final": "the text after the closed reasoning",
    "full": "the whole response, reasoning included",
    "thinking": "only the reasoning",
}


def place(spec: VerifierSpec) -> str:
    """Returns where a verifier runs, in words."""
    if spec.group:
        return "group orchestrator"
    if spec.orchestrates:
        return "orchestrator"
    return "inline" if spec.inline else "worker"


def required(spec: VerifierSpec) -> str:
    """Returns what must be installed besides `rewarden-server` itself: always, and for some samples."""
    always = _install(",".join(spec.requires)) if spec.requires else "no extra"
    return "; ".join([always, *(f"{what} need {_install(extra)}" for extra, what in spec.optional.items())])


def _install(extras: str) -> str:
    return f"`pip install 'rewarden-server[{extras}]'`"


def page(spec: VerifierSpec) -> str:
    """A verifier's page."""
    cases = load_cases(spec)
    return "\n".join(
        [
            f"# {spec.name}",
            "",
            linked(spec.doc),
            "",
            *_facts(spec),
            *_example(spec, cases),
            *_parameters(spec),
            *_reference(spec),
            *(formats.section() if spec.name == "tool_calls" else []),
            *_extracted(spec, cases),
            *_reasons(cases),
            *_fingerprint(spec),
            *_cases(spec, cases),
        ]
    )


def _facts(spec: VerifierSpec) -> list[str]:
    head = ("Scores", scores(spec))
    rows = [
        ("Runs", place(spec)),
        ("Reads", ", ".join(f"`{name}`" for name in _reads(spec)) or "the fields that the verifiers it calls read"),
        ("Determinism", DETERMINISM[spec.determinism]),
        ("Requires", required(spec)),
    ]
    if spec.equivalence is not None:
        rows.append(("Equivalence", "compares two answers, for `consensus`, `diversity` and maj@k"))
    return table(head, rows)


def _reads(spec: VerifierSpec) -> list[str]:
    """Returns the fields of a sample that a verdict depends on, by the names that callers use."""
    hidden = {"params", "ctx", "site", "watch"}
    names = ["reference" if name == "prepared" else name for name in spec.reads if name not in hidden]
    return list(dict.fromkeys(names))


def _example(spec: VerifierSpec, cases: Iterable[Case]) -> list[str]:
    """The first case that earns full marks, as a request and its response."""
    case = next((case for case in cases if case.kind == "full" and len(case.samples) == 1), None)
    if case is None:
        return []
    use = {"name": spec.name, "params": dict(case.params)} if case.params else spec.name
    request = json.dumps({"use": use, "samples": [case.samples[0]]}, ensure_ascii=False, indent=1)
    said = json.dumps({"verdicts": [case.expects[0]]}, ensure_ascii=False)
    return ["```json", request, "```", "", "```json", said, "```", ""]


def _parameters(spec: VerifierSpec) -> list[str]:
    rows = [
        (
            f"`{name}`",
            _type(schema),
            _default(schema),
            linked(_sentence(schema.get("description", ""))),
        )
        for name, schema in params_schema(spec).get("properties", {}).items()
    ]
    rows.append(
        (
            "`view`",
            "string or object",
            f"`{json.dumps(spec.default_view.part)}`",
            "Part of the response that the verifier sees.",
        )
    )
    return ["## Parameters", "", *table(("parameter", "type", "default", "meaning"), rows)]


def _reference(spec: VerifierSpec) -> list[str]:
    """Returns the forms of the reference: in words, and a table for each object in it."""
    if "reference" not in _reads(spec) and "sample" not in spec.reads:
        return ["The verifier reads no reference.", ""]
    schema = reference_schema(spec)
    wanted = "required" if spec.reference_required else "optional"
    lines = [f"Reference: {_type(schema)} ({wanted}).", ""]
    shapes = {"reference": schema, **schema.get("$defs", {})}
    for name, shape in shapes.items():
        properties = shape.get("properties", {})
        required = set(shape.get("required", ()))
        rows: list[tuple[str, ...]] = [
            (
                f"`{key}`" + (" (required)" if key in required else ""),
                _type(field),
                _default(field),
                linked(cell(_sentence(field.get("description", "")))),
            )
            for key, field in properties.items()
        ]
        if rows:
            heads: tuple[str, ...] = ("field", "type", "default", "meaning")
            if not any(row[3] for row in rows):  # the docstring describes the fields
                heads, rows = heads[:3], [row[:3] for row in rows]
            lines += [f"`{name}`:", "", *table(heads, rows)]
    return lines


def _default(schema: Mapping[str, Any]) -> str:
    """A field's default as code, without nulls within it; empty if it has none."""
    if "default" not in schema:
        return ""
    value = schema["default"]
    if isinstance(value, Mapping):
        value = {key: item for key, item in value.items() if item is not None}
    return f"`{json.dumps(value)}`"


def _sentence(text: str) -> str:
    """A description in one line that begins with a capital letter."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:]


def linked(text: str) -> str:
    """A docstring in which the pages that it names, `docs/code.md`, are links from docs/verifiers/."""
    return re.sub(r"(?<![\w/`(\[])docs/([\w/-]+\.md)", r"[\1](../\1)", text)


def _type(schema: Mapping[str, Any]) -> str:
    """A JSON Schema's type in a few words."""
    if "enum" in schema:
        return " \\| ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(option) for option in schema["anyOf"]))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    return str(schema.get("type", "anything"))


def _extracted(spec: VerifierSpec, cases: Iterable[Case]) -> list[str]:
    """Returns the part of the response that is seen, the rules that find the answer, and examples from the cases."""
    if spec.group or not set(spec.reads) & {"response", "sample"}:
        return []
    lines = ["## Extraction", "", f"The verifier sees {_PARTS[spec.default_view.part]}; `view` changes that."]
    rule = params_schema(spec).get("properties", {}).get("extraction", {}).get("default")
    if rule is not None:
        lines[-1] += f" `extraction` sets the rules that find the answer in it, {code(rule)} by default."
    shown: list[tuple[str, ...]] = []
    for case in cases:
        for sample, wanted in zip(case.samples, case.expects, strict=True):
            found = wanted.get("extracted")
            if found is not None and len(shown) < 5 and case.kind != "malformed":
                shown.append((code(sample.get("response", ""), 80), code(found, 50)))
                break
    return [*lines, "", *table(("response", "`extracted`"), shown)]


def _reasons(cases: Iterable[Case]) -> list[str]:
    """Every reason and flag that a case expects, with the first such case."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for case in cases:
        for wanted in case.expects:
            outcome = _outcome(wanted)
            if isinstance(reason := wanted.get("reason"), str):
                found.setdefault(("reason", reason), (outcome.partition(",")[0], cell(case.title)))
            for flag in flags_of(wanted):
                found.setdefault(("flag", flag), (outcome, cell(case.title)))
    rows = [
        (f"`{word}`", what, *shown)
        for what in ("reason", "flag")
        for (other, word), shown in sorted(found.items())
        if other == what
    ]
    if not rows:
        return []
    return [
        "## Reasons and flags",
        "",
        "The cases below produce these.",
        "",
        *table(("name", "kind", "verdict", "example case"), rows),
    ]


def flags_of(wanted: Mapping[str, Any]) -> list[str]:
    """The flags that a case expects: all of them, or one that must be among them."""
    flags = wanted.get("flags", ())
    named = [flags.get("has")] if isinstance(flags, Mapping) else flags
    return [flag for flag in named if isinstance(flag, str)]


def _fingerprint(spec: VerifierSpec) -> list[str]:
    libraries = ", ".join(f"`{name}`" for name in libraries_of(spec))
    parts = ["its code and data", "its parameters and view", f"the versions of {libraries}"]
    if spec.per_python:
        parts.append("Python's minor version")
    if spec.children is not None:
        parts.append("the fingerprints of the verifiers it calls")
    if spec.resources is not None:
        parts.append("the resources that the server's configuration gives it")
    covered = f"{', '.join(parts[:-1])}, and {parts[-1]}"
    return [
        "## Fingerprint",
        "",
        f"Version {spec.version}. The [fingerprint](../fingerprints.md) covers {covered}.",
        f"`rewarden verifiers {spec.name}` prints the current one.",
        "",
    ]


def _cases(spec: VerifierSpec, cases: list[Case]) -> list[str]:
    path = cases_path(spec)
    if not cases or path is None:
        return []
    file = path.resolve().relative_to(ROOT.resolve()).as_posix()
    lines = ["## Cases", "", f"Each case is a test. The complete cases are in `{file}`.", ""]
    for kind in sorted(KINDS, key=list(KIND_TITLES).index):
        rows = [
            (
                cell(case.title)
                + (f" ({len(case.samples)} samples)" if len(case.samples) > 1 else "")
                + (f", with {code(dict(case.params), 60)}" if case.params else ""),
                code(case.samples[0].get("response", ""), 70),
                code(case.samples[0]["reference"], 40) if "reference" in case.samples[0] else "",
                _outcome(case.expects[0]),
                cell(case.why),
            )
            for case in cases
            if case.kind == kind
        ]
        if rows:
            heads = ("case", "response", "reference", "verdict", "why")
            lines += [f"### {KIND_TITLES[kind]} (`{kind}`)", "", *table(heads, rows)]
    return lines


def score_of(expected: Any) -> str:
    """Returns the score that a case expects: a number or its bounds, or one number if they allow for rounding alone."""
    if not isinstance(expected, Mapping):
        return f"{expected:g}"
    ends = [f"{expected[end]:.4g}" for end in ("min", "max") if end in expected]
    if len(ends) == 1:
        return f"at {'least' if 'min' in expected else 'most'} {ends[0]}"
    if expected["max"] - expected["min"] < _ROUNDING:
        return f"{round((expected['min'] + expected['max']) / 2, 6) + 0.0:.4g}"
    return " to ".join(ends)


def _outcome(wanted: Mapping[str, Any]) -> str:
    """Returns the verdict that a case expects, in a few words."""
    status = wanted.get("status", "scored")
    score = wanted.get("score")
    said = str(status)
    if score is not None:
        said = score_of(score)
    elif status == "scored" and "passed" in wanted:
        said = "passed" if wanted["passed"] else "not passed"
    reason = wanted.get("reason")
    return f"{said}, `{reason}`" if isinstance(reason, str) else said
