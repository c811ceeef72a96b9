"""The contents of the verifiers' pages, and the gallery of recipes."""

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
        "Each page is generated from the verifier's own docstring, schemas and cases. Every case is a test, so the",
        "verdicts on a page are the ones that you get. [Concepts](../concepts.md) explains the terms, and",
        "[Writing a verifier](../writing-a-verifier.md) shows how to add one.",
        "",
        "*Worker*: runs in a process that can be killed. *Inline*: runs on a thread of the server, for provably cheap",
        "work. *Orchestrator*: calls others, such as the sandbox, a judge or other verifiers.",
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
        "These recipes ship with Rewarden; each reproduces a published reward. To use one, give its name as the `use`.",
        "`rewarden recipes NAME` prints it with its source. *Parity*: `verified` was run against the published code,",
        "`reading` was checked by reading that code, and `mapped` was made from a description of the reward.",
        "[Recipes](recipes.md) explains how to write one.",
        "",
    ]
    rows = []
    for name in registry.recipe_names():
        spec = registry.get(name)
        written = yaml.safe_load((GALLERY / f"{name}.yaml").read_text(encoding="utf-8"))
        sources = written.get("source", "")
        source = "; ".join(sources) if isinstance(sources, list) else str(sources)
        rows.append((f"`{name}`", cell(spec.summary), scores(spec), cell(written.get("parity", "")), cell(source)))
    return "\n".join([*lines, *table(("recipe", "summary", "scores", "parity", "source"), rows)])


def _verifiers(registry: Registry, names: list[str], folder: str) -> list[str]:
    rows = [
        (f"[`{name}`]({folder}{name}.md)", spec.summary, scores(spec), place(spec))
        for name in names
        for spec in [registry.get(name)]
    ]
    return table(("verifier", "summary", "scores", "runs"), rows)
