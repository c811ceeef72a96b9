"""The rules of a panel whose members pass or fail a response."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.types import Outcome
from rewarden_verifiers.judges.panel import PanelParams, fleiss_kappa
from rewarden_verifiers.outcome import scored, undecided


@dataclass(frozen=True, slots=True)
class Passes:
    """The rules, for the panel's parameters. least: the lowest mean that passes."""

    params: PanelParams
    least: float

    def vote(self, one: Outcome) -> str:
        """Returns `pass` or `fail`."""
        return "pass" if one.passed else "fail"

    def kappa(self, heard: Sequence[Outcome]) -> float | None:
        """Fleiss' kappa over the parts (criteria, aspects) that all members decided; None for fewer than two parts, for
        which it is not meaningful.
        """
        names = [name for name in heard[0].components if name] if heard else []
        table = []
        for name in names:
            parts = [one.components[name] for one in heard if name in one.components]
            scores = [part.score for part in parts if part.score is not None]
            if len(scores) == len(heard):
                met = sum(score >= 0.5 for score in scores)
                table.append((met, len(scores) - met))
        return fleiss_kappa(table) if len(table) > 1 else None

    def combined(self, heard: Sequence[Outcome], evidence: Mapping[str, Any], flags: Sequence[str]) -> Outcome:
        """The panel's outcome, with the reasons of the member whose verdict is closest to it."""
        scores = [one.score or 0.0 for one in heard]
        yes = sum(bool(one.passed) for one in heard)
        if self.params.panel.combine == "mean":
            score = statistics.fmean(scores)
            passed = score >= self.least
        elif self.params.panel.combine == "veto":
            score, passed = min(scores), yes == len(heard)
        elif 2 * yes == len(heard) and self.params.tie == "undecided":
            return undecided("tie", evidence=evidence, flags=tuple(flags))
        else:
            passed = 2 * yes > len(heard)
            score = float(passed)
        nearest = min(heard, key=lambda one: (bool(one.passed) != passed, abs((one.score or 0.0) - score)))
        reasons = [one.reason for one in (nearest, *heard) if one.reason is not None and not one.passed]
        return scored(
            score,
            range=nearest.range,
            passed=passed,
            reason=None if passed else next(iter(reasons), "panel_mean"),
            raw=nearest.raw,
            components=nearest.components,
            steps=nearest.steps,
            feedback=nearest.feedback,
            extracted=nearest.extracted,
            evidence={**nearest.evidence, **evidence},
            flags=flags,
        )
