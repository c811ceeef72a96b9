"""`rewarden recipes diff`: the fields in which two recipes differ."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rewarden.commands.terminal import say
from rewarden.errors import RewardenError
from rewarden_verifiers.recipes.load import load_recipe, recipe_spec
from rewarden_verifiers.registry import Registry

_MISSING = object()


def diff(one: str, other: str, *, as_json: bool) -> int:
    """Prints the fields that decide a verdict and differ. one, other: a recipe's name or file. Returns 0 if none does,
    1 if some do, 2 if a recipe cannot be used."""
    registry = Registry()
    try:
        left, right = (_fields(name, registry) for name in (one, other))
    except RewardenError as error:
        say(f"rewarden recipes: {error}", file=sys.stderr)
        return 2
    found = list(_differences(left, right, ""))
    if as_json:
        told = [
            {"field": path, **{side: value for side, value in (("a", a), ("b", b)) if value is not _MISSING}}
            for path, a, b in found
        ]
        say(json.dumps(told, indent=1, ensure_ascii=False))
        return int(bool(found))
    for path, a, b in found:
        say(path)
        for sign, value in (("-", a), ("+", b)):
            if value is not _MISSING:
                say(f"   {sign} {json.dumps(value, ensure_ascii=False)}")
    if not found:
        say("the recipes judge alike")
    return int(bool(found))


def _fields(name: str, registry: Registry) -> dict[str, Any]:
    path = Path(name) if name.endswith((".yaml", ".yml", ".json")) else registry.recipe_path(name)
    recipe = load_recipe(path)
    recipe_spec(recipe, registry)
    fields: dict[str, Any] = json.loads(recipe.canonical)
    return {key: value for key, value in fields.items() if key not in ("name", "version")}


def _differences(a: Any, b: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            yield from _differences(a.get(key, _MISSING), b.get(key, _MISSING), f"{path}.{key}" if path else key)
    elif isinstance(a, list) and isinstance(b, list) and any(isinstance(item, (dict, list)) for item in [*a, *b]):
        for place in range(max(len(a), len(b))):
            one, other = (side[place] if place < len(side) else _MISSING for side in (a, b))
            yield from _differences(one, other, f"{path}[{place}]")
    elif a != b:
        yield path, a, b
