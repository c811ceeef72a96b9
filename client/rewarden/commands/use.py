"""Reads a use from the command line, in the same forms for every command."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rewarden.errors import InvalidRequest, RewardenError
from rewarden.types import Use
from rewarden.wire.json import loads, use_from_json

HELP = 'a name, JSON such as \'{"name": …, "params": {…}}\', or a recipe\'s .yaml or .json file'

RECIPE_SUFFIXES = (".yaml", ".yml", ".json")

_FUNCTION = re.compile(r".+\.py:[^\W\d]\w*")


def read_use(text: str, params: str | None = None) -> Use:
    """Returns the use that `text` names, with `params` (a JSON object) if given.

    Raises InvalidRequest, and OSError for a recipe's file.
    """
    value: Any
    if text.lstrip().startswith("{"):
        value = read_json("--use", text)
        if params is not None:
            raise InvalidRequest('--params needs --use NAME; in JSON, give them as {"params": …}')
    else:
        value = {"recipe": _recipe(text)} if text.endswith(RECIPE_SUFFIXES) else {"name": text}
        if params is not None:
            value["params"] = read_json("--params", params)
    return use_from_json(value)


def functions_of(uses: Iterable[Use]) -> list[str]:
    """Returns the functions in files, `FILE.py:FUNCTION`, that uses name. Only an engine in this process loads them."""
    return list(dict.fromkeys(use.name for use in uses if use.name is not None and _FUNCTION.fullmatch(use.name)))


def read_json(option: str, text: str) -> Any:
    """Returns the value of an option that is JSON. Raises InvalidRequest, naming the option."""
    try:
        return loads(text)
    except RewardenError as error:
        raise InvalidRequest(f"{option}: {error.message}") from None


def _recipe(path: str) -> Any:
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".json"):
        return loads(data)
    try:
        import yaml
    except ImportError:
        raise InvalidRequest("recipes in YAML need PyYAML: pip install pyyaml (or give the recipe as .json)") from None
    try:
        return yaml.safe_load(data)
    except yaml.YAMLError as error:
        raise InvalidRequest(f"{path} is not valid YAML: {error}") from None
