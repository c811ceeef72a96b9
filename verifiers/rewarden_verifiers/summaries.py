"""Summaries of the built-in verifiers and recipes, from a generated file: nothing is imported to list them.

`make docs` writes `summaries.json` from docstrings, declarations and recipes, in the order of the lists.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, slots=True)
class Coverage:
    """A published system, by its id in `systems.tsv`, whose reward a recipe gives with `params`.

    part: the part of that reward, if several recipes share it. needs: what the recipe calls with these parameters.
    parity: how closely this system was compared, if not like the recipe.
    """

    id: str
    params: Mapping[str, Any] = field(default_factory=dict)
    part: str = ""
    needs: tuple[str, ...] = ()
    parity: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """A line of the lists of verifiers and recipes.

    kind: `verifier` or `recipe`. family: the heading that it is listed under; for a recipe, what it needs. scores: the
    range of scores, in words. requires: the extras that it needs. cases: their number. source, parity: a recipe's
    papers and code in Markdown, and how closely it was compared with them. uses: the built-in verifiers that a recipe
    names. formula: its score in MathML. systems: the published systems that a recipe covers.
    """

    kind: str
    summary: str
    family: str
    scores: str
    cases: int
    requires: tuple[str, ...] = ()
    source: str = ""
    parity: str = ""
    uses: tuple[str, ...] = ()
    formula: str = ""
    systems: tuple[Coverage, ...] = ()


@lru_cache(maxsize=1)
def summaries() -> Mapping[str, Summary]:
    """Returns the summaries of the built-in verifiers and recipes by name, without plug-ins."""
    known = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: _summary(item) for name, item in known.items()}


def _summary(item: Mapping[str, Any]) -> Summary:
    lists = {key: tuple(item.get(key, ())) for key in ("requires", "uses")}
    systems = tuple(Coverage(**{**one, "needs": tuple(one.get("needs", ()))}) for one in item.get("systems", ()))
    return Summary(**{**item, **lists, "systems": systems})
