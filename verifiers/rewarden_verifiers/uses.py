"""A use as a parameter: names the other verifier that a verifier builds on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewarden.errors import InvalidParams
from rewarden.types import Use

_DEEPEST = 64
"""Maximum nesting of a use. A reference that is a text can contain JSON of any depth, which the request's own limits do
not see.
"""

UseLike = str | dict[str, Any]
"""A name, `{"name", "params"}`, or `{"recipe": {…}}`, as in a request."""


def parse_use(value: UseLike, path: str = "params.use") -> Use:
    """The use named by a parameter. Raises InvalidParams with the parameter's path."""
    if isinstance(value, str):
        return Use(name=value)
    if not _shallow(value):
        raise InvalidParams(f"{path} is nested more than {_DEEPEST} deep", path=path)
    name, params, recipe = value.get("name"), value.get("params", {}), value.get("recipe")
    for key in value:
        if key not in ("name", "params", "recipe"):
            raise InvalidParams(f"{path} has no field {key!r}; it has name, params, recipe", path=f"{path}.{key}")
    if not isinstance(params, Mapping):
        raise InvalidParams(f"{path}.params must be an object", path=f"{path}.params")
    if recipe is None and isinstance(name, str):
        return Use(name=name, params=params)
    if name is None and isinstance(recipe, Mapping):
        return Use(recipe=recipe, params=params)
    raise InvalidParams(f"{path} needs a name or a recipe", path=path)


def _shallow(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, (Mapping, list, tuple))
            for inner in (outer.values() if isinstance(outer, Mapping) else outer)
        ]
        if not level:
            return True
    return False
