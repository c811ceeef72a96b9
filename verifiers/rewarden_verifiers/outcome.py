"""The possible outcomes of a verifier. `error` is not among them: only the engine makes it, from an exception."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rewarden.types import Component, Fault, Outcome, StepScore

UNIT = (0.0, 1.0)


class _Draft:
    """An outcome under construction: plain stores into the same slots, five times as fast as the `__init__` of a frozen
    dataclass. CPython lets it become an `Outcome`, because the layouts are equal.
    """

    __slots__ = Outcome.__slots__


def scored(
    score: float,
    *,
    range: tuple[float, float] = UNIT,
    passed: bool | None = None,
    reason: str | None = None,
    fault: Fault | None = None,
    raw: Any = None,
    components: Mapping[str, Component] | None = None,
    steps: Sequence[StepScore] = (),
    feedback: str | None = None,
    extracted: Any = None,
    evidence: Mapping[str, Any] | None = None,
    flags: Iterable[str] = (),
    effective: Mapping[str, Any] | None = None,
    exclude: bool = False,
    exclude_reason: str | None = None,
) -> Outcome:
    """A number within `range`. Below full marks, the fault is the policy's, unless `fault` or `passed` says otherwise.

    Raises ValueError for a score that is not finite or outside `range`: a defect of the verifier, which becomes an
    `error` verdict and never a reward.
    """
    low, high = range
    score = float(score)
    if not math.isfinite(score):
        raise ValueError(f"score {score} is not a finite number")
    if not low <= score <= high:
        raise ValueError(f"score {score} lies outside the declared range [{low}, {high}]")
    if fault is None and score < high and not passed:
        fault = "policy"
    made: Any = object.__new__(_Draft)
    made.status = "scored"
    made.score = score
    made.range = range
    made.passed = passed
    made.raw = raw
    made.reason = reason
    made.fault = fault
    made.components = components or {}
    made.steps = steps
    made.feedback = feedback
    made.extracted = extracted
    made.evidence = evidence or {}
    made.flags = tuple(flags)
    made.effective = effective or {}
    made.exclude = exclude
    made.exclude_reason = exclude_reason
    made.__class__ = Outcome
    outcome: Outcome = made
    return outcome


def right(**details: Any) -> Outcome:
    """Full marks, passed."""
    return scored(details.pop("score", 1.0), passed=True, **details)


def wrong(reason: str = "wrong", **details: Any) -> Outcome:
    """The lowest score of the range, not passed, the policy's fault."""
    low = details.get("range", UNIT)[0]
    return scored(low, passed=False, reason=reason, fault="policy", **details)


def loosely(outcome: Outcome) -> Outcome:
    """Flags the outcome: its answer was found by its position, not by a mark."""
    return replace(outcome, flags=(*outcome.flags, "loose_extraction"))


def no_answer(reason: str = "no_answer", **details: Any) -> Outcome:
    """The response has no answer: it gets the lowest score, because not answering must not pay (promise 2)."""
    flags = (*details.pop("flags", ()), "no_answer")
    return wrong(reason, flags=flags, **details)


def too_expensive(**details: Any) -> Outcome:
    """The response exceeds the verifier's limits: it gets the lowest score and a flag (promise 2)."""
    flags = (*details.pop("flags", ()), "too_expensive")
    return wrong("too_expensive", flags=flags, **details)


def undecided(reason: str, *, fault: Fault = "verifier", **details: Any) -> Outcome:
    """The verifier cannot decide, through no fault of the policy: no number.

    `fault` is `reference` for an invalid expected answer, and `verifier` for a real limit of the verifier.
    """
    if fault == "policy":
        raise ValueError("what the policy causes is scored at the bottom, never undecided")
    return Outcome(status="undecided", reason=reason, fault=fault, **details)
