"""The summaries of all verifiers and recipes, for lists that import none of them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from making.families import FAMILIES, NEEDS, calls, family, need, origin, scores, uses, written
from rewarden_server.pages.formula import score_drawn
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.recipes.load import load_recipe
from rewarden_verifiers.registry import BUILT_IN, GALLERY, Registry
from rewarden_verifiers.summaries import Coverage, Summary


def generate(registry: Registry) -> str:
    """Returns the content of `summaries.json`."""
    recipes = [name for name in registry.recipe_names() if registry.plugin_of(name) is None]
    made = {name: _verifier(registry, name) for name in BUILT_IN} | {name: _recipe(registry, name) for name in recipes}
    headings = [*dict.fromkeys(FAMILIES.values()), *reversed(NEEDS)]
    ordered = sorted(made, key=lambda name: headings.index(made[name].family))
    content = {name: _filled(asdict(made[name])) for name in ordered}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _filled(item: dict[str, Any]) -> dict[str, Any]:
    """Returns an item without its empty fields; so are those of the systems in it."""
    kept = {key: value for key, value in item.items() if value}
    return {**kept, "systems": [_filled(each) for each in kept["systems"]]} if "systems" in kept else kept


def _verifier(registry: Registry, name: str) -> Summary:
    spec = registry.get(name)
    return Summary("verifier", spec.summary, family(spec), scores(spec), len(load_cases(spec)), spec.requires)


def _recipe(registry: Registry, name: str) -> Summary:
    spec = registry.get(name)
    recipe = load_recipe(GALLERY / f"{name}.yaml")
    return Summary(
        kind="recipe",
        summary=spec.summary,
        family=need(registry, name),
        scores=scores(spec),
        cases=len(load_cases(spec)),
        requires=spec.requires,
        source=origin(name),
        parity=written(name).get("parity", ""),
        uses=uses(name),
        formula=score_drawn(recipe),
        systems=tuple(
            Coverage(one.system, one.params, one.part, calls(registry, name, one.params), one.parity or "")
            for one in recipe.systems
        ),
    )
