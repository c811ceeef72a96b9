"""Routing files: TOML or JSON, checked as a whole before anything is judged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from rewarden.commands.use import RECIPE_SUFFIXES, read_use
from rewarden.errors import InvalidRequest, near
from rewarden.routing.forms import FORMS
from rewarden.routing.route import MATCHED, POLICYS, Route, Routing
from rewarden.types import Use
from rewarden.wire.json import use_from_json

STARTER = "starter"
"""The name of the routes that ship: the data sources of verl, open-instruct and Reasoning360."""

_KEYS = ("use", "params", "reference_form")


def read_routing(source: str | Path) -> Routing:
    """The routes of a file (`*.toml`, `*.json`), or those that ship, by the name `starter`.

    Raises InvalidRequest naming the route and the key at fault, and OSError.
    """
    path = Path(__file__).with_name("starter.toml") if source == STARTER else Path(source)
    if path.suffix not in (".toml", ".json"):
        raise InvalidRequest(f"routing {str(source)!r}: must be a .toml or .json file, or {STARTER!r}")
    text = path.read_text(encoding="utf-8")
    try:
        value = json.loads(text) if path.suffix == ".json" else _toml(text)
    except ValueError as error:
        raise InvalidRequest(f"{source}: is not valid {path.suffix[1:].upper()}: {error}") from None
    return routing_from_json(value, str(source), path.parent)


def routing_from_json(value: Any, source: str = "routing", folder: Path | None = None) -> Routing:
    """Routes from their JSON form. Raises InvalidRequest.

    Recipes in files are found beside `folder`. Without one none is read: the routes may be a stranger's.
    """
    if not isinstance(value, dict) or value.keys() - {"route"} or not isinstance(value.get("route"), list):
        raise InvalidRequest(f"{source}: must contain [[route]] tables and nothing else")
    if not value["route"]:
        raise InvalidRequest(f"{source}: has no [[route]]")
    return Routing(
        tuple(_route(item, f"{source}: route {n}", folder) for n, item in enumerate(value["route"], 1)), source
    )


def _route(value: Any, where: str, folder: Path | None) -> Route:
    if not isinstance(value, dict):
        raise InvalidRequest(f"{where}: must be a table")
    if "use" not in value:
        raise InvalidRequest(f"{where}: has no 'use': name a verifier or recipe")
    form = value.get("reference_form")
    if form is not None and (not isinstance(form, str) or form not in FORMS):
        raise InvalidRequest(f"{where}: unknown reference_form {form!r}; use one of {', '.join(FORMS)}")
    match = {path: _patterns(item, f"{where}: {path}") for path, item in _flat(value, where)}
    use, label = _use(value["use"], value.get("params"), where, folder)
    return Route(use=use, match=match, reference_form=form, label=label)


def _flat(value: Mapping[str, Any], where: str) -> Iterator[tuple[str, Any]]:
    for name, item in value.items():
        if name in _KEYS:
            continue
        root = name.partition(".")[0]
        if root in POLICYS:
            raise InvalidRequest(f"{where}: {name}: a route cannot match the policy's output")
        if root not in MATCHED:
            raise InvalidRequest(f"{where}: unknown key {name!r}{near(root, (*_KEYS, *MATCHED))}")
        yield from _paths(name, item)


def _paths(path: str, item: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(item, dict):  # TOML reads `metadata.kind = …` as a table
        for name, inner in item.items():
            yield from _paths(f"{path}.{name}", inner)
    else:
        yield path, item


def _patterns(value: Any, where: str) -> tuple[str, ...]:
    patterns = value if isinstance(value, list) else [value]
    if not patterns or not all(isinstance(item, str) for item in patterns):
        raise InvalidRequest(f"{where}: must be a file name pattern or a list of them")
    return tuple(patterns)


def _use(value: Any, params: Any, where: str, folder: Path | None) -> tuple[Use, str]:
    try:
        if isinstance(value, str) and value.endswith(RECIPE_SUFFIXES):
            if params is not None:
                raise InvalidRequest("params need a name; a recipe's file has its own")
            if folder is None:
                raise InvalidRequest(f"the recipe's file {value!r} is not read here; put the recipe inline")
            return read_use(str(folder / value)), value
        if isinstance(value, str):
            return use_from_json({"name": value, "params": {} if params is None else params}), value
        if params is not None:
            raise InvalidRequest("give params either in 'use' or next to it")
        use = use_from_json(value)
        return use, use.name or str((use.recipe or {}).get("name", "a recipe"))
    except InvalidRequest as error:
        raise InvalidRequest(f"{where}: {error.message}") from None


def _toml(text: str) -> Any:
    try:
        reader = import_module("tomllib")
    except ImportError:  # Python 3.10
        try:
            reader = import_module("tomli")
        except ImportError:
            raise InvalidRequest("Python 3.10 reads TOML with tomli: pip install 'rewarden[toml]'") from None
    return reader.loads(text)
