"""Axis-aligned boxes in space: x, y, z of the lowest corner, then x, y, z of the highest."""

from __future__ import annotations

Solid = tuple[float, float, float, float, float, float]


def volume(box: Solid) -> float:
    """The product of the three side lengths."""
    return (box[3] - box[0]) * (box[4] - box[1]) * (box[5] - box[2])


def shared(a: Solid, b: Solid) -> float:
    """The volume of the intersection of two boxes."""
    common = 1.0
    for axis in range(3):
        side = min(a[axis + 3], b[axis + 3]) - max(a[axis], b[axis])
        if side <= 0:
            return 0.0
        common *= side
    return common


def iou(a: Solid, b: Solid) -> float:
    """Intersection over union of the volumes, 0 to 1."""
    common = shared(a, b)
    return common / (volume(a) + volume(b) - common)


def giou(a: Solid, b: Solid) -> float:
    """Generalised IoU: IoU minus the empty share of the smallest box that contains both."""
    common = shared(a, b)
    union = volume(a) + volume(b) - common
    around = volume(
        (
            *(min(a[axis], b[axis]) for axis in range(3)),  # type: ignore[arg-type]
            *(max(a[axis], b[axis]) for axis in range(3, 6)),
        )
    )
    return common / union - (around - union) / around


def distance(a: Solid, b: Solid) -> float:
    """The mean absolute difference of the six coordinates."""
    return sum(abs(x - y) for x, y in zip(a, b, strict=True)) / 6
