"""Combines k opinions into one score, with their spread."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewarden_verifiers.judges.params import JudgeParams


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of k scores from 0 to 1. score: None for a tie that stays undecided.

    spread: the standard deviation of the scores (of the population), from 0 to 0.5. confidence: for `majority`, `any`
    and `all`, the share of opinions that agree with the outcome; for `mean` and `median`, 1 - 2 * spread; None for a
    single opinion, for which it is unknown.
    """

    score: float | None
    spread: float
    confidence: float | None

    def evidence(self, scores: Sequence[float]) -> dict[str, Any]:
        """`opinions`, `spread`, `confidence`."""
        return {"opinions": list(scores), "spread": self.spread, "confidence": self.confidence}


def combine(scores: Sequence[float], passing: float, params: JudgeParams) -> Verdict:
    """Combines at least one score from 0 to 1. passing: the score from which an opinion counts as a yes."""
    spread = statistics.pstdev(scores)
    if params.aggregate in ("mean", "median"):
        score = statistics.fmean(scores) if params.aggregate == "mean" else statistics.median(scores)
        return Verdict(score, spread, 1 - 2 * spread if len(scores) > 1 else None)
    yes = sum(score >= passing for score in scores)
    no = len(scores) - yes
    if params.aggregate == "majority" and yes == no and params.tie == "undecided":
        return Verdict(None, spread, 0.5)
    decided = {"majority": yes > no, "any": yes > 0, "all": no == 0}[params.aggregate]
    confidence = (yes if decided else no) / len(scores) if len(scores) > 1 else None
    return Verdict(1.0 if decided else 0.0, spread, confidence)
