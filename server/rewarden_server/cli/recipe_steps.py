"""`rewarden recipes explain`: judges samples by a recipe, and shows how each score came about."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rewarden.commands.data_file import read_rows
from rewarden.commands.terminal import one_line, say
from rewarden.errors import RewardenError
from rewarden.types import BadSample, Batch, Progress, Sample, Use, Verdict
from rewarden.wire.json import sample_from_json, verdict_to_json
from rewarden_server.config import ConfigError
from rewarden_server.configured import configured_engine
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.recipes.load import load_recipe, recipe_spec
from rewarden_verifiers.recipes.step import Step
from rewarden_verifiers.registry import Registry

MOST = 1000
"""Samples of a file that are explained; a file of rollouts is for `rewarden rescore`."""

_NAME = "recipe that is explained"
"""No recipe can have this name."""


@dataclass
class _Explained:
    sample: Sample | BadSample
    steps: list[Step] = field(default_factory=list)
    verdict: Verdict | None = None


def explain(recipe: str, file: Path, params: dict[str, Any], progress: Progress | None, *, as_json: bool) -> int:
    """Prints every step of each sample. recipe: a name, or a recipe's file. Returns 0; 2 if the recipe, its parameters
    or the samples cannot be used."""
    registry = Registry()
    explained: dict[str, _Explained] = {}

    def watch(sample: Sample, step: Step) -> None:
        explained[sample.id or ""].steps.append(step)

    try:
        samples = [sample_from_json(row) for row in read_rows(file, MOST)]
        path = Path(recipe) if recipe.endswith((".yaml", ".yml", ".json")) else registry.recipe_path(recipe)
        spec = recipe_spec(load_recipe(path), registry, on_step=watch)
        registry.add(spec, _NAME)
        engine = configured_engine(registry, EngineSettings(workers=1, cache=False))
    except (OSError, ConfigError, RewardenError) as error:
        say(f"rewarden recipes: {error}", file=sys.stderr)
        return 2
    explained |= {str(number): _Explained(sample) for number, sample in enumerate(samples, start=1)}
    batch = Batch(
        # By number: ids may be missing, or stand twice.
        samples=[_numbered(one.sample, number) for number, one in explained.items()],
        use=Use(name=_NAME, params=params),
        progress=progress,
    )
    try:
        verdicts = asyncio.run(_judged(engine, batch))
    except RewardenError as error:
        say(f"rewarden recipes: {error}", file=sys.stderr)
        return 2
    for one, verdict in zip(explained.values(), verdicts, strict=True):
        one.verdict = verdict
    for number, one in explained.items():
        (_say_json if as_json else _say)(number, one)
    return 0


def _numbered(sample: Sample | BadSample, number: str) -> Sample | BadSample:
    return replace(sample, id=number) if isinstance(sample, BadSample) else replace(sample, id=number, use=None)


async def _judged(engine: Engine, batch: Batch) -> list[Verdict]:
    await engine.start()
    try:
        return list((await engine.verify(batch, source="explain")).verdicts)
    finally:
        await engine.close()


def _say(number: str, one: _Explained) -> None:
    verdict = one.verdict
    assert verdict is not None
    name = f" ({one_line(one.sample.id)})" if one.sample.id else ""
    passed = {True: ", passed", False: ", not passed", None: ""}[verdict.passed]
    score = "no score" if verdict.score is None else f"{verdict.score:g}"
    reason = f", {verdict.reason}" if verdict.reason else ""
    say(f"sample {number}{name}: {score}{passed}{reason}")
    width = max((len(step.where) for step in one.steps), default=0)
    for step in one.steps:
        # A formula's own line ends are joined; those in the values that it read are escaped.
        joined = " ".join(line.strip() for line in _line(step).strip().split("\n"))
        say(f"   {step.where:{width}}  {one_line(joined)}")
    if verdict.score is None and verdict.feedback:
        say(f"   {one_line(verdict.feedback)}")


def _line(step: Step) -> str:
    value = {None: "no score", True: "true", False: "false"}.get(step.value) if not _number(step.value) else None
    shown = value or (f"{step.value:g}" if _number(step.value) else str(step.value))
    middle = "" if step.filled in (step.text, shown) else f" = {step.filled}"
    if step.where.startswith(("uses.", "shaping.")):
        return f"{step.text}: {step.filled} → {shown}"
    return f"{step.text}{middle} → {shown}" if step.text != shown else shown


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _say_json(number: str, one: _Explained) -> None:
    assert one.verdict is not None
    steps = [{"where": step.where, "text": step.text, "filled": step.filled, "value": step.value} for step in one.steps]
    verdict = verdict_to_json(replace(one.verdict, id=one.sample.id))
    say(json.dumps({"sample": int(number), "steps": steps, "verdict": verdict}, ensure_ascii=False))
