"""Counts of the verdicts of one data source in one step, and its metrics."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rewarden.logging.names import Names
from rewarden.logging.statistics import Durations, Moments
from rewarden.types import Verdict

FAULTS = ("reference", "verifier", "caller", "infra")
"""The parties at fault for an unscored verdict. Never the policy: what the policy does badly is scored."""

MOST_REASONS = 16
MOST_COMPONENTS = 16


@dataclass(slots=True)
class Known:
    """The names of a data source's reasons and components, over all steps."""

    reasons: Names = field(default_factory=lambda: Names(MOST_REASONS))
    components: Names = field(default_factory=lambda: Names(MOST_COMPONENTS))


@dataclass(slots=True)
class Part:
    """A component: how often it had a score, their sum, and how often it had none."""

    scored: int = 0
    total: float = 0.0
    unscored: int = 0


@dataclass(slots=True)
class Counts:
    """Verdicts of one data source. `judged`: scored by a verifier that knows of passing."""

    count: int = 0
    scores: Moments = field(default_factory=Moments)
    judged: int = 0
    passed: int = 0
    no_answer: int = 0
    truncated: int = 0
    excluded: int = 0
    cached: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    components: defaultdict[str, Part] = field(default_factory=lambda: defaultdict(Part))
    queue: Durations = field(default_factory=Durations)
    run: Durations = field(default_factory=Durations)

    def add(self, verdict: Verdict, known: Known) -> None:
        """Count a verdict."""
        self.count += 1
        if verdict.status == "scored" and verdict.score is not None:
            self.scores.add(verdict.score)
            if verdict.passed is not None:
                self.judged += 1
                self.passed += verdict.passed
        else:
            self.faults[verdict.fault or "unknown"] += 1
        if verdict.flags:
            self.no_answer += "no_answer" in verdict.flags
            self.truncated += "truncated" in verdict.flags
        self.excluded += verdict.exclude
        if verdict.reason:
            self.reasons[known.reasons(verdict.reason)] += 1
        for name, component in verdict.components.items():
            part = self.components[known.components(name)]
            if component.score is None or not math.isfinite(component.score):
                part.unscored += 1
            else:
                part.scored += 1
                part.total += component.score
        if verdict.cached:
            self.cached += 1
        else:
            self.queue.add(verdict.queue_s)
            self.run.add(verdict.run_s)

    def merge(self, other: Counts, known: Known) -> None:
        """Count all of another's, under names of this one's own."""
        for name in ("count", "judged", "passed", "no_answer", "truncated", "excluded", "cached"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.faults.update(other.faults)
        for reason, count in other.reasons.items():
            self.reasons[known.reasons(reason)] += count
        for name, part in other.components.items():
            mine = self.components[known.components(name)]
            mine.scored += part.scored
            mine.total += part.total
            mine.unscored += part.unscored
        self.scores.merge(other.scores)
        self.queue.merge(other.queue)
        self.run.merge(other.run)

    def metrics(self, reasons: Iterable[str] = ()) -> Iterator[tuple[str, float]]:
        """Yields names and values. Figures with nothing to divide by are left out; `reasons` are reported even where
        their count is zero, so that their charts have no holes.
        """
        yield "count", float(self.count)
        if self.scores.count:
            yield "mean", self.scores.mean
            yield "std", self.scores.std
            yield "min", self.scores.low
            yield "max", self.scores.high
        if self.judged:
            yield "pass_rate", self.passed / self.judged
        if not self.count:
            return
        yield "no_answer", self.no_answer / self.count
        yield "truncated", self.truncated / self.count
        yield "excluded", self.excluded / self.count
        yield "cached", self.cached / self.count
        yield "unscored", sum(self.faults.values()) / self.count
        for fault in dict.fromkeys((*FAULTS, *self.faults)):
            yield f"unscored_{fault}", self.faults[fault] / self.count
        for reason in sorted({*reasons, *self.reasons}):
            yield f"reason/{reason}", self.reasons[reason] / self.count
        for name, part in self.components.items():
            if part.scored:
                yield f"component/{name}", part.total / part.scored
            yield f"component_unscored/{name}", part.unscored / (part.scored + part.unscored)
        for name, durations in (("queue_s", self.queue), ("run_s", self.run)):
            for percent in (50, 95):
                seconds = durations.quantile(percent / 100)
                if seconds is not None:
                    yield f"{name}_p{percent}", seconds
