"""The rate at which a recipe is judged whose cost is its formula: through the whole engine, and by its parts alone.

Load: 10,000 samples of a recipe with one cheap verifier (`text`) and a formula over signals, in batches of three sizes.
The event loop and the garbage collector are those of `rewarden serve`. Rates are by CPU time, because other load on the
machine hardly changes it; the engine's workers are idle meanwhile.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable

import uvloop

from benchmarks.report import Report
from rewarden.types import Batch, Outcome, Sample, Use
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.outcome import right
from rewarden_verifiers.recipes.evaluate import Run, Shared
from rewarden_verifiers.recipes.load import parse_recipe, recipe_spec
from rewarden_verifiers.recipes.model import Candidate
from rewarden_verifiers.registry import Registry

_SAMPLES, _ROUNDS = 10_000, 5
_RECIPE = """
name: formula_only
version: "1"
description: A weighted sum of an answer's score and two signals.
range: [-1, 3]
params:
  weight: {default: 0.5, min: 0}
uses:
  answer: {name: text}
score: >-
  answer.score + params.weight * sample.signals.a + min(1.0, sample.signals.b) - (sample.signals.a > 0.5 ? 0.1 : 0.0)
"""


def samples() -> list[Sample]:
    """Returns samples with different signals; half of the answers are right."""
    return [
        Sample(
            id=str(number),
            response=f"<answer>{'Paris' if number % 2 else 'London'}</answer>",
            reference="Paris",
            signals={"a": number % 100 / 100, "b": number % 7 / 3.5},
        )
        for number in range(_SAMPLES)
    ]


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report(f"recipes: {_SAMPLES:,} samples of a recipe that is a formula over one cheap verifier")
    uvloop.run(_run(report))
    return report.broken


async def _run(report: Report) -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    recipe = parse_recipe(_RECIPE)
    registry = Registry()
    spec = recipe_spec(recipe, registry)
    registry.add(spec, recipe.name)
    engine = Engine(registry, EngineSettings(workers=1))
    await engine.start()
    load = samples()

    async def alone() -> None:
        shared = Shared(recipe, spec.params_type() if spec.params_type is not None else None, None)
        for sample in load:
            await Run(shared, sample, _right).outcome()

    async def judged(use: str, size: int) -> None:
        for first in range(0, len(load), size):
            await engine.verify(Batch(samples=load[first : first + size], use=Use(name=use)))

    report.figure("the evaluator alone, its verifier known", await _rate(alone), "/s")
    report.figure("`text` alone, through the engine", await _rate(lambda: judged("text", 1000)), "/s")
    for size in (256, 1000, _SAMPLES):
        rate = await _rate(lambda size=size: judged(recipe.name, size))  # type: ignore[misc]
        report.figure(f"the recipe through the engine, {size:,} a batch", rate, "/s", least=20_000)
    await engine.close()


async def _right(candidate: Candidate, use: Use) -> Outcome:
    return right()


async def _rate(judge: Callable[[], Awaitable[None]]) -> float:
    """Returns the best rate of several rounds, in samples a second of CPU time."""
    best = 0.0
    for _ in range(_ROUNDS):
        start = time.process_time()
        await judge()
        best = max(best, _SAMPLES / (time.process_time() - start))
    return best
