"""Judges every case in processes that have loaded no verifier before, and records what that loads and opens.

Each verifier has a process of its own. Recipes share one, since all are judged by the same code and the verifiers that
they call have theirs; those that run programs or proofs share others.

usage: python -m tests.fingerprint.recorder OUTPUT

OUTPUT becomes JSON: by `units`, `loaded` (Python files of ours that were loaded), `opened` (other files of ours that
were opened), `differences` (cases that did not go as expected: then the record is of another path), and `skipped` (why
the machine cannot judge these cases). Under the name "" stands what was loaded before any verifier was. Judges and
models are those that the environment names.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rewarden.client import Client
from rewarden.types import BadSample, Outcome, Sample, Use
from rewarden.wire.json import outcome_to_json, sample_from_json
from rewarden_server.config import load_config
from rewarden_server.engine import failures
from rewarden_server.engine.lanes.judges import JudgeLane
from rewarden_server.engine.lanes.models import ModelLane
from rewarden_server.engine.plan import Planner
from rewarden_server.studies.case_batch import case_batch, judge_cases
from rewarden_server.verifier_resources import resources_of
from rewarden_verifiers.cases import Case, load_cases, mismatches
from rewarden_verifiers.fingerprint.closure import closure
from rewarden_verifiers.models.resources import ModelResources
from rewarden_verifiers.registry import BUILT_IN, Registry
from tests.programs import HARDWARE, LEAN, SANDBOXED, lacking
from tests.verifiers.direct import DirectContext, group_outcomes, outcome_of

ROOTS = tuple(str(Path(__file__).parents[2] / place) for place in ("verifiers/", "client/"))


AT_ONCE = 4
"""Processes that judge at a time: those with sandboxes wait most of it, and so begin first."""


class Recorder:
    """Collects the files of ours that this process loads and opens from now on."""

    def __init__(self) -> None:
        self.loaded: set[str] = set()
        self.opened: set[str] = set()
        sys.addaudithook(self._audit)

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "exec" and args[0].co_name == "<module>":
            self.loaded.add(args[0].co_filename)
        elif event == "open" and isinstance(args[0], str) and not args[0].endswith((".py", ".pyc")):
            self.opened.add(args[0])

    def found(self) -> dict[str, list[str]]:
        """Files of ours."""
        return {
            "loaded": sorted(name for name in self.loaded if name.startswith(ROOTS)),
            "opened": sorted(name for name in self.opened if name.startswith(ROOTS) and "__pycache__" not in name),
        }


class Context(DirectContext):
    """Asks the judges and models that the environment names."""

    judges: JudgeLane
    models: ModelLane

    @property
    def judge(self) -> JudgeLane:
        return self.judges

    @property
    def model(self) -> ModelLane:
        return self.models


def kind_of(name: str) -> str:
    """The kind of cases that a verifier or recipe has: `texts`, `programs` or `proofs`."""
    return "proofs" if name in LEAN else "designs" if name in HARDWARE else "programs" if name in SANDBOXED else "texts"


def units(registry: Registry) -> dict[str, list[str]]:
    """The names that are judged in one process: a verifier, or all recipes of a kind."""
    found = {name: [name] for name in BUILT_IN}
    for name in registry.recipe_names():
        found.setdefault(f"recipes of {kind_of(name)}", []).append(name)
    return found


def judged(names: Sequence[str]) -> dict[str, Any]:
    """The record of one unit."""
    kind = kind_of(names[0])
    if (problem := lacking(kind)) is not None:
        return {"skipped": problem}
    registry = Registry()
    recorder = Recorder()
    cases = [case for name in names for case in load_cases(registry.get(name))]
    differences = _by_an_engine(cases) if kind != "texts" else asyncio.run(_directly(registry, cases))
    return {**recorder.found(), "differences": differences}


def _by_an_engine(cases: Sequence[Case]) -> list[str]:
    with Client("local") as client:
        results = judge_cases(cases, client.verify(case_batch(cases)))
    return [f"{result.case.title}: {difference}" for result in results for difference in result.differences]


async def _directly(registry: Registry, cases: Sequence[Case]) -> list[str]:
    config = load_config(environ=os.environ)
    Context.judges, Context.models = JudgeLane(config.judges), ModelLane(config.models)
    planner = Planner(registry, {**resources_of(config), ModelResources: Context.models.resources})
    differences: list[str] = []
    for case in cases:
        use = Use(name=case.verifier, params=case.params)
        samples = [sample_from_json(sample) for sample in case.samples]
        found = await _outcomes(planner, use, samples)
        for expect, outcome in zip(case.expects, found, strict=True):
            differences += [f"{case.title}: {text}" for text in mismatches(expect, outcome_to_json(outcome))]
    await Context.judges.close()
    await Context.models.close()
    return differences


async def _outcomes(planner: Planner, use: Use, samples: Sequence[Sample | BadSample]) -> list[Outcome]:
    good = [sample for sample in samples if isinstance(sample, Sample)]
    if len(good) == len(samples) and planner.registry.resolve(use).group:
        return [*await group_outcomes(planner, use, good, Context(planner))]
    return [
        failures.bad_sample(sample)
        if isinstance(sample, BadSample)
        else await outcome_of(planner, sample.use or use, sample, Context(planner, sample))
        for sample in samples
    ]


def main(output: Path) -> None:
    """See the module. The processes are forked of this one, which has loaded libraries, and what judges in general."""
    registry = Registry()
    modules = {*(place.partition(":")[0] for place in BUILT_IN.values()), "rewarden_verifiers.recipes.load"}
    libraries = {name for module in modules for name in closure(module).libraries}
    for name in ("rewarden_server.local", *sorted(libraries - sys.stdlib_module_names)):
        with suppress(ImportError):
            importlib.import_module(name)
    before = [module.__file__ for module in sys.modules.values() if getattr(module, "__file__", None)]
    records: dict[str, Any] = {"": sorted(file for file in before if file and file.startswith(ROOTS))}
    running: deque[tuple[str, int, int]] = deque()
    longest_first = sorted(units(registry).items(), key=lambda unit: kind_of(unit[1][0]) == "texts")
    for name, members in longest_first:
        if len(running) == AT_ONCE:
            records.update([ended(*running.popleft())])
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            with os.fdopen(writing, "w") as answer:
                json.dump(judged(members), answer)
            os._exit(0)
        os.close(writing)
        running.append((name, child, reading))
    records.update(ended(*each) for each in running)
    output.write_text(json.dumps(records), encoding="utf-8")


def ended(name: str, child: int, reading: int) -> tuple[str, Any]:
    """The record that a process has made, once it is over."""
    with os.fdopen(reading) as answer:
        record = json.loads(answer.read())
    os.waitpid(child, 0)
    return name, record


if __name__ == "__main__":
    main(Path(sys.argv[1]))
