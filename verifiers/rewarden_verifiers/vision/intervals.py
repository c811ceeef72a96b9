"""Intervals of time in seconds: the overlap of two intervals, and of two sets of intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Interval = tuple[float, float]
"""Start and end; the end is later."""


def length(interval: Interval) -> float:
    """The duration."""
    return interval[1] - interval[0]


def shared(a: Interval, b: Interval) -> float:
    """The duration of the overlap."""
    return max(0.0, min(a[1], b[1]) - max(a[0], b[0]))


def iou(a: Interval, b: Interval) -> float:
    """Intersection over union, 0 to 1."""
    common = shared(a, b)
    return common / (length(a) + length(b) - common) if common else 0.0


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """The union as disjoint, non-touching intervals, in order: repetitions count once."""
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def union_iou(a: Sequence[Interval], b: Sequence[Interval]) -> float:
    """Intersection over union of the times that two sets of intervals cover."""
    ours, theirs = merged(a), merged(b)
    common, i, j = 0.0, 0, 0
    while i < len(ours) and j < len(theirs):
        common += shared(ours[i], theirs[j])
        if ours[i][1] <= theirs[j][1]:
            i += 1
        else:
            j += 1
    total = sum(map(length, ours)) + sum(map(length, theirs)) - common
    return common / total if common else 0.0


def clamped(interval: Interval, duration: float | None) -> Interval | None:
    """The part within the video, or None if it lies outside."""
    start, end = max(interval[0], 0.0), interval[1] if duration is None else min(interval[1], duration)
    return (start, end) if start < end else None
