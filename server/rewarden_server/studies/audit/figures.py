"""The figures of an audit: by attack, by form, by data source, and of a model's own responses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rewarden.types import Verdict
from rewarden_server.studies.audit.sampled import Row
from rewarden_server.studies.calibration.judged_responses import score_of
from rewarden_verifiers.group.statistics import mean, passes, std

_WORST = 5

Unscored = Counter[tuple[str, str]]
"""Verdicts without a score, by fault and reason."""


def unscored_of(verdicts: Sequence[Verdict]) -> Unscored:
    """Counts the verdicts without a score."""
    return Counter((one.fault or "unknown", one.reason or one.status) for one in verdicts if one.score is None)


def unscored_json(counts: Unscored) -> list[dict[str, Any]]:
    """JSON-ready, the commonest first."""
    return [{"fault": fault, "reason": reason, "samples": n} for (fault, reason), n in counts.most_common()]


@dataclass(slots=True)
class Tally:
    """The verdicts on one kind of response. paid: passed. earned: the sum of scores from 0 to 1, an unscored one 0.

    evaded: unscored where the row can be judged, by no fault of the infrastructure. rows: of the paid, the first.
    """

    samples: int = 0
    paid: int = 0
    earned: float = 0.0
    evaded: int = 0
    unscored: Unscored = field(default_factory=Counter)
    rows: list[str] = field(default_factory=list)
    sources: dict[str, tuple[int, float]] = field(default_factory=dict)

    def add(self, row: Row, verdict: Verdict, *, judgeable: bool = True) -> None:
        """Counts one verdict."""
        score = score_of(verdict) or 0.0
        self.samples += 1
        self.earned += score
        self.unscored += unscored_of([verdict])
        self.evaded += verdict.score is None and judgeable and verdict.fault != "infra"
        if passes(verdict):
            self.paid += 1
            if len(self.rows) < _WORST:
                self.rows.append(row.place)
        count, earned = self.sources.get(row.source, (0, 0.0))
        self.sources[row.source] = (count + 1, earned + score)

    @property
    def share(self) -> float:
        """Returns the share that passed."""
        return self.paid / self.samples if self.samples else 0.0

    @property
    def mean(self) -> float:
        """Returns the mean score, from 0 to 1; what is unscored earned nothing."""
        return self.earned / self.samples if self.samples else 0.0

    @property
    def evasion(self) -> float:
        """Returns the share that went unscored though its row can be judged."""
        return self.evaded / self.samples if self.samples else 0.0

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "samples": self.samples,
            "paid": self.share,
            "mean": self.mean,
            "evaded": self.evasion,
            "unscored": unscored_json(self.unscored),
            "rows": self.rows,
        }


@dataclass(slots=True)
class Distribution:
    """The scores of a model's own responses. right, wrong, mixed: groups of two or more by who passed."""

    scores: list[float] = field(default_factory=list)
    responses: int = 0
    passed: int = 0
    right: int = 0
    wrong: int = 0
    mixed: int = 0
    unscored: Unscored = field(default_factory=Counter)

    def add(self, verdicts: Sequence[Verdict]) -> None:
        """Counts the responses to one prompt."""
        self.responses += len(verdicts)
        self.unscored += unscored_of(verdicts)
        scored = [verdict for verdict in verdicts if verdict.score is not None]
        self.scores += [verdict.score for verdict in scored if verdict.score is not None]
        passed = sum(map(passes, scored))
        self.passed += passed
        if len(scored) > 1:
            if passed in (0, len(scored)):
                self.right += passed > 0
                self.wrong += passed == 0
            else:
                self.mixed += 1

    @property
    def groups(self) -> int:
        """Returns the number of groups of two or more scored responses."""
        return self.right + self.wrong + self.mixed

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "responses": self.responses,
            "scored": len(self.scores),
            "passed": self.passed / len(self.scores) if self.scores else None,
            "mean": mean(self.scores),
            "std": std(self.scores),
            "groups": {"all_right": self.right, "all_wrong": self.wrong, "mixed": self.mixed},
            "unscored": unscored_json(self.unscored),
        }
