"""The rules of a panel whose members compare two texts: each votes win, tie or loss."""

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
    """The rules, for the panel's parameters.

    A tie counts for neither side. A side wins only if more than half of all members that gave a verdict vote for it,
    even if the mean of the scores says otherwise. Attack: one bought judge that is certain, beside two that are nearly
    undecided, dominates the mean.
    """

    params: PanelParams

    def vote(self, one: Outcome) -> str:
        """Returns `win`, `tie` or `loss`."""
        return _side(one.score or 0.0)

    def kappa(self, heard: Sequence[Outcome]) -> float | None:
        """Fleiss' kappa over the questions: each order of each opinion is a question, to which every member answered A,
        B or neither. None if only one text was ever named, since position bias alone can cause that.

        Unreadable opinions are left out. The remaining ones are matched by position: first with first, since the
        opinions of a member are interchangeable.
        """
        read = [[names for names in one.evidence.get("named", ()) if names] for one in heard]
        table = [
            tuple(sum(name == of for name in names) for of in _NAMES)
            for opinions in zip(*read, strict=False)
            for names in zip(*opinions, strict=True)
        ]
        return fleiss_kappa(table)

    def combined(self, heard: Sequence[Outcome], evidence: Mapping[str, Any], flags: Sequence[str]) -> Outcome:
        """The panel's outcome, with the reasons of the member whose verdict is closest to it."""
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
        # A member whose replies the response spoils speaks for the panel only if no other member votes the same.
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
            # A tie caused by a member's position bias says nothing about the response.
            fault="verifier" if side == "tie" and any(one.fault == "verifier" for one in heard) else None,
            feedback=nearest.feedback,
            evidence={**nearest.evidence, **rate, **evidence},
            flags=flags,
        )


def _side(score: float) -> str:
    return "win" if score > 0.5 else "loss" if score < 0.5 else "tie"
