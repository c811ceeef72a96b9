"""`group_stats`: another verifier's outcomes, with the statistics of their group in addition to the score or instead of
it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rewarden.errors import InvalidParams
from rewarden.types import Component, Group, Outcome, Use
from rewarden_verifiers.contract import Context, Member, verifier
from rewarden_verifiers.group.statistics import describe
from rewarden_verifiers.outcome import scored
from rewarden_verifiers.uses import UseLike, parse_use

Score = Literal[
    "own",
    "pass_rate",
    "fail_rate",
    "mean",
    "best",
    "all_pass",
    "any_pass",
    "centred",
    "standardised",
    "leave_one_out",
    "rank",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatsParams:
    """Options of `group_stats`.

    use: Verifier or recipe that judges each member.
    score: Score of a member: `own`, `pass_rate` or `fail_rate` (of its group; `fail_rate` rewards the author of a
        problem), `mean` or `best` (of its group's scores), `all_pass` or `any_pass` (1 or 0, over the scored members),
        `centred` (its own minus the group's mean), `standardised` (that over the standard deviation; 0 if all are
        equal), `leave_one_out` (its own minus the mean of the others; 0 if there is none), `rank` (the share of the
        others that it beats, a tie as half; 0.5 if there is none).
    ddof: Degrees of freedom subtracted in the standard deviation (0: of these members; 1: of the policy).
    ks: The k of pass@k. By default, powers of two up to the number of scored members.
    pass_threshold: Lowest score that passes. By default, the verdict of the verifier in `use`, or full marks if it has
        no notion of passing.
    exclude_std_at_most: Asks the trainer to leave out groups whose standard deviation is at most this. 0.0: groups in
        which all scores are equal, which teach methods that compare siblings nothing. By default, none.
    """

    use: UseLike
    score: Score = "own"
    ddof: Literal[0, 1] = 0
    ks: tuple[int, ...] | None = None
    pass_threshold: float | None = None
    exclude_std_at_most: float | None = None

    def __post_init__(self) -> None:
        if self.ks is not None and any(k < 1 for k in self.ks):
            raise InvalidParams("params.ks must hold whole numbers from 1", path="params.ks")
        if self.exclude_std_at_most is not None and not self.exclude_std_at_most >= 0:
            raise InvalidParams("params.exclude_std_at_most must be at least 0", path="params.exclude_std_at_most")


def _children(params: GroupStatsParams) -> list[Use]:
    return [parse_use(params.use)]


@verifier(version="1", graded=True, children=_children)
async def group_stats(samples: list[Member], params: GroupStatsParams, ctx: Context) -> Sequence[Outcome]:
    """Computes statistics of a group: pass rate, mean, standard deviation, pass@k, all passed, all failed.

    `use` judges each member. A member keeps its own outcome, with the group's statistics in the evidence; `score`
    replaces its score by one of the group's. Members without a score are counted separately, never as zeros, and
    flagged `group_has_unscored`. They keep their own outcome, because a statistic cannot replace a missing verdict.
    """
    use = parse_use(params.use)
    outcomes = await ctx.verify_group(use, samples)
    name = samples[0].sample.group or ""
    stats = describe(name, outcomes, ddof=params.ddof, ks=params.ks, threshold=params.pass_threshold)
    limit = params.exclude_std_at_most
    if limit is not None and stats.std is not None and stats.std <= limit:
        outcomes = [
            outcome if outcome.exclude else replace(outcome, exclude=True, exclude_reason="no_difference")
            for outcome in outcomes
        ]
    scores = [outcome.score for outcome in outcomes if outcome.score is not None]
    return [_outcome(outcome, stats, scores, params, use) for outcome in outcomes]


def _outcome(own: Outcome, stats: Group, scores: Sequence[float], params: GroupStatsParams, use: Use) -> Outcome:
    evidence = {**own.evidence, "group": _plain(stats)}
    flags = (*own.flags, "group_has_unscored") if stats.unscored else own.flags
    part = Component(status=own.status, score=own.score, reason=own.reason, fault=own.fault, verifier=use.name)
    components = {**own.components, "own": part}
    if own.score is None or params.score == "own":
        return replace(own, evidence=evidence, flags=flags, components=components)
    low, high = own.range
    value, bounds = own.score, own.range
    if params.score in ("pass_rate", "fail_rate"):
        rate = stats.passed / stats.scored
        value, bounds = (rate if params.score == "pass_rate" else 1.0 - rate), (0.0, 1.0)
    elif params.score in ("all_pass", "any_pass"):
        all_or_any = stats.passed == stats.scored if params.score == "all_pass" else stats.passed > 0
        value, bounds = float(all_or_any), (0.0, 1.0)
    elif params.score == "rank":
        value, bounds = _rank(own.score, scores), (0.0, 1.0)
    elif params.score == "best" and stats.best is not None:
        value = stats.best
    elif params.score == "mean" and stats.mean is not None:
        value = stats.mean
    elif stats.mean is not None:
        span = high - low
        value, bounds = own.score - stats.mean, (-span, span)
        if params.score == "standardised":
            # |x - mean| / std is at most (n - 1) / sqrt(n) for ddof 1, and sqrt(n - 1) for ddof 0.
            limit = float(max(stats.scored, 2))
            value, bounds = (value / stats.std if stats.std else 0.0), (-limit, limit)
        elif params.score == "leave_one_out":
            value = value * stats.scored / (stats.scored - 1) if stats.scored > 1 else 0.0
    return scored(
        min(max(value, bounds[0]), bounds[1]),
        range=bounds,
        passed=own.passed,
        reason=own.reason,
        fault=own.fault,
        raw=own.score,
        components=components,
        steps=own.steps,
        feedback=own.feedback,
        extracted=own.extracted,
        evidence=evidence,
        flags=flags,
        effective=own.effective,
        exclude=own.exclude,
        exclude_reason=own.exclude_reason,
    )


def _rank(own: float, scores: Sequence[float]) -> float:
    """The share of the other scores that are lower; equal scores count half."""
    if len(scores) < 2:
        return 0.5
    lower = sum(score < own for score in scores)
    equal = sum(score == own for score in scores) - 1
    return (lower + equal / 2) / (len(scores) - 1)


def _plain(stats: Group) -> dict[str, Any]:
    return {
        "size": stats.size,
        "scored": stats.scored,
        "unscored": stats.unscored,
        "passed": stats.passed,
        "pass_rate": stats.passed / stats.scored if stats.scored else None,
        "mean": stats.mean,
        "std": stats.std,
        "variance": None if stats.std is None else stats.std**2,
        "ddof": stats.ddof,
        "best": stats.best,
        "all_pass": stats.all_pass,
        "all_fail": stats.all_fail,
        "pass_at": {str(k): value for k, value in stats.pass_at.items()},
    }
