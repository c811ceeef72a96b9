"""The contents of the verifiers' pages, and the gallery of recipes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from making.markdown import cell, table
from making.verifier import FAMILIES, family, place, scores
from rewarden_verifiers.registry import BUILT_IN, GALLERY, Registry

FILTER = '<div class="rewarden-filter"></div>'
"""The place where the site's script puts a field that filters the tables below it."""

_NEEDS: Mapping[str, frozenset[str]] = {
    "With reward models": frozenset({"Reward models"}),
    "With language-model judges": frozenset({"Judges"}),
    "With Lean": frozenset({"Proofs"}),
    "With programs or SQL": frozenset({"Programs"}),
    "By rules alone": frozenset(),
}
"""The sections of the gallery: the first of which a recipe uses a family."""

_ARXIV = re.compile(r"\barXiv (\d{4}\.\d{4,5})")
_REPOSITORY = re.compile(r"(?<![\w/.\]])([A-Za-z][\w-]+/[\w.-]+)(?=,)")


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
    rows: dict[str, list[tuple[str, ...]]] = {title: [] for title in _NEEDS}
    for name in registry.recipe_names():
        spec = registry.get(name)
        written = yaml.safe_load((GALLERY / f"{name}.yaml").read_text(encoding="utf-8"))
        sources = written.get("source", "")
        source = "; ".join(sources) if isinstance(sources, list) else str(sources)
        row = (f"`{name}`", cell(spec.summary), scores(spec), cell(written.get("parity", "")), _linked(cell(source)))
        families = {family(registry.get(part)) for part in _strings(written["uses"]) if part in BUILT_IN}
        rows[next(title for title, needed in _NEEDS.items() if not needed or needed & families)].append(row)
    for title, found in rows.items():
        lines += [f"## {title}", "", *table(("recipe", "summary", "scores", "parity", "source"), found)]
    return "\n".join(lines)


def _strings(tree: Any) -> Iterator[str]:
    """Yields every string of a recipe's uses, at any depth: a recipe within it names verifiers, too."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, list | dict):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _strings(item)


def _linked(source: str) -> str:
    """A source with links to its papers and repositories."""
    papers = _ARXIV.sub(r"[arXiv \1](https://arxiv.org/abs/\1)", source)
    return _REPOSITORY.sub(r"[\1](https://github.com/\1)", papers)


def _verifiers(registry: Registry, names: list[str], folder: str) -> list[str]:
    rows = [
        (f"[`{name}`]({folder}{name}.md)", spec.summary, scores(spec), place(spec))
        for name in names
        for spec in [registry.get(name)]
    ]
    return table(("verifier", "summary", "scores", "runs"), rows)
