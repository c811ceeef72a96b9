"""One-line summaries of the built-in verifiers and recipes, from a generated file: nothing is imported to list them.

`summaries.json` is written by `make docs` from the first lines of the docstrings, and checked by its tests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rewarden_verifiers.registry import BUILT_IN, Registry

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, slots=True)
class Summary:
    """`kind` is `verifier` or `recipe`; `summary` one line."""

    kind: str
    summary: str


@lru_cache(maxsize=1)
def summaries() -> Mapping[str, Summary]:
    """The built-in ones by name; plug-ins are not among them."""
    return {name: Summary(**item) for name, item in json.loads(FILE.read_text(encoding="utf-8")).items()}


def generate(registry: Registry) -> str:
    """Returns what the file must hold. Imports every verifier."""
    built_in = [*BUILT_IN, *(name for name in registry.recipe_names() if registry.plugin_of(name) is None)]
    made = {
        name: {"kind": "verifier" if name in BUILT_IN else "recipe", "summary": registry.get(name).summary}
        for name in built_in
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"
