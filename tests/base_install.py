"""Prints what verifiers do on an installation without any extra: the problems of loading, and what the first case of
each kind lacks. Run with `REWARDEN_TESTS_WITHOUT` (see tests/suite/blocked.py).
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict

import tests.suite.blocked  # noqa: F401 - hides packages from here on
from rewarden.errors import SampleError
from rewarden.types import Use
from rewarden.wire.json import sample_from_json
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.registry import BUILT_IN, Registry
from tests.programs import HARDWARE, LEAN, SANDBOXED
from tests.verifiers.direct import direct_judge


async def main() -> None:
    """See the module."""
    registry = Registry()
    judge = direct_judge(registry)
    problems: dict[str, str] = {}
    lacking: dict[str, list[str]] = defaultdict(list)
    for name in (*BUILT_IN, *registry.recipe_names()):
        try:
            spec = registry.get(name)
        except SampleError as error:
            problems[name] = error.message
            continue
        if name not in BUILT_IN or name in SANDBOXED | HARDWARE | LEAN:
            continue
        first = {case.kind: case for case in reversed(load_cases(spec)) if not case.script}
        for case in first.values():
            samples = [sample_from_json(sample) for sample in case.samples]
            verdicts = await judge(Use(name=name, params=case.params), samples)
            lacking[name] += [one["feedback"] for one in verdicts if one.get("reason") == "missing_dependency"]
    print(json.dumps({"problems": problems, "lacking": lacking}))


if __name__ == "__main__":
    asyncio.run(main())
