"""The contents of the verifiers' pages, and the gallery of recipes."""

from __future__ import annotations

import json

from making.families import FAMILIES, NEEDS, calls, family, need, origin, scores, written
from making.markdown import cell, table
from making.verifier import place
from rewarden_verifiers.recipes.load import load_recipe
from rewarden_verifiers.recipes.systems import System, systems
from rewarden_verifiers.registry import BUILT_IN, GALLERY, Registry

FILTER = '<div class="rewarden-filter"></div>'
"""The place where the site's script puts a field that filters the tables below it."""


def verifiers(registry: Registry) -> str:
    """The contents of docs/verifiers/."""
    lines = [
        "# Verifiers",
        "",
        "Each page is generated from the verifier's own docstring, schemas and cases. Every case is a test, so the",
        "verdicts on a page are exactly what the server returns. [Concepts](../concepts.md) explains the terms, and",
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
        "Its page shows its formula, what each part earns, its curve and its weaknesses. *Parity*: `verified` was run",
        "against the published code, `reading` was checked by reading that code, and `mapped` was written from a",
        "description of the reward.",
        "[Recipes](recipes.md) explains how to write one.",
        "",
        FILTER,
        "",
    ]
    rows: dict[str, list[tuple[str, ...]]] = {title: [] for title in NEEDS}
    for name in registry.recipe_names():
        spec = registry.get(name)
        parity = cell(written(name).get("parity", ""))
        row = (f"[`{name}`](gallery/{name}.md)", cell(spec.summary), scores(spec), parity, cell(origin(name)))
        rows[need(registry, name)].append(row)
    for title, found in rows.items():
        lines += [f"## {title}", "", *table(("recipe", "summary", "scores", "parity", "source"), found)]
    return "\n".join([*lines, *_systems(registry)])


def _systems(registry: Registry) -> list[str]:
    """The published systems that recipes cover, with the parameters that make a recipe theirs."""
    known = systems()
    rows: dict[str, list[tuple[str, ...]]] = {}
    for name in registry.recipe_names():
        for one in load_recipe(GALLERY / f"{name}.yaml").systems:
            called = ", ".join(calls(registry, name, one.params)) or "nothing"
            params = f" `{json.dumps(one.params, ensure_ascii=False)}`" if one.params else ""
            part = f" ({one.part})" if one.part else ""
            parity = one.parity or written(name).get("parity", "")
            row = (_paper(known[one.system]), cell(f"[`{name}`](gallery/{name}.md){params}{part}"), parity, called)
            rows.setdefault(one.system, []).append(row)
    return [
        "## Published systems",
        "",
        f"These recipes cover {len(rows)} of the {len(known)} published systems that we know of. Several systems can",
        "share a recipe, with the parameters below. If a system rewards several kinds of tasks, a recipe covers",
        "the part in brackets, and [routing](routing.md) selects the recipe for each sample. *Needs* lists what the",
        "provide.",
        "`rewarden recipes coverage` prints this table with filters, and the systems that no recipe covers yet.",
        "",
        *table(("system", "recipe", "parity", "needs"), [row for name in known for row in rows.get(name, [])]),
    ]


def _paper(system: System) -> str:
    link = f", [arXiv {system.arxiv}](https://arxiv.org/abs/{system.arxiv})" if system.arxiv else ""
    return cell(f"{system.name}{link}")


def _verifiers(registry: Registry, names: list[str], folder: str) -> list[str]:
    rows = [
        (f"[`{name}`]({folder}{name}.md)", spec.summary, scores(spec), place(spec))
        for name in names
        for spec in [registry.get(name)]
    ]
    return table(("verifier", "summary", "scores", "runs"), rows)
