"""Cases as one batch: the examples of any number of verifiers, judged together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rewarden.types import BadSample, Batch, BatchResult, Sample, Use
from rewarden.wire.json import sample_from_json, verdict_to_json
from rewarden_server.engine.engine import Engine
from rewarden_verifiers.cases import Case, mismatches


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The end of one case: `differences` is empty when it went as expected."""

    case: Case
    differences: tuple[str, ...]


async def judged(engine: Engine, cases: Sequence[Case], source: str) -> list[CaseResult]:
    """The result of each case, judged in an engine that runs."""
    return judge_cases(cases, await engine.verify(case_batch(cases), source=source))


def case_batch(cases: Sequence[Case]) -> Batch:
    """The samples of all cases in order. Groups of different cases stay apart; a case's own `use` is kept."""
    samples: list[Sample | BadSample] = []
    for number, case in enumerate(cases):
        for value in case.samples:
            sample = sample_from_json(value)
            if isinstance(sample, Sample):
                group = None if sample.group is None else f"{number}:{sample.group}"
                use = sample.use or Use(name=case.verifier, params=case.params)
                sample = replace(sample, group=group, use=use)
            samples.append(sample)
    return Batch(samples=samples)


def judge_cases(cases: Sequence[Case], result: BatchResult) -> list[CaseResult]:
    """The verdicts of `case_batch(cases)` beside what was expected."""
    found: list[CaseResult] = []
    verdicts = iter(result.verdicts)
    for case in cases:
        differences: list[str] = []
        for place, expect in enumerate(case.expects):
            where = f"sample {place}: " if len(case.expects) > 1 else ""
            differences += [where + text for text in mismatches(expect, verdict_to_json(next(verdicts)))]
        found.append(CaseResult(case, tuple(differences)))
    return found
