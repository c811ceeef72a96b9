"""Statistics of the groups of one step, taken in one verdict at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from rewarden.logging.statistics import Moments
from rewarden.types import Verdict

MOST_WAITING = 4096
"""Groups that wait to be whole; the oldest beyond that count as they are."""
_MOST_K = 64


@dataclass(slots=True)
class Siblings:
    """The verdicts of one group. `size`: how many there will be, where that is known."""

    source: str
    size: int | None = None
    count: int = 0
    judged: int = 0
    passed: int = 0
    full: int = 0
    scores: Moments = field(default_factory=Moments)
    waited: bool = False

    def add(self, verdict: Verdict) -> None:
        """Take a verdict in."""
        self.count += 1
        if verdict.score is None:
            return
        self.scores.add(verdict.score)
        if verdict.passed is None:
            self.full += verdict.score >= verdict.range[1]
        else:
            self.judged += 1
            self.full += verdict.passed
            self.passed += verdict.passed


@dataclass(slots=True)
class GroupCounts:
    """Groups of one data source. Sums, to be divided by the number of groups that have the quantity."""

    count: int = 0
    scored: int = 0
    means: float = 0.0
    stds: float = 0.0
    all_pass: int = 0
    all_fail: int = 0
    no_signal: int = 0
    unscored: int = 0
    pass_at: dict[int, tuple[float, int]] = field(default_factory=dict)

    def add(self, group: Siblings) -> None:
        """Counts a group. A group with an unscored member counts neither as all passed nor as all failed, since that is
        not known."""
        self.count += 1
        scores = group.scores
        whole = scores.count == group.count
        self.unscored += not whole
        self.all_pass += whole and group.full == group.count
        self.all_fail += whole and group.full == 0
        if not scores.count:
            return
        self.scored += 1
        self.means += scores.mean
        self.stds += scores.std
        self.no_signal += scores.low == scores.high
        k = 2
        while k <= min(group.judged, _MOST_K):
            total, groups = self.pass_at.get(k, (0.0, 0))
            self.pass_at[k] = total + _pass_at(group.judged, group.passed, k), groups + 1
            k *= 2

    def merge(self, other: GroupCounts) -> None:
        """Count all of another's."""
        for name in ("count", "scored", "means", "stds", "all_pass", "all_fail", "no_signal", "unscored"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for k, (total, groups) in other.pass_at.items():
            before, count = self.pass_at.get(k, (0.0, 0))
            self.pass_at[k] = before + total, count + groups

    def metrics(self) -> Iterator[tuple[str, float]]:
        """Names and values; none without groups."""
        if not self.count:
            return
        yield "groups/count", float(self.count)
        if self.scored:
            yield "groups/mean", self.means / self.scored
            yield "groups/std", self.stds / self.scored
            yield "groups/no_signal", self.no_signal / self.scored
        yield "groups/all_pass", self.all_pass / self.count
        yield "groups/all_fail", self.all_fail / self.count
        yield "groups/unscored", self.unscored / self.count
        for k, (total, groups) in sorted(self.pass_at.items()):
            yield f"groups/pass_at_{k}", total / groups


class Groups:
    """The groups of one step. A group is whole when it has its `size` where that is known, else when the call ends that
    brought it. One that is not whole when a step ends waits for one more, and then counts as it is.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], Siblings] = {}
        self._counts: dict[str, GroupCounts] = {}

    def add(self, source: str, group: str, verdict: Verdict, size: int | None) -> None:
        """Take a verdict in."""
        key = source, group
        siblings = self._open.get(key)
        if siblings is None:
            siblings = self._open[key] = Siblings(source, size)
        siblings.add(verdict)
        if siblings.size is not None and siblings.count >= siblings.size:
            self._count(key)

    def end_call(self) -> None:
        """All verdicts of a call were taken in. Names of groups may come again in the next one and mean others."""
        for key in [key for key, siblings in self._open.items() if siblings.size is None]:
            self._count(key)
        for key in list(self._open)[: max(0, len(self._open) - MOST_WAITING)]:
            self._count(key)

    def close(self) -> dict[str, GroupCounts]:
        """The groups of the step that ends, by data source."""
        for key in [key for key, siblings in self._open.items() if siblings.waited]:
            self._count(key)
        for siblings in self._open.values():
            siblings.waited = True
        found, self._counts = self._counts, {}
        return found

    def _count(self, key: tuple[str, str]) -> None:
        siblings = self._open.pop(key)
        self._counts.setdefault(siblings.source, GroupCounts()).add(siblings)


def _pass_at(n: int, c: int, k: int) -> float:
    """The unbiased estimate of pass@k from n samples of which c passed (Chen et al. 2021, arXiv 2107.03374)."""
    if n - c < k:
        return 1.0
    return 1.0 - math.prod((n - c - i) / (n - i) for i in range(k))
