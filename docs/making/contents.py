"""Lists of what ships: the contents of the verifiers' pages, and the gallery of recipes."""

from __future__ import annotations

import yaml

from making.markdown import cell, table
from making.verifier import FAMILIES, family, place, scores
from rewarden_verifiers.registry import BUILT_IN, GALLERY, Registry


def verifiers(registry: Registry) -> str:
    """The contents of docs/verifiers/."""
    lines = [
        "# Verifiers",
        "",
        "Each page is generated from the verifier's own docstring, schemas and cases. The cases are tests: what a page",
        "says of a response is what happens. [Concepts](../concepts.md) explains the words, and",
        "[Writing a verifier](../writing-a-verifier.md) how to add one.",
        "",
        "*Worker*: in a process that can be killed. *Inline*: on a thread of the server, for what is provably cheap.",
        "*Orchestrates*: asks others, such as the sandbox, a judge or other verifiers.",
        "",
    ]
    for title in dict.fromkeys(FAMILIES.values()):
        names = [name for name in BUILT_IN if family(registry.get(name)) == title]
        lines += [f"## {title}", "", *_verifiers(registry, names, "")]
    return "\n".join(lines)


def recipes(registry: Registry) -> str:
    """The gallery of recipes."""
    lines = [
        "# Gallery of recipes",
        "",
        "What ships, each made from a published reward. `rewarden recipes NAME` prints one, with its source; a `use`",
        "is its name. *Parity*: `verified` was run against the published code, `reading` read against it, `mapped`",
        "made from its description. [Recipes](recipes.md) says how to write one.",
        "",
    ]
    rows = []
    for name in registry.recipe_names():
        spec = registry.get(name)
        written = yaml.safe_load((GALLERY / f"{name}.yaml").read_text(encoding="utf-8"))
        sources = written.get("source", "")
        source = "; ".join(sources) if isinstance(sources, list) else str(sources)
        rows.append((f"`{name}`", cell(spec.summary), scores(spec), cell(written.get("parity", "")), cell(source)))
    return "\n".join([*lines, *table(("recipe", "what it says", "scores", "parity", "source"), rows)])


def _verifiers(registry: Registry, names: list[str], folder: str) -> list[str]:
    rows = [
        (f"[`{name}`]({folder}{name}.md)", spec.summary, scores(spec), place(spec))
        for name in names
        for spec in [registry.get(name)]
    ]
    return table(("verifier", "what it says", "scores", "runs"), rows)
