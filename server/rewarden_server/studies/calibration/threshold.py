"""The score from which to pass, and the score up to which to fail, for a wanted precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewarden_server.studies.calibration.agreement import Figure, Judged, share


@dataclass(frozen=True, slots=True)
class Point:
    """The precision and recall if responses pass from this score on."""

    score: float
    precision: Figure
    recall: Figure

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"score": self.score, "precision": self.precision.to_json(), "recall": self.recall.to_json()}


def curve(rows: Sequence[Judged]) -> list[Point]:
    """A point for each score that occurs, from the lowest to the highest."""
    right = sum(row.right for row in rows)
    found: list[Point] = []
    true = 0
    ordered = sorted(rows, key=lambda row: -row.score)
    for taken, row in enumerate(ordered, start=1):
        true += row.right
        if taken == len(ordered) or ordered[taken].score != row.score:
            found.append(Point(row.score, share(true, taken), share(true, right)))
    return found[::-1]


def threshold(points: Sequence[Point], precision: float) -> Point | None:
    """The lowest score at which the lower end of the precision's interval reaches `precision`, which keeps the most
    right responses; None if there is none. A score of 0 passes everything, so it is not a threshold."""
    for point in points:
        if point.score > 0 and point.precision.low is not None and point.precision.low >= precision:
            return point
    return None


def rejection(rows: Sequence[Judged], precision: float) -> Point | None:
    """The highest score up to which the wanted share of responses is wrong, by the lower end of its interval; None if
    there is none. A score of 1 fails everything, so it does not count. The point's precision and recall are those of
    the wrong responses."""
    mirrored = curve([row._replace(right=not row.right, score=-row.score) for row in rows])
    for point in mirrored:
        if -point.score < 1 and point.precision.low is not None and point.precision.low >= precision:
            return Point(-point.score, point.precision, point.recall)
    return None
