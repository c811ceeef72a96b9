"""The parameter `extraction` of the verifiers of answers, changed within a use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rewarden.types import Use

_READERS = ("math", "choice", "number", "label", "text", "time")
"""Verifiers that look for an answer by one ladder; `answer` asks them."""

_BESIDE = frozenset((*_READERS, "answer", "format", "length", "language", "repetition"))
"""Verifiers of a recipe that cost nothing: another reading is tried unasked, and must ask no judge."""


def read_by(use: Use, extraction: str) -> Use | None:
    """The use with another `extraction` for all that reads an answer in it: a verifier of answers, `answer` (which then
    has no `fallback`), or those within a recipe that is in the use. None where nothing in it does, and for a recipe
    that asks others than the cheapest verifiers.
    """
    if use.name == "answer":
        given = use.params.get("params")
        branches = dict(given) if isinstance(given, Mapping) else {}
        read = {name: {**branches.get(name, {}), "extraction": extraction} for name in _READERS}
        kept = {name: value for name, value in use.params.items() if name != "fallback"}
        return replace(use, params={**kept, "params": {**branches, **read}})
    if use.name in _READERS:
        return replace(use, params={**use.params, "extraction": extraction})
    uses = use.recipe.get("uses") if use.recipe is not None else None
    if not isinstance(uses, Mapping) or use.recipe is None or not all(map(_is_cheap, uses.values())):
        return None
    changed = {name: _within(value, extraction) for name, value in uses.items()}
    return None if changed == uses else replace(use, recipe={**use.recipe, "uses": changed})


def _is_cheap(value: Any) -> bool:
    return (value if isinstance(value, str) else value.get("name") if isinstance(value, Mapping) else None) in _BESIDE


def _within(value: str | Mapping[str, Any], extraction: str) -> Any:
    """A use of a recipe, as it stands there: a name, or an object; unchanged where it reads no answer."""
    if isinstance(value, str):
        changed = read_by(Use(name=value), extraction)
        return value if changed is None else {"name": changed.name, "params": dict(changed.params)}
    params = value.get("params")
    changed = read_by(Use(name=value["name"], params=params if isinstance(params, Mapping) else {}), extraction)
    return value if changed is None else {**value, "params": dict(changed.params)}
