"""A recipe's page: its formula as a tree, what each part earns, its curve, and the questions that users ask first.

Every number comes from the recipe: its own formula runs on made-up outcomes of its verifiers (`making.rehearsal`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass

from making import shape, tree
from making.families import calls, origin, scores
from making.markdown import cell, code, table
from making.rehearsal import STATES, TOKENS, Rehearsal, State
from making.verifier import score_of
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.recipes.load import load_recipe
from rewarden_verifiers.recipes.model import Recipe
from rewarden_verifiers.recipes.systems import systems
from rewarden_verifiers.recipes.weaknesses import Weakness, weaknesses
from rewarden_verifiers.registry import BUILT_IN, GALLERY, Registry

FOLDER = "../../verifiers/rewarden_verifiers/recipes/gallery"

_PARITY: Mapping[str, str] = {
    "verified": "run against the published code",
    "reading": "checked by reading the published code",
    "mapped": "written from a description of the reward",
}
_COLUMNS: Mapping[State, str] = {
    "right": "right",
    "wrong": "wrong",
    "no_answer": "no answer",
    "fails": "its verifier fails",
}


@dataclass(frozen=True, slots=True)
class Made:
    """A recipe's page and its drawings. curve: None if the score depends on nothing that can be varied."""

    page: str
    formula: str
    curve: str | None


def make(registry: Registry, name: str) -> Made:
    """Returns the page of a recipe of the gallery, with its drawings."""
    recipe = load_recipe(GALLERY / f"{name}.yaml")
    spec = registry.get(name)
    rehearsal = Rehearsal(recipe, spec, registry)
    curve = shape.shape(rehearsal)
    lines = [
        f"# {name}",
        "",
        cell(recipe.description),
        "",
        f"Scores {scores(spec)}. Source: {cell(origin(name))}. Parity: `{recipe.parity}`, "
        f"{_PARITY.get(recipe.parity or '', '')}. The header of [the recipe's file]({FOLDER}/{name}.yaml) explains the "
        "formula.",
        "",
        "## Formula",
        "",
        f"![The formula of {name} as a tree; the recipe's file has it as text]({name}.tree.svg)",
        "",
        "Green nodes read a verifier, yellow nodes the sample or the training progress; white nodes are numbers and "
        "parameters.",
        "",
        *_earned(recipe, rehearsal),
        *_curve(name, curve),
        *_trainers(name),
        *_needs(registry, recipe, rehearsal),
        *_weak(registry, recipe),
        *_parameters(recipe),
        *_systems(registry, recipe),
        *_cases(registry, name),
    ]
    drawn = None if curve is None else shape.drawing(name, curve)
    return Made("\n".join(lines).rstrip() + "\n", tree.drawing(recipe), drawn)


def _earned(recipe: Recipe, rehearsal: Rehearsal) -> list[str]:
    """The score for each outcome of each part (right, wrong, missing, undecided) while all others are right."""
    rows: list[tuple[str, ...]] = []
    for name in recipe.components:
        judges = ", else ".join(_judge(candidate.name) for candidate in recipe.components[name].candidates)
        cells = (_pays(rehearsal, {name: state}) for state in STATES)
        rows.append((f"`{name}`", judges, *cells))
    every: list[str] = [_pays(rehearsal, dict.fromkeys(recipe.components, state)) for state in STATES]
    if len(recipe.components) > 1:
        rows.append(("all parts", "", *every))
    if all(set(row[2:]) == {"…"} for row in rows):
        return [
            "## What each part earns",
            "",
            "The formula depends on more than whether its verifiers' outcomes are right or wrong; see the "
            "[cases](#cases) for scores.",
            "",
        ]
    return [
        "## What each part earns",
        "",
        "The score for each outcome of a part while all other parts are right, with the default parameters, a response "
        f"of {TOKENS} tokens, and 0 for values that the caller sends. *…*: the score depends on other fields of the "
        "sample; *none*: no score, so trainers retry or drop the sample.",
        "",
        *table(("part", "verifier", *_COLUMNS.values()), rows),
    ]


def _judge(name: object) -> str:
    if isinstance(name, str):
        return f"[`{name}`](../verifiers/{name}.md)" if name in BUILT_IN else f"[`{name}`]({name}.md)"
    return f"by `{getattr(name, 'text', 'a recipe within it')}`"


def _pays(rehearsal: Rehearsal, states: Mapping[str, State | float]) -> str:
    found = rehearsal.run(states)
    if found is None:
        return "…"
    if found.outcome.score is None:
        return "none"
    return f"{found.outcome.score:.4g}" + (" (excluded)" if found.outcome.exclude else "")


