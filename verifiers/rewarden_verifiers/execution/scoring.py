"""Combines the results of tests into one score."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from rewarden.errors import SampleError
from rewarden_verifiers.execution.results import Result, Word

Scoring = Literal["all", "fraction", "weighted", "groups", "minimum"]


def score_of(scoring: Scoring, results: Sequence[Result]) -> float:
    """Returns the score from 0 to 1.

    all: 1 if every test is AC. fraction: the mean of the tests' credits. weighted: the same, by weight. groups: the
    points earned by the groups, divided by the total; a test without a group is a group of its own. minimum: the lowest
    credit. Skipped tests earn nothing, and neither do tests of a group that requires a failed group. Each scoring gives
    1 if and only if all tests with a positive weight are AC (`all` and `minimum`: all tests).
    """
    if all(result.verdict == "AC" for result in results):
        return 1.0
    return _SCORES[scoring](_withheld(results))


def _weighted(results: Sequence[Result]) -> float:
    # `read_reference` ensures that the suite's weights are not all 0, but those of its first tests can be.
    whole = math.fsum(result.trial.test.weight for result in results)
    return math.fsum(result.credit * result.trial.test.weight for result in results) / whole if whole else 0.0


def _groups(results: Sequence[Result]) -> float:
    earned = earnings(results).values()
    whole = math.fsum(worth for _, worth in earned)
    return math.fsum(points for points, _ in earned) / whole if whole else 0.0


def _withheld(results: Sequence[Result]) -> Sequence[Result]:
    """Returns the results, with tests skipped if their group requires one that did not pass."""
    requires = {result.trial.test.group: result.trial.rules.requires for result in results}
    if not any(requires.values()):
        return results
    # Groups that the option `first` left out of the run count as passed.
    passed = {name: won for (name, _), won in groups_passed(results).items() if name is not None}
    waves = {result.trial.test.group: result.trial.wave for result in results}
    for name in sorted(passed, key=lambda name: waves[name]):
        passed[name] = passed[name] and all(passed.get(other, True) for other in requires[name])
    return [
        result
        if all(passed.get(other, True) for other in result.trial.rules.requires)
        else replace(result, verdict="SK", credit=0.0, error=None)
        for result in results
    ]


_SCORES: Mapping[Scoring, Callable[[Sequence[Result]], float]] = {
    "all": lambda results: 0.0,
    "fraction": lambda results: math.fsum(result.credit for result in results) / len(results),
    "weighted": _weighted,
    "groups": _groups,
    "minimum": lambda results: min(result.credit for result in results),
}


def group_of(result: Result) -> tuple[str | None, int]:
    """Returns the key of a test's group; a test without a group gets its own."""
    group = result.trial.test.group
    return (group, -1) if group is not None else (None, result.trial.place)


def earnings(results: Sequence[Result]) -> dict[tuple[str | None, int], tuple[float, float]]:
    """Returns the points that each group earns and its total points."""
    results = _withheld(results)
    groups: dict[tuple[str | None, int], list[Result]] = {}
    for result in results:
        groups.setdefault(group_of(result), []).append(result)
    return {name: _earned(members) for name, members in groups.items()}


def _earned(members: Sequence[Result]) -> tuple[float, float]:
    rules = members[0].trial.rules
    weight = math.fsum(result.trial.test.weight for result in members)
    worth = weight if rules.points is None else rules.points
    if all(result.verdict == "AC" for result in members):
        return worth, worth
    if rules.score == "sum":
        return worth * _weighted(members), worth
    return worth * (_SCORES["minimum"](members) if rules.score == "minimum" else 0.0), worth


def groups_passed(results: Sequence[Result]) -> dict[tuple[str | None, int], bool]:
    """Returns whether all tests of each group are AC."""
    passed: dict[tuple[str | None, int], bool] = {}
    for result in results:
        name = group_of(result)
        passed[name] = passed.get(name, True) and result.verdict == "AC"
    return passed


def undecided_by(scoring: Scoring, results: Sequence[Result]) -> SampleError | None:
    """Returns the error that leaves the score undecided, or None if the tests with errors cannot change the score.

    The caller raises it: a failure of ours is never a 0. If another test has already failed, it changes nothing.
    """
    errors = [result.error for result in results if result.error is not None]
    if not errors:
        return None
    best = [replace(result, verdict="AC", credit=1.0) if result.verdict == "IE" else result for result in results]
    return None if score_of(scoring, best) == score_of(scoring, results) else errors[0]


def reason(results: Sequence[Result]) -> str:
    """Returns the reason of the first failed test, or `skipped` if none failed."""
    return next((result.why for result in results if result.why is not None), "skipped")


def overall(results: Sequence[Result]) -> Word:
    """Returns the verdict of the first failed test, or AC if none failed."""
    return next((result.verdict for result in results if result.verdict not in ("AC", "IE", "SK")), "AC")
