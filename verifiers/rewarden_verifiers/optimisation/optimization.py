"""`optimization`: scores the value of a feasible solution between a baseline and the best known one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import Rule, rules_of
from rewarden_verifiers.graphs import written
from rewarden_verifiers.graphs.checks import Infeasible
from rewarden_verifiers.graphs.written import Unread
from rewarden_verifiers.optimisation.problems import CLOSE, Problem, Program, problem_of
from rewarden_verifiers.optimisation.reference import OptimizationReference
from rewarden_verifiers.outcome import right, scored, wrong
from rewarden_verifiers.puzzles import answers

_PROGRAM = 1e-4
"""The tolerance for values of programs, as a share of the scale: numbers with few digits satisfy constraints only
approximately.
"""


@dataclass(frozen=True, kw_only=True)
class OptimizationParams:
    """Options of `optimization`.

    tolerance: The share by which a constraint of a `program` may be violated.
    threshold: Lowest score that passes.
    graded: Gives intermediate scores; if false, 1 from the threshold up, and 0 below it.
    extraction: Rules that find the answer; see docs/extraction.md. `strict`: a box or an answer tag.
    """

    tolerance: float = 1e-6
    threshold: float = 1.0
    graded: bool = True
    extraction: str | tuple[str | dict[str, str], ...] = "strict"

    def __post_init__(self) -> None:
        self.rules  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample
        if not 0 <= self.tolerance <= 0.01:
            raise ValueError("tolerance must lie between 0 and 0.01")
        if not 0 < self.threshold <= 1:
            raise ValueError("threshold must be above 0 and at most 1")

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of extraction."""
        return rules_of(self.extraction)


@dataclass(frozen=True, eq=False)
class Scale:
    """A problem, with the values that earn 0 and 1."""

    problem: Problem
    baseline: float
    best: float


def prepare(reference: OptimizationReference, params: OptimizationParams) -> Scale:
    """Parses the reference. Raises InvalidReference naming the field."""
    problem = problem_of(reference, params.tolerance)
    best = reference.best
    baseline = reference.baseline if reference.baseline is not None else problem.trivial
    if baseline is None:
        raise InvalidReference(f"{reference.problem} needs a baseline here", path="reference.baseline")
    if not math.isfinite(best) or not math.isfinite(baseline):
        raise InvalidReference("best and baseline must be finite", path="reference.best")
    if (best - baseline if problem.largest else baseline - best) <= CLOSE * max(abs(best), abs(baseline)):
        given = "baseline" if reference.baseline is not None else "solution without effort"
        raise InvalidReference(f"best ({best}) must be better than the {given} ({baseline})", path="reference.best")
    return Scale(problem, baseline, best)


@verifier(version="1", graded=True, prepare=prepare)
def optimization(response: str, prepared: Scale, params: OptimizationParams) -> Outcome:
    """Scores a feasible solution of an optimisation problem by its value, between a baseline and the best known one.

    The reference is the problem as data, with `best`, the best known value. Feasibility is always checked, and the
    value computed; claims about it in the response are ignored.

    | problem | data | solution | value |
    |---|---|---|---|
    | `tsp` | `points` or `distances` | the cities in order | length of the closed tour, minimised |
    | `knapsack` | `weights`, `values`, `capacity` | the items to take | their value, maximised |
    | `bin_packing` | `weights`, `capacity` | the items of each bin, `[[0, 2], [1]]` | number of bins, minimised |
    | `scheduling` | `jobs`, `machines` | a start for each job, `{"a": 0, "b": 3}` | the `objective`, minimised |
    | `program` | `variables`, `constraints` | a number for each variable, `{"x": 2}` | the sum of the `terms` |

    Cities and items are numbered from 0 (`first`), or have `names`. A job has a `duration`, and optionally the
    `machine` that it needs, the jobs that it comes `after`, its `release`, `due` and `weight`. The objective is the
    last end (`makespan`) or the weighted delay of late jobs (`tardiness`). A variable has bounds (`low` is 0 by
    default) and can be an `integer`; the sum of the terms is minimised, or with `maximize` maximised.

    The score is (value - baseline) / (best - baseline), at least 0 and at most 1: the baseline earns 0, the best known
    value 1. Without `baseline`, a trivial solution takes its place: the cities in the given order, no items, a bin for
    each item, or one job after the other. Tardiness and programs need a `baseline`. The evidence contains the value,
    both ends of the scale, and the gap to the best as a share of it. A better solution than the best known earns 1,
    with the flag `better_than_reference`.

    These responses score 0: no answer (`no_answer`), several (`hedged`), one that cannot be read (`malformed`) or that
    breaks a rule (`infeasible`, with the rule as feedback), and one no better than the baseline (`no_better`). A
    feasible one that is better, but below the threshold, has the reason `not_best`.
    """
    found = answers.find(response, params.rules)
    if isinstance(found, Outcome):
        return found
    evidence: dict[str, Any] = {"rule": found.rule, "baseline": prepared.baseline, "best": prepared.best}
    shown: dict[str, Any] = {"extracted": found.text[: answers.EXCERPT], "evidence": evidence}
    try:
        value = prepared.problem.value(written.plain(found.text))
    except Unread as error:
        return wrong("malformed", feedback=str(error), **shown)
    except Infeasible as error:
        return wrong("infeasible", feedback=str(error), **shown)
    evidence["value"] = value
    if prepared.best:
        evidence["gap"] = abs(value - prepared.best) / abs(prepared.best)
    share = (value - prepared.baseline) / (prepared.best - prepared.baseline)
    # A gain within the constraints' tolerance neither beats nor misses the best value.
    close = _PROGRAM if isinstance(prepared.problem, Program) else CLOSE
    if share >= 1 - close:
        return right(flags=("better_than_reference",) if share > 1 + close else (), **shown)
    share = share if share > CLOSE else 0.0
    passed = share >= params.threshold
    return scored(
        share if params.graded else float(passed),
        passed=passed,
        reason=None if passed else "not_best" if share else "no_better",
        raw=share,
        **shown,
    )