def _curve(name: str, curve: shape.Shape | None) -> list[str]:
    if curve is None:
        return []
    return [
        "## Shape",
        "",
        f"The score as a function of the {cell(curve.variable)}, with the default parameters and all other parts "
        "right.",
        "",
        f"![The score of {name} over the {cell(curve.variable)}]({name}.shape.svg)",
        "",
    ]


def _trainers(name: str) -> list[str]:
    return [
        "## In a trainer",
        "",
        "```",
        f"verl      reward.custom_reward_function.path=pkg://rewarden.adapters.verl "
        f"+reward.custom_reward_function.reward_kwargs.use={name}",
        f'TRL       GRPOTrainer(model, reward_funcs=rewarden.adapters.trl.reward("{name}"), …)',
        f"try it    rewarden recipes explain {name} --sample rows.jsonl",
        "```",
        "",
        "See [Trainers](../trainers/README.md) for the complete commands.",
        "",
    ]


def _needs(registry: Registry, recipe: Recipe, rehearsal: Rehearsal) -> list[str]:
    spec = registry.get(recipe.name)
    called = calls(registry, recipe.name, {})
    inputs = ", ".join(f"`{name}`" for name in recipe.inputs) or "only the response"
    lines = [
        "## Needs and costs",
        "",
        f"* Reads {inputs}.",
        f"* Calls {' and '.join(f'a {one}' for one in called)}." if called else "* Calls no judge, model or sandbox.",
    ]
    if spec.requires:
        lines.append(f"* Needs `pip install 'rewarden-server[{','.join(spec.requires)}]'`.")
    runs = [rehearsal.run(dict.fromkeys(recipe.components, state)) for state in STATES]
    asked = [len(found.asked) for found in runs if found is not None]
    if asked:
        # Where a rehearsal ended early, because the recipe reads more, every verifier could run.
        total, least = (len(recipe.components) if None in runs else max(asked)), min(asked)
        some = f"at most {total} verifier{'s' if total > 1 else ''} per sample"
        stop = f", and {least} if the first {'ones decide' if least > 1 else 'one decides'}" if least < total else ""
        lines.append(f"* Runs {some}{stop}.")
    return [*lines, f"* Determinism: {spec.determinism}.", ""]


def _weak(registry: Registry, recipe: Recipe) -> list[str]:
    found = asyncio.run(weaknesses(recipe, registry.get(recipe.name), registry))
    hack = next((case for case in load_cases(registry.get(recipe.name)) if case.kind == "hack"), None)
    known = ""
    if hack is not None:
        known = f" Known attack and its score: {hack.title.rstrip('.')} ({_expected(hack.expects[0])})."
    return ["## Weaknesses", "", cell(_said(found) + known), ""]


def _said(found: list[Weakness] | None) -> str:
    if found is None:
        return (
            "The formula depends on more than right or wrong, so it was not searched for rewards without a right "
            "answer."
        )
    if not found:
        return (
            "No combination of verifier outcomes earns more than half of the reward without a right answer. A wrong "
            "answer that a verifier accepts still earns the reward."
        )
    return " ".join(f"It {one.says}." for one in found)


def _parameters(recipe: Recipe) -> list[str]:
    rows: list[tuple[str, ...]] = [
        (f"`{one.name}`", code(one.default, 60), cell(one.description)) for one in recipe.params.values()
    ]
    return ["## Parameters", "", *table(("parameter", "default", "meaning"), rows)] if rows else []


def _systems(registry: Registry, recipe: Recipe) -> list[str]:
    known = systems()
    rows: list[tuple[str, ...]] = []
    for one in recipe.systems:
        system = known[one.system]
        paper = f"[arXiv {system.arxiv}](https://arxiv.org/abs/{system.arxiv})" if system.arxiv else ""
        params = code(json.dumps(one.params, ensure_ascii=False)) if one.params else "defaults"
        needs = ", ".join(calls(registry, recipe.name, one.params)) or "nothing"
        part = f" ({one.part})" if one.part else ""
        rows.append((cell(f"{system.name}{part}"), paper, params, one.parity or recipe.parity or "", needs))
    if not rows:
        return []
    return ["## Published systems", "", *table(("system", "paper", "parameters", "parity", "needs"), rows)]


def _cases(registry: Registry, name: str) -> list[str]:
    rows: list[tuple[str, ...]] = [
        (case.kind, cell(case.title), cell(", ".join(map(_expected, case.expects))))
        for case in load_cases(registry.get(name))
    ]
    return [
        "## Cases",
        "",
        "The scores were worked out by hand, and each case is a test.",
        "",
        *table(("kind", "case", "score"), rows),
    ]


def _expected(expects: Mapping[str, object]) -> str:
    score = expects.get("score")
    if isinstance(score, (int, float, Mapping)):
        return score_of(score)
    return str(expects.get("reason") or expects.get("status") or "see the file")
