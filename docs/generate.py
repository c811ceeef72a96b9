"""Writes what is generated from the registry: the table of verifiers in README.md, and the pages in docs/verifiers/.

`python docs/generate.py` writes; `python docs/generate.py --check` exits with 1 when something is out of date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rewarden_verifiers.cases import cases_path, load_cases
from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.registry import BUILT_IN, Registry
from rewarden_verifiers.schema import params_schema, reference_schema

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- verifiers: begin -->", "<!-- verifiers: end -->"


def place(spec: VerifierSpec) -> str:
    """Where a verifier runs, in words."""
    if spec.group:
        return "orchestrates a group"
    if spec.orchestrates:
        return "orchestrates"
    return "inline" if spec.inline else "worker"


def table(registry: Registry) -> str:
    """The table of verifiers and recipes."""
    lines = ["| verifier | what it says | scores | runs |", "|---|---|---|---|"]
    for name in BUILT_IN:
        spec = registry.get(name)
        low, high = spec.score_range
        scores = f"{low:g} to {high:g}" if spec.graded else f"{low:g} or {high:g}"
        lines.append(f"| [`{name}`](docs/verifiers/{name}.md) | {spec.summary} | {scores} | {place(spec)} |")
    lines += ["", "| recipe | what it says |", "|---|---|"]
    lines += [f"| `{name}` | {registry.get(name).summary} |" for name in registry.recipe_names()]
    return "\n".join(lines)


def kind(schema: dict[str, Any]) -> str:
    """A JSON Schema's type in a few words."""
    if "enum" in schema:
        return " \\| ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind(option) for option in schema["anyOf"]))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    return str(schema.get("type", "anything"))


def section(spec: VerifierSpec) -> str:
    """A verifier's page: its docstring, an example, parameters, reference and cases."""
    lines = [f"# {spec.name}", "", spec.doc, "", *example(spec), "## Parameters", ""]
    properties = params_schema(spec).get("properties", {})
    lines += ["| parameter | type | default | meaning |", "|---|---|---|---|"]
    for name, schema in properties.items():
        default = f"`{json.dumps(schema['default'])}`" if "default" in schema else ""
        meaning = " ".join(schema.get("description", "").split())
        lines.append(f"| `{name}` | {kind(schema)} | {default} | {meaning} |")
    lines.append(
        f"| `view` | string or object | `{json.dumps(spec.default_view.part)}` | The part of the response seen. |"
    )
    lines += ["", f"Reference: {kind(reference_schema(spec))}.", ""]
    if spec.requires:
        lines += [f"Needs `pip install 'rewarden-server[{','.join(spec.requires)}]'`.", ""]
    cases = load_cases(spec)
    if cases:
        lines += ["## Cases", "", f"In `{cases_file(spec)}`, where samples and parameters stand. Each is a test.", ""]
        lines += ["| case | kind | why |", "|---|---|---|"]
        lines += [f"| {cell(case.title)} | {case.kind} | {cell(case.why)} |" for case in cases]
        lines.append("")
    return "\n".join(lines)


def example(spec: VerifierSpec) -> list[str]:
    """The first case that earns full marks, as a request and what comes back."""
    case = next((case for case in load_cases(spec) if case.kind == "full" and len(case.samples) == 1), None)
    if case is None:
        return []
    use = {"name": spec.name, "params": dict(case.params)} if case.params else spec.name
    request = json.dumps({"use": use, "samples": [case.samples[0]]}, ensure_ascii=False, indent=1)
    said = json.dumps({"verdicts": [case.expects[0]]}, ensure_ascii=False)
    return ["```json", request, "```", "", "```json", said, "```", ""]


def cases_file(spec: VerifierSpec) -> str:
    """Where the cases lie, from the root of the repository."""
    path = cases_path(spec)
    return "" if path is None else path.resolve().relative_to(ROOT.resolve()).as_posix()


def cell(text: str) -> str:
    """A text that stays within its cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def pages(registry: Registry) -> dict[Path, str]:
    """Every generated file with what it should hold."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    note = "<!-- Generated from the registry by `make docs`. -->\n\n"
    return {
        ROOT / "README.md": f"{before}{BEGIN}\n{table(registry)}\n{END}{after}",
        **{ROOT / f"docs/verifiers/{name}.md": note + section(registry.get(name)) for name in BUILT_IN},
    }


def main() -> int:
    """See the module."""
    stale = [(path, text) for path, text in pages(Registry()).items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        print("\n".join(f"{path.relative_to(ROOT)} is out of date: run make docs" for path, _ in stale))
        return bool(stale)
    for path, text in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
