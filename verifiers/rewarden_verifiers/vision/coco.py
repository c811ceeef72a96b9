"""Average precision as COCO defines it, for the single image of a sample; it equals `pycocotools.cocoeval` 2.0.

Detections are matched in the order of their scores; each takes the unmatched expected box with the highest IoU above
the threshold (the last one in a tie). Crowd regions and boxes outside the range of areas are ignored: matching them
neither helps nor hurts. Precision is made monotone and read at the 101 recalls 0, 0.01 … 1.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.vision.rectangles import Rectangle, area

Area = Literal["all", "small", "medium", "large"]

AREAS: dict[Area, tuple[float, float]] = {
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
"""Areas in square pixels, both ends included."""

_SPREAD = (0.95 - 0.5) / 9
# As NumPy's linspace computes them: the last bit decides whether an IoU reaches a threshold.
THRESHOLDS = (*(0.5 + place * _SPREAD for place in range(9)), 0.95)
RECALLS = (*(place * 0.01 for place in range(100)), 1.0)
_EPSILON = 2.220446049250313e-16


@dataclass(frozen=True, slots=True)
class Expected:
    """A labelled box. `size` is its annotated area, which differs from the box's area if it has an outline."""

    box: Rectangle
    size: float
    crowd: bool = False


@dataclass(frozen=True, slots=True)
class Detected:
    """A predicted box; None if the prediction is invalid, which counts as a false positive."""

    box: Rectangle | None
    score: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The curve of one class at one threshold: the average precision and the highest recall."""

    precision: float
    recall: float


def overlap(box: Rectangle | None, expected: Expected) -> float:
    """IoU; for a crowd region, the share of the detection that lies in it."""
    if box is None:
        return 0.0
    other = expected.box
    width = min(box[2], other[2]) - max(box[0], other[0])
    height = min(box[3], other[3]) - max(box[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    union = area(box) if expected.crowd else area(box) + area(other) - common
    return common / union if union > 0 else 0.0


def curves(
    expected: Sequence[Expected], detected: Sequence[Detected], thresholds: Sequence[float], most: int, within: Area
) -> list[Curve] | None:
    """Returns the curve of one class for each threshold; None if no box of the class is expected, because precision is
    then undefined.

    most: the number of detections that count, by highest score.
    """
    low, high = AREAS[within]
    ignored = [item.crowd or not low <= item.size <= high for item in expected]
    order = sorted(range(len(expected)), key=ignored.__getitem__)
    golds, skip = [expected[place] for place in order], [ignored[place] for place in order]
    positives = skip.count(False)
    if not positives:
        return None
    ranked = sorted(detected, key=lambda item: -item.score)[:most]
    table = [[overlap(item.box, gold) for gold in golds] for item in ranked]
    outside = [item.box is not None and not low <= area(item.box) <= high for item in ranked]
    return [_curve(golds, skip, table, outside, threshold, positives) for threshold in thresholds]


def _curve(
    golds: Sequence[Expected],
    skip: Sequence[bool],
    table: Sequence[Sequence[float]],
    outside: Sequence[bool],
    threshold: float,
    positives: int,
) -> Curve:
    taken = [False] * len(golds)
    right = wrong = 0
    recalls: list[float] = []
    precisions: list[float] = []
    for row, beyond in zip(table, outside, strict=True):
        chosen = _choice(golds, skip, taken, row, threshold)
        if chosen is not None:
            taken[chosen] = True
        if chosen is not None and not skip[chosen]:
            right += 1
        elif chosen is None and not beyond:
            wrong += 1
        # Ignored detections stay in the list, as in pycocotools: they repeat the previous point.
        recalls.append(right / positives)
        precisions.append(right / (wrong + right + _EPSILON))
    for place in range(len(precisions) - 1, 0, -1):
        precisions[place - 1] = max(precisions[place - 1], precisions[place])
    total = 0.0
    for recall in RECALLS:
        place = bisect_left(recalls, recall)
        if place == len(recalls):
            break
        total += precisions[place]
    return Curve(total / len(RECALLS), recalls[-1] if recalls else 0.0)


def _choice(
    golds: Sequence[Expected], skip: Sequence[bool], taken: Sequence[bool], row: Sequence[float], threshold: float
) -> int | None:
    """The expected box that a detection matches. Ignored boxes are matched only if no other box matches."""
    best = min(threshold, 1 - 1e-10)
    chosen: int | None = None
    for place, value in enumerate(row):
        if taken[place] and not golds[place].crowd:
            continue
        if chosen is not None and not skip[chosen] and skip[place]:
            break
        if value >= best:
            best, chosen = value, place
    return chosen


def mean(values: Sequence[float]) -> float:
    """The mean, summed without rounding errors."""
    return math.fsum(values) / len(values)
