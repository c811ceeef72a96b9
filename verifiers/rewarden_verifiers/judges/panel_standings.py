"""The rules of a panel whose members rank a group: each gives every sample a standing from 0 to 1."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.types import Outcome
from rewarden_verifiers.judges.panel import PanelParams
from rewarden_verifiers.outcome import scored


@dataclass(frozen=True, slots=True)
class Standings:
    """The rules, for the panel's parameters. threshold: scores above it pass."""

    params: PanelParams
    threshold: float

    def vote(self, one: Outcome) -> str:
        """Returns `pass` or `fail`."""
        return "pass" if one.passed else "fail"

    def kappa(self, heard: Sequence[Outcome]) -> float | None:
        """Returns None: kappa is not meaningful for a single sample."""
        return None

    def combined(self, heard: Sequence[Outcome], evidence: Mapping[str, Any], flags: Sequence[str]) -> Outcome:
        """The panel's outcome, with the reasons of the member whose standing is closest to it.

        Attack: one bought judge that ranks a text first. With `majority`, the score is the highest that more than half
        of the members give at least, which no single member can raise.
        """
        scores = sorted((one.score or 0.0 for one in heard), reverse=True)
        if self.params.panel.combine == "mean":
            score = statistics.fmean(scores)
        elif self.params.panel.combine == "veto":
            score = scores[-1]
        else:
            score = scores[len(scores) // 2]
        passed = score > self.threshold
        nearest = min(heard, key=lambda one: (bool(one.passed) != passed, abs((one.score or 0.0) - score)))
        return scored(
            score,
            passed=passed,
            reason=None if passed else nearest.reason or "outranked",
            feedback=nearest.feedback,
            evidence={**nearest.evidence, **evidence},
            flags=flags,
        )
