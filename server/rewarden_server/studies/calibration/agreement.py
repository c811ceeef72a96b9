"""The agreement of a judge's verdicts with labels: figures with 95 % intervals.

Shares have Wilson's interval. Everything else has a bootstrap interval: the statistic is computed for many draws of as
many rows, with replacement, and the interval holds the middle 95 % of its values (Efron 1979). Rows are assumed to be
independent.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from rewarden_server.studies.comparison.agreement import kappa as _kappa
from rewarden_server.studies.comparison.agreement import ranks
from rewarden_verifiers.group.statistics import mean, wilson

BINS = 10
"""The number of bins in the reliability diagram and the calibration error, all equally wide."""

_DRAWS = 1000
_WORK = 1_000_000
"""The most rows drawn in all, so that large files get fewer draws; at least 200 draws."""


class Judged(NamedTuple):
    """A scored response. right: the label; passed: the judge's verdict; score: from 0 to 1; size: in characters."""

    right: bool
    passed: bool
    score: float
    size: int


R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Figure:
    """A value and its 95 % interval; for a share, also its counts. value is None if it is undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None
    count: int | None = None
    of: int | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        found: dict[str, Any] = {"value": self.value, "interval": None if self.low is None else [self.low, self.high]}
        return found if self.of is None else {**found, "count": self.count, "of": self.of}


def share(count: int, of: int) -> Figure:
    """A share with Wilson's interval."""
    if not of:
        return Figure(None, count=0, of=0)
    return Figure(count / of, *wilson(count, of), count, of)


@dataclass(frozen=True, slots=True)
class Matrix:
    """Counts. Positive: passed by the judge; true: in agreement with the label."""

    true_positive: int
    false_positive: int
    true_negative: int
    false_negative: int

    @classmethod
    def of(cls, rows: Sequence[Judged]) -> Matrix:
        """The counts of rows."""
        cells = [(row.right, row.passed) for row in rows]
        return cls(
            cells.count((True, True)),
            cells.count((False, True)),
            cells.count((False, False)),
            cells.count((True, False)),
        )


def accuracy(rows: Sequence[Judged]) -> Figure:
    """The share of verdicts that match the label."""
    return share(sum(row.right == row.passed for row in rows), len(rows))


def precision(rows: Sequence[Judged]) -> Figure:
    """The share of passed responses that are right."""
    found = Matrix.of(rows)
    return share(found.true_positive, found.true_positive + found.false_positive)


def recall(rows: Sequence[Judged]) -> Figure:
    """The share of right responses that passed."""
    found = Matrix.of(rows)
    return share(found.true_positive, found.true_positive + found.false_negative)


def false_positive_rate(rows: Sequence[Judged]) -> Figure:
    """The share of wrong responses that passed."""
    found = Matrix.of(rows)
    return share(found.false_positive, found.false_positive + found.true_negative)


def balanced_accuracy(rows: Sequence[Judged]) -> float | None:
    """The mean of two shares: right responses that passed, and wrong ones that failed."""
    found = Matrix.of(rows)
    right, wrong = found.true_positive + found.false_negative, found.true_negative + found.false_positive
    return (found.true_positive / right + found.true_negative / wrong) / 2 if right and wrong else None


def f1(rows: Sequence[Judged]) -> float | None:
    """The harmonic mean of precision and recall; None if nothing is right and nothing passed."""
    found = Matrix.of(rows)
    below = 2 * found.true_positive + found.false_positive + found.false_negative
    return 2 * found.true_positive / below if below else None


def kappa(rows: Sequence[Judged]) -> float | None:
    """Cohen's kappa: agreement beyond chance (Cohen 1960)."""
    found = Matrix.of(rows)
    value = _kappa(found.true_positive, found.false_negative, found.false_positive, found.true_negative)
    return None if value is None else value[0]


def auroc(rows: Sequence[Judged]) -> float | None:
    """The probability that a right response scores higher than a wrong one; ties count half (Mann and Whitney)."""
    right = sum(row.right for row in rows)
    wrong = len(rows) - right
    if not right or not wrong:
        return None
    places = ranks([row.score for row in rows])
    above = sum(place for place, row in zip(places, rows, strict=True) if row.right)
    return (above - right * (right + 1) / 2) / (right * wrong)


def brier(rows: Sequence[Judged]) -> float | None:
    """The mean squared distance between the score, taken as a probability, and 1 or 0 (Brier 1950)."""
    return mean([(row.score - row.right) ** 2 for row in rows])


@dataclass(frozen=True, slots=True)
class Bin:
    """Responses with scores from low to high: their number, their mean score, and the share that is right."""

    low: float
    high: float
    rows: int
    score: float
    right: Figure


def bins(rows: Sequence[Judged]) -> list[Bin]:
    """The non-empty bins; a score of 1 belongs to the last one."""
    found: list[list[Judged]] = [[] for _ in range(BINS)]
    for row in rows:
        found[min(BINS - 1, int(row.score * BINS))].append(row)
    return [
        Bin(
            place / BINS,
            (place + 1) / BINS,
            len(held),
            sum(row.score for row in held) / len(held),
            share(sum(row.right for row in held), len(held)),
        )
        for place, held in enumerate(found)
        if held
    ]


def calibration_error(rows: Sequence[Judged]) -> float | None:
    """The mean distance between a bin's mean score and its share of right responses, weighted by its rows (Naeini et
    al. 2015).
    """
    if not rows:
        return None
    return sum(one.rows * abs(one.score - (one.right.value or 0.0)) for one in bins(rows)) / len(rows)


def bootstrap(
    rows: Sequence[R],
    statistics: Mapping[str, Callable[[Sequence[R]], float | None]],
    seed: int = 0,
    *,
    strata: Callable[[R], Hashable] | None = None,
) -> dict[str, Figure]:
    """Each statistic of the rows with its interval; draws for which it is undefined are left out. strata: the part of a
    row; each part is drawn from separately, as many rows as it has."""
    found: dict[str, list[float]] = {name: [] for name in statistics}
    random_ = random.Random(seed)
    parts: dict[Hashable, list[R]] = defaultdict(list)
    for row in rows:
        parts[None if strata is None else strata(row)].append(row)
    draws = max(200, min(_DRAWS, _WORK // max(len(rows), 1))) if len(rows) > 1 else 0
    for _ in range(draws):
        drawn = [row for part in parts.values() for row in random_.choices(part, k=len(part))]
        for name, statistic in statistics.items():
            value = statistic(drawn)
            if value is not None:
                found[name].append(value)
    return {name: _figure(statistic(rows), found[name]) for name, statistic in statistics.items()}


def figures_of(scored: Sequence[Judged], rows: int, *, graded: bool, seed: int) -> dict[str, Figure]:
    """All figures, by name. rows: the number judged; graded: whether there are scores other than 0 and 1."""
    drawn = {"balanced_accuracy": balanced_accuracy, "f1": f1, "kappa": kappa}
    if graded:
        drawn |= {"auroc": auroc, "brier": brier, "calibration_error": calibration_error}
    return {
        "scored": share(len(scored), rows),
        "accuracy": accuracy(scored),
        "precision": precision(scored),
        "recall": recall(scored),
        "false_positive_rate": false_positive_rate(scored),
        **bootstrap(scored, drawn, seed),
    }


def _figure(value: float | None, drawn: list[float]) -> Figure:
    if value is None or not drawn:
        return Figure(value)
    drawn.sort()
    last = len(drawn) - 1
    return Figure(value, drawn[round(0.025 * last)], drawn[round(0.975 * last)])
