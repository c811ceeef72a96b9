"""Axis-aligned rectangles: overlap and related measures. A rectangle is (left, top, right, bottom), and never empty.

IoU has no "+1": a box from 10 to 11 has width 1, and two identical boxes of that size have IoU 1.
"""

from __future__ import annotations

import math

Rectangle = tuple[float, float, float, float]


def area(box: Rectangle) -> float:
    """Width times height."""
    return (box[2] - box[0]) * (box[3] - box[1])


def shared(a: Rectangle, b: Rectangle) -> float:
    """The area of the intersection of two boxes."""
    width = (a[2] if a[2] < b[2] else b[2]) - (a[0] if a[0] > b[0] else b[0])
    if width <= 0:
        return 0.0
    height = (a[3] if a[3] < b[3] else b[3]) - (a[1] if a[1] > b[1] else b[1])
    return width * height if height > 0 else 0.0


def iou(a: Rectangle, b: Rectangle) -> float:
    """Intersection over union, 0 to 1."""
    common = shared(a, b)
    return common / (area(a) + area(b) - common) if common else 0.0


def hull(a: Rectangle, b: Rectangle) -> Rectangle:
    """The smallest box that contains both."""
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def giou(a: Rectangle, b: Rectangle) -> float:
    """Generalised IoU (Rezatofighi et al. 2019, arXiv 1902.09630), from -1 to 1: IoU minus the empty share of
    the hull.
    """
    common = shared(a, b)
    union = area(a) + area(b) - common
    around = area(hull(a, b))
    return common / union - (around - union) / around


def diou(a: Rectangle, b: Rectangle) -> float:
    """Distance IoU (Zheng et al. 2020, arXiv 1911.08287): IoU minus the squared distance of the centres over the
    squared diagonal of the hull.
    """
    around = hull(a, b)
    across, down = around[2] - around[0], around[3] - around[1]
    x, y = (a[0] + a[2] - b[0] - b[2]) / 2, (a[1] + a[3] - b[1] - b[3]) / 2
    return iou(a, b) - (x * x + y * y) / (across * across + down * down)


def ciou(predicted: Rectangle, expected: Rectangle) -> float:
    """Complete IoU (the same paper): also subtracts a term for the difference of the aspect ratios."""
    overlap = iou(predicted, expected)
    ratios = [math.atan((box[2] - box[0]) / (box[3] - box[1])) for box in (expected, predicted)]
    apart = 4 / math.pi**2 * (ratios[0] - ratios[1]) ** 2
    weight = apart / (1 - overlap + apart) if apart else 0.0
    return diou(predicted, expected) - weight * apart


def distance(a: Rectangle, b: Rectangle) -> float:
    """The mean absolute difference of the four coordinates."""
    return (abs(a[0] - b[0]) + abs(a[1] - b[1]) + abs(a[2] - b[2]) + abs(a[3] - b[3])) / 4


def clipped(box: Rectangle, width: float, height: float) -> Rectangle | None:
    """The part within an image, or None if it lies outside."""
    left, top = max(box[0], 0.0), max(box[1], 0.0)
    right, bottom = min(box[2], width), min(box[3], height)
    return (left, top, right, bottom) if left < right and top < bottom else None


def corners(box: Rectangle) -> tuple[tuple[float, float], ...]:
    """The four corners, in order around the box."""
    return (box[0], box[1]), (box[2], box[1]), (box[2], box[3]), (box[0], box[3])
