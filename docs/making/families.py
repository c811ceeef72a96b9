"""The headings of lists: families of verifiers, and needs of recipes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.recipes.systems import NEEDS as SYSTEM_NEEDS
from rewarden_verifiers.registry import BUILT_IN, GALLERY, Registry
from rewarden_verifiers.schema import parse_params

FAMILIES: Mapping[str, str] = {
    "answer": "Final answers",
    "structure": "Format",
    "execution": "Programs",
    "tasks": "Programs",
    "repositories": "Programs",
    "sql": "Programs",
    "verilog": "Programs",
    "patches": "Patches",
    "lean": "Proofs",
    "smt": "Proofs",
    "rocq": "Proofs",
    "dafny": "Proofs",
    "kernels": "Programs",
    "vision": "Images and video",
    "tools": "Tool calls",
    "generation": "Similarity and retrieval",
    "retrieval": "Similarity and retrieval",
    "archives": "Archives and memories",
    "puzzles": "Puzzles",
    "planning": "Plans and games",
    "games": "Plans and games",
    "environments": "Plans and games",
    "geometry": "Science",
    "graphs": "Graphs and optimisation",
    "optimisation": "Graphs and optimisation",
    "science": "Science",
    "judges": "Judges",
    "models": "Reward models",
    "group": "Groups",
}
"""The family of a verifier, by its package."""

NEEDS: Mapping[str, frozenset[str]] = {
    "With reward models": frozenset({"Reward models"}),
    "With language-model judges": frozenset({"Judges"}),
    "With Lean": frozenset({"Proofs"}),
    "With programs or SQL": frozenset({"Programs"}),
    "By rules alone": frozenset(),
}
"""The need of a recipe: the first that has a family of its verifiers."""

_CALLS = {"judge": "Judges", "model": "Reward models", "models": "Reward models"}
"""Parameters that name a judge or a model: a recipe with one of them calls it, if only through another verifier."""

_CALLED = {"Judges": "judge", "Reward models": "model"}
_IN_SANDBOX = ("dafny", "execution", "kernels", "lean", "repositories", "rocq", "tasks", "verilog")
"""Packages whose verifiers run programs in the sandbox, or in its boxes."""


_ARXIV = re.compile(r"\barXiv (\d{4}\.\d{4,5})")
_REPOSITORY = re.compile(r"(?<![\w/.\]])([A-Za-z][\w-]+/[\w.-]+)(?=,)")


def family(spec: VerifierSpec) -> str:
    """Returns the family of a built-in verifier."""
    return FAMILIES[spec.module.split(".")[1]]


def need(registry: Registry, name: str) -> str:
    """Returns the need of a recipe of the gallery."""
    used = {family(registry.get(part)) for part in uses(name)}
    used |= {_CALLS[param] for param in written(name).get("params", {}) if param in _CALLS}
    return next(title for title, needed in NEEDS.items() if not needed or needed & used)


def calls(registry: Registry, name: str, params: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns what a recipe of the gallery can call with these parameters: a judge, a model, a sandbox."""
    specs = list(_children(registry, registry.get(name), params))
    found = {_CALLED.get(family(spec)) for spec in specs}
    found |= {_CALLED[_CALLS[param]] for param in written(name).get("params", {}) if param in _CALLS}
    if any(spec.module.split(".")[1] in _IN_SANDBOX for spec in specs):
        found.add("sandbox")
    return tuple(called for called in SYSTEM_NEEDS if called in found)


def _children(registry: Registry, spec: VerifierSpec, params: Mapping[str, Any]) -> Iterator[VerifierSpec]:
    """Yields the verifiers that a recipe calls with these parameters, at any depth of recipes."""
    for use in spec.children(parse_params(spec, params)) if spec.children is not None else ():
        child = registry.resolve(use)
        if child.source_text is None:
            yield child
        else:
            yield from _children(registry, child, use.params)


def uses(name: str) -> tuple[str, ...]:
    """Returns the built-in verifiers that a recipe of the gallery names, at any depth."""
    return tuple(dict.fromkeys(part for part in _strings(written(name)["uses"]) if part in BUILT_IN))


@cache
def written(name: str) -> Mapping[str, Any]:
    """Returns a recipe of the gallery as it is written."""
    data: Mapping[str, Any] = yaml.safe_load((GALLERY / f"{name}.yaml").read_text(encoding="utf-8"))
    return data


def origin(name: str) -> str:
    """Returns the sources of a recipe of the gallery in Markdown, with links to its papers and repositories."""
    sources = written(name).get("source", "")
    return "; ".join(map(_linked, sources if isinstance(sources, list) else [str(sources)]))


def _linked(source: str) -> str:
    """Returns a source with links to its papers and to its repository, which comes before the files in it."""
    papers = _ARXIV.sub(r"[arXiv \1](https://arxiv.org/abs/\1)", source)
    return _REPOSITORY.sub(r"[\1](https://github.com/\1)", papers, count=1)


def scores(spec: VerifierSpec) -> str:
    """Returns the range of a verifier's scores, in words."""
    low, high = spec.score_range
    return f"{low:g} to {high:g}" if spec.graded else f"{low:g} or {high:g}"


def _strings(tree: Any) -> Iterator[str]:
    """Yields every string of a recipe's uses, at any depth: a recipe within it names verifiers, too."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, list | dict):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _strings(item)
