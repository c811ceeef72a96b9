"""The rules of a panel whose members compare two texts: each says win, tie or loss."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.types import Outcome
from rewarden_verifiers.judges.panel import PanelParams, fleiss_kappa
from rewarden_verifiers.outcome import scored, undecided

_NAMES = ("A", "tie", "B")


@dataclass(frozen=True, slots=True)
class Contests:
    """The rules, by the panel's parameters.

    A member that says tie is for neither side. A side has won only if more than half of all members that gave a verdict
    are for it, also where the mean of the scores says more. Attack: one bought judge that is sure, beside two that are
    nearly undecided, has the mean for itself.
    """

    params: PanelParams

    def vote(self, one: Outcome) -> str:
        """Returns `win`, `tie` or `loss`."""
        return _side(one.score or 0.0)

    def kappa(self, heard: Sequence[Outcome]) -> float | None:
        """Fleiss' kappa over the questions: each order of each opinion is one, of which every member named A, B or
        neither. None where only one text was named throughout, which a liking for a place does as well.

        An opinion that could not be read is none; of the others the first of a member is next to the first of the rest,
        since the opinions of a member are alike.
        """
        read = [[names for names in one.evidence.get("named", ()) if names] for one in heard]
        table = [
            tuple(sum(name == of for name in names) for of in _NAMES)
            for opinions in zip(*read, strict=False)
            for names in zip(*opinions, strict=True)
        ]
        return fleiss_kappa(table)

    def combined(self, heard: Sequence[Outcome], evidence: Mapping[str, Any], flags: Sequence[str]) -> Outcome:
        """The panel's outcome, with the reasons of the member whose verdict is nearest to it."""
        scores = [one.score or 0.0 for one in heard]
        votes = [self.vote(one) for one in heard]
        wins, ties, losses = (votes.count(side) for side in ("win", "tie", "loss"))
        most = 1.0 if 2 * wins > len(votes) else 0.0 if 2 * losses > len(votes) else 0.5
        if self.params.panel.combine == "veto":
            score = min(scores)
        elif self.params.panel.combine == "mean":
            mean = statistics.fmean(scores)
            score = mean if _side(mean) == _side(most) else 0.5
        elif wins == losses >= 1 and 2 * ties <= len(votes) and self.params.tie == "undecided":
            return undecided("tie", evidence=evidence, flags=tuple(flags))
        else:
            score = most
        side = _side(score)
        # One whose replies the response spoils speaks for the panel only where no other member says the same.
        nearest = min(
            heard,
            key=lambda one: (
                self.vote(one) != side,
                one.reason == "unreadable_reply",
                abs((one.score or 0.0) - score),
            ),
        )
        flips = [one.evidence["flip_rate"] for one in heard if "flip_rate" in one.evidence]
        rate = {"flip_rate": statistics.fmean(flips)} if flips else {}
        return scored(
            score,
            reason=nearest.reason if self.vote(nearest) == side else None,
            # A tie to which a liking for a place led some member says nothing about the response.
            fault="verifier" if side == "tie" and any(one.fault == "verifier" for one in heard) else None,
            feedback=nearest.feedback,
            evidence={**nearest.evidence, **rate, **evidence},
            flags=flags,
        )


def _side(score: float) -> str:
    return "win" if score > 0.5 else "loss" if score < 0.5 else "tie"
