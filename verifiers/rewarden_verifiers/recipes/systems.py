"""Published systems that are trained with rewards, from `systems.tsv`, and the recipes of the gallery that cover them.

Nothing else is loaded for this: `make docs` writes which recipe covers which system to the summaries.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rewarden_verifiers.summaries import Coverage, summaries

FILE = Path(__file__).with_suffix(".tsv")

NEEDS = ("judge", "model", "sandbox", "environment", "trainer", "data")
"""Resources of a reward: a language-model judge, a reward model, a sandbox, an environment that the policy acts in,
values that only the trainer has, and data beside the samples."""


@dataclass(frozen=True, slots=True)
class System:
    """A published system. arxiv: the number of its paper, if known. needs: the resources of its reward, of `NEEDS`.

    state: `covered` by recipes, `open` (no recipe covers it yet), or the reason why a reward server cannot host it.
    unverified: why what is not verified cannot be compared with published code, such as `no public reward code found`;
        or empty.
    """

    id: str
    name: str
    title: str
    arxiv: str
    domain: str
    needs: tuple[str, ...]
    state: str
    unverified: str = ""


@dataclass(frozen=True, slots=True)
class Covering:
    """A recipe that covers a system, wholly or in part. needs: those of the recipe, and those of the system outside the
    server."""

    recipe: str
    parity: str
    coverage: Coverage
    needs: tuple[str, ...]


@lru_cache(maxsize=1)
def systems() -> Mapping[str, System]:
    """Returns all systems by id, in the order of the file."""
    with FILE.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE, restval="")
        return {row["id"]: System(needs=tuple(row.pop("needs").split()), **row) for row in rows}


def coverings() -> Mapping[str, list[Covering]]:
    """Returns the recipes that cover each system, by its id."""
    known = systems()
    found: dict[str, list[Covering]] = {system: [] for system in known}
    for recipe, summary in summaries().items():
        for coverage in summary.systems:
            outside = [need for need in known[coverage.id].needs if need in ("environment", "trainer", "data")]
            needs = {*coverage.needs, *outside}
            ordered = tuple(need for need in NEEDS if need in needs)
            found[coverage.id].append(Covering(recipe, coverage.parity or summary.parity, coverage, ordered))
    return found
