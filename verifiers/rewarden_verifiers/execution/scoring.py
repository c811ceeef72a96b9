"""From the tests' ends to one score."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from rewarden.errors import SampleError
from rewarden_verifiers.execution.results import Result, Word

Scoring = Literal["all", "fraction", "weighted", "groups", "minimum"]


def score_of(scoring: Scoring, results: Sequence[Result]) -> float:
    """The score from 0 to 1.

    all: 1 where every test is AC. fraction: the mean of the tests' credits. weighted: the same, by weight. groups: the
    weight of the groups of which every test is AC, by the weight of all; a test without a group is one of its own.
    minimum: the least credit. What was skipped earns nothing. Every one is 1 exactly where all tests that weigh
    anything are AC (`all` and `minimum`: all tests).
    """
    if all(result.verdict == "AC" for result in results):
        return 1.0
    return _SCORES[scoring](results)


def _weighted(results: Sequence[Result]) -> float:
    # `read_reference` holds that the suite's weights are not all 0; those of its first tests may be.
    whole = math.fsum(result.trial.test.weight for result in results)
    return math.fsum(result.credit * result.trial.test.weight for result in results) / whole if whole else 0.0


def _groups(results: Sequence[Result]) -> float:
    passed = groups_passed(results)
    whole = math.fsum(result.trial.test.weight for result in results)
    earned = math.fsum(result.trial.test.weight for result in results if passed[group_of(result)])
    return earned / whole if whole else 0.0


_SCORES: Mapping[Scoring, Callable[[Sequence[Result]], float]] = {
    "all": lambda results: 0.0,
    "fraction": lambda results: math.fsum(result.credit for result in results) / len(results),
    "weighted": _weighted,
    "groups": _groups,
    "minimum": lambda results: min(result.credit for result in results),
}


def group_of(result: Result) -> tuple[str | None, int]:
    """Returns what a test stands and falls with."""
    group = result.trial.test.group
    return (group, -1) if group is not None else (None, result.trial.place)


def groups_passed(results: Sequence[Result]) -> dict[tuple[str | None, int], bool]:
    """For each group whether every test of it is AC."""
    passed: dict[tuple[str | None, int], bool] = {}
    for result in results:
        name = group_of(result)
        passed[name] = passed.get(name, True) and result.verdict == "AC"
    return passed


def undecided_by(scoring: Scoring, results: Sequence[Result]) -> SampleError | None:
    """The error of ours that leaves the score open, or None where it would be the same whatever those tests had said.

    Raising it is right: a failure of ours is never a 0, and where another test has failed already it changes nothing.
    """
    errors = [result.error for result in results if result.error is not None]
    if not errors:
        return None
    best = [replace(result, verdict="AC", credit=1.0) if result.verdict == "IE" else result for result in results]
    return None if score_of(scoring, best) == score_of(scoring, results) else errors[0]


def reason(results: Sequence[Result]) -> str:
    """The reason of the first test that failed; `skipped` where none did."""
    return next((result.why for result in results if result.why is not None), "skipped")


def overall(results: Sequence[Result]) -> Word:
    """The verdict of the first test that failed; AC where none did."""
    return next((result.verdict for result in results if result.verdict not in ("AC", "IE", "SK")), "AC")
