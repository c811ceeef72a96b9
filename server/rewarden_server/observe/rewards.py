"""Metrics of rewards by verifier and data source, which tell a drift or a collapse from a model that learns.

Verifiers have different ranges, so we count a score's *position* in its verdict's range: 0 at the bottom, 1 at the top.
Positions are never negative, so their sums can be counters (a sum of scores from -1 to 1 may fall, which Prometheus
would take for a restart), and one threshold works for all verifiers. Only scored verdicts count. A score in an
unbounded range has no position: it counts only as passed or not.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from prometheus_client.core import Metric

from rewarden.types import Group, Verdict
from rewarden_server.observe.series import OTHER, Histogram, counter, histogram

POSITION_BUCKETS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999, 1.0)
"""The ends have buckets of their own: most rewards are 0 or 1, and it is news if they no longer are."""

SPREAD_BUCKETS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
"""The standard deviation within a range is at most half its width."""

_LABELS = ("verifier", "data_source")


@dataclass(slots=True, eq=False)
class _Source:
    """The rewards of one verifier on one data source. passed: counts of yes, no, and no notion of passing."""

    positions: Histogram = field(default_factory=lambda: Histogram(POSITION_BUCKETS))
    squares: float = 0.0
    passed: list[int] = field(default_factory=lambda: [0, 0, 0])
    groups: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    spreads: Histogram = field(default_factory=lambda: Histogram(SPREAD_BUCKETS))


class Rewards:
    """Used on the loop only. most: pairs of verifier and data source with labels of their own; later ones count as
    `other`."""

    def __init__(self, most: int = 500) -> None:
        self._most = most
        self._sources: dict[tuple[str, str], _Source] = {}

    def add(self, verifier: str, data_source: str, verdict: Verdict) -> None:
        """Counts a scored verdict. The labels are already bounded."""
        found = self._sources.get((verifier, data_source)) or self._new(verifier, data_source)
        passed = verdict.passed
        found.passed[2 if passed is None else not passed] += 1
        position = position_of(verdict.score, verdict.range)
        if position is None:
            return
        positions = found.positions
        positions.counts[bisect_left(POSITION_BUCKETS, position)] += 1
        positions.total += position
        found.squares += position * position

    def group(self, verifier: str, data_source: str, group: Group, width: float) -> None:
        """Counts a group. width: of the range of its scores."""
        found = self._sources.get((verifier, data_source)) or self._new(verifier, data_source)
        found.groups[kind_of(group)] += 1
        if group.scored > 1 and group.std is not None and 0.0 < width < math.inf:
            found.spreads.add(group.std / width)

    def families(self) -> Iterator[Metric]:
        """Yields the families that Prometheus reads."""
        known = self._sources.items()
        scored = [(pair, one) for pair, one in known if any(one.positions.counts)]
        yield histogram(
            "rewarden_score_position",
            "Scores as positions in the ranges of their verdicts: 0 bottom, 1 top.",
            _LABELS,
            ((pair, one.positions) for pair, one in scored),
        )
        yield counter(
            "rewarden_score_position_squares",
            "Sum of squared positions, for the standard deviation.",
            _LABELS,
            ((pair, one.squares) for pair, one in scored),
        )
        yield counter(
            "rewarden_passed",
            "Scored verdicts, by whether they passed (unknown if the verifier does not say).",
            (*_LABELS, "passed"),
            (
                ((*pair, word), count)
                for pair, one in known
                for word, count in zip(("yes", "no", "unknown"), one.passed, strict=True)
                if count
            ),
        )
        yield counter(
            "rewarden_groups",
            "Groups: all_pass, all_fail, flat (all scores equal, but neither of these), mixed, "
            "partly (a member is unscored), single (one member).",
            (*_LABELS, "kind"),
            (((*pair, kind), count) for pair, one in known for kind, count in one.groups.items()),
        )
        yield histogram(
            "rewarden_group_spread",
            "Standard deviation of a group's scores, as a share of their range.",
            _LABELS,
            ((pair, one.spreads) for pair, one in known if any(one.spreads.counts)),
        )

    def _new(self, verifier: str, data_source: str) -> _Source:
        pair = (verifier, data_source) if len(self._sources) < self._most else (OTHER, OTHER)
        return self._sources.setdefault(pair, _Source())


def position_of(score: float | None, range: tuple[float, float]) -> float | None:
    """Returns the position of a score in its verdict's range, from 0 to 1; None if it has none."""
    low, high = range
    width = high - low
    # A score outside its range is a plug-in's defect, and could make a counter fall.
    if score is None or not 0.0 < width < math.inf or not low <= score <= high:
        return None
    return (score - low) / width


def kind_of(group: Group) -> str:
    """Classifies a group by how its members' rewards differ."""
    if group.size < 2:
        return "single"
    if group.unscored:
        return "partly"
    if group.all_pass:
        return "all_pass"
    if group.all_fail:
        return "all_fail"
    return "mixed" if group.std else "flat"
