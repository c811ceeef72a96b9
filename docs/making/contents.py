"""The contents of the verifiers' pages, and the gallery of recipes."""

from __future__ import annotations

from making.families import FAMILIES, NEEDS, family, need, origin, scores, written
from making.markdown import cell, table
from making.verifier import place
from rewarden_verifiers.registry import BUILT_IN, Registry

FILTER = '<div class="rewarden-filter"></div>'
"""The place where the site's script puts a field that filters the tables below it."""


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
        FILTER,
        "",
    ]
    for title in dict.fromkeys(FAMILIES.values()):
        names = [name for name in BUILT_IN if family(registry.get(name)) == title]
        lines += [f"## {title}", "", *_verifiers(registry, names, "")]
    return "\n".join(lines)


def recipes(registry: Registry) -> str:
    """The gallery of recipes, by what they need."""
    lines = [
        "# Gallery of recipes",
        "",
        "These recipes ship with Rewarden; each reproduces a published reward. To use one, give its name as the `use`.",
        "`rewarden recipes NAME` prints it with its source. *Parity*: `verified` was run against the published code,",
        "`reading` was checked by reading that code, and `mapped` was made from a description of the reward.",
        "[Recipes](recipes.md) explains how to write one.",
        "",
        FILTER,
        "",
    ]
    rows: dict[str, list[tuple[str, ...]]] = {title: [] for title in NEEDS}
    for name in registry.recipe_names():
        spec = registry.get(name)
        parity = cell(written(name).get("parity", ""))
        row = (f"`{name}`", cell(spec.summary), scores(spec), parity, cell(origin(name)))
        rows[need(registry, name)].append(row)
    for title, found in rows.items():
        lines += [f"## {title}", "", *table(("recipe", "summary", "scores", "parity", "source"), found)]
    return "\n".join(lines)


def _verifiers(registry: Registry, names: list[str], folder: str) -> list[str]:
    rows = [
        (f"[`{name}`]({folder}{name}.md)", spec.summary, scores(spec), place(spec))
        for name in names
        for spec in [registry.get(name)]
    ]
    return table(("verifier", "summary", "scores", "runs"), rows)
