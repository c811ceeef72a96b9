"""The result of each criterion, and their total."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewarden.errors import InvalidParams, InvalidReference
from rewarden.types import Component, Outcome, StepScore
from rewarden_verifiers.judges.criterion import Criterion
from rewarden_verifiers.judges.ledger import Ledger

_QUOTE = 400
_REASON = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One opinion on one criterion. value: how far it is met, 0 to 1; None: the judge cannot tell. count: how often the
    described behaviour occurs, if the question asks for that.
    """

    value: float | None
    quote: str = ""
    reason: str = ""
    count: int | None = None

    def told(self) -> str:
        """Quote and reason, truncated."""
        quote = " ".join(self.quote.split())[:_QUOTE]
        reason = " ".join(self.reason.split())[:_REASON]
        return f"“{quote}” {reason}".strip() if quote else reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The result of one criterion. value: None if it was left out. votes: all votes of the judge; counted: the values
    they were counted as. program: the outcome, if a program decided.
    """

    criterion: Criterion
    value: float | None
    votes: tuple[Vote, ...] = ()
    counted: tuple[float, ...] = ()
    program: Outcome | None = None

    @property
    def abstentions(self) -> int:
        """The number of votes that say the judge cannot tell."""
        return sum(vote.value is None for vote in self.votes)

    @property
    def cost(self) -> float:
        """The points that the response lost on this criterion."""
        if self.value is None:
            return 0.0
        points = self.criterion.points
        return points * (1 - self.value) if points >= 0 else -points * self.value

    def said(self) -> str:
        """Quote and reason of the vote closest to the outcome; for a program, its feedback."""
        if self.program is not None:
            return Vote(value=None, reason=self.program.feedback or self.program.reason or "").told()
        worst = worst_of(self.criterion)
        value = worst if self.value is None else self.value
        return min(self.votes, key=lambda vote: abs((worst if vote.value is None else vote.value) - value)).told()

    def value_of(self, place: int) -> float | None:
        """The value according to the opinion at that index alone, if the criterion has opinions."""
        return self.counted[min(place, len(self.counted) - 1)] if self.counted else self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Itemised:
    """The results of all criteria. score: see `total`; None if no criterion with positive points was decided. met: the
    name for the value of a criterion that is met. portions: evidence if the response was judged in portions.
    """

    parts: tuple[Part, ...]
    score: float | None
    ledger: Ledger
    flags: tuple[str, ...]
    met: str
    portions: Mapping[str, Any] = field(default_factory=dict)

    def named(self, value: float) -> str:
        """The name of a value: met, not met, or met in part."""
        return self.met if value == 1 else f"not_{self.met}" if value == 0 else f"{self.met}_in_part"

    def details(self) -> dict[str, Any]:
        """Returns the fields that every outcome of criteria has."""
        return {
            "steps": self.steps(),
            "components": self.components(),
            "evidence": self.evidence(),
            "flags": self.flags,
        }

    def steps(self) -> list[StepScore]:
        """A score for each criterion: how far it is met, which is bad for criteria with negative points."""
        return [
            StepScore(index=place, score=part.value, label=part.criterion.label, feedback=part.said() or None)
            for place, part in enumerate(self.parts)
        ]

    def components(self) -> dict[str, Component]:
        """The same scores by the criteria's ids; programs add their own reason and name."""
        return {part.criterion.id: self._component(part) for part in self.parts}

    def _component(self, part: Part) -> Component:
        program, use = part.program, part.criterion.use
        if program is not None:
            return Component(
                status=program.status,
                score=part.value,
                reason=program.reason,
                fault=program.fault,
                verifier=None if use is None else use.name,
            )
        if part.value is None:
            return Component(status="undecided", reason="cannot_tell", fault="verifier")
        return Component(status="scored", score=part.value, reason=self.named(part.value))

    def evidence(self) -> dict[str, Any]:
        """The evidence: `points` out of `possible`; `open`: ids of the criteria about which a judge could not tell;
        `left_out`; `tags`: the score within each tag. Also opinions, spread and confidence; judge and usage.
        """
        parts = [part for part in self.parts if part.value is not None]
        made: dict[str, Any] = {
            "points": math.fsum(part.criterion.points * (part.value or 0.0) for part in parts),
            "possible": math.fsum(max(part.criterion.points, 0.0) for part in parts),
        }
        tags = {tag: None for part in self.parts for tag in part.criterion.tags}
        scores = {tag: total([part for part in self.parts if tag in part.criterion.tags]) for tag in tags}
        named = {
            "open": [part.criterion.id for part in self.parts if part.abstentions],
            "left_out": [part.criterion.id for part in self.parts if part.value is None],
            "tags": {tag: score for tag, score in scores.items() if score is not None},
        }
        made |= {name: value for name, value in named.items() if value}
        alone = [total(self.parts, place) for place in range(max(len(part.counted) for part in self.parts))]
        opinions = [one for one in alone if one is not None]
        if opinions:
            spread = statistics.pstdev(opinions)
            # With negative points, the spread of the sums can exceed 0.5.
            confidence = max(0.0, 1 - 2 * spread) if len(opinions) > 1 else None
            made |= {"opinions": opinions, "spread": spread, "confidence": confidence}
        return {**made, **self.portions, **self.ledger.counted()}

    def feedback(self, longest: int) -> str | None:
        """Returns which criteria cost points, and why: one per line, the most expensive first."""
        lost = sorted((part for part in self.parts if part.cost > 0), key=lambda part: -part.cost)
        lines = [f"{part.criterion.label}: {part.said() or self.named(part.value or 0.0)}" for part in lost]
        return "\n".join(lines)[:longest] or None


def reached(one: Criterion, outcome: Outcome) -> float:
    """Returns how far a scored outcome meets the criterion, from 0 to 1. Raises InvalidReference (or InvalidParams,
    depending on where the criterion comes from) if the criterion requires a pass and the verifier does not decide
    passed or failed.
    """
    assert outcome.score is not None
    if one.of == "passed":
        if outcome.passed is None:
            error = InvalidParams if one.path.startswith("params") else InvalidReference
            raise error(
                f"{one.path}.of: the verifier does not decide passed or failed; give a number or `score`",
                path=f"{one.path}.of",
            )
        return float(outcome.passed)
    low, high = outcome.range
    if one.of == "score":
        return (outcome.score - low) / (high - low) if high > low else float(outcome.score >= high)
    # Rounding can leave a sum of floats just below the threshold.
    return float(outcome.score >= one.of - 1e-9)


def worst_of(one: Criterion) -> float:
    """The value that is worst for the response: not met, or met if the points are negative."""
    return 0.0 if one.points >= 0 else 1.0


def total(parts: Sequence[Part], place: int | None = None) -> float | None:
    """The points of the criteria met, as a share of all positive points: HealthBench's score (arXiv 2505.08775), which
    RuscaRL uses as reward (arXiv 2508.16949). place: only count the opinion at this index. None if no positive points
    are left.
    """
    values = [(part.criterion.points, part.value if place is None else part.value_of(place)) for part in parts]
    decided = [(points, value) for points, value in values if value is not None]
    possible = math.fsum(max(points, 0.0) for points, _ in decided)
    return math.fsum(points * value for points, value in decided) / possible if possible > 0 else None
