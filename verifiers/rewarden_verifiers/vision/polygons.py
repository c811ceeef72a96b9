"""Polygons: quadrilaterals, rotated boxes and outlines, measured by Shapely (GEOS).

Shapely is imported when the first polygon is made; axis-aligned boxes do not need it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rewarden.errors import MissingDependency

MAX_CORNERS = 500
"""The maximum number of corners of a polygon: outlines written by models have a few dozen."""

Corners = Sequence[tuple[float, float]]


def _shapely() -> Any:
    try:
        import shapely
    except ModuleNotFoundError:
        raise MissingDependency(
            "polygons and rotated boxes need Shapely: pip install 'rewarden-server[vision]'"
        ) from None
    return shapely


def polygon(corners: Corners) -> Any:
    """The polygon with these corners, or None if it is self-intersecting, is empty, or has too many corners."""
    if not 3 <= len(corners) <= MAX_CORNERS:
        return None
    made = _shapely().Polygon(corners)
    return made if made.is_valid and made.area > 0 else None


def rotated(cx: float, cy: float, width: float, height: float, angle: float) -> list[tuple[float, float]]:
    """The corners of a box rotated about its centre. The angle is in radians, from the x axis towards the y axis."""
    cosine, sine = math.cos(angle), math.sin(angle)
    offsets = ((-width, -height), (width, -height), (width, height), (-width, height))
    return [(cx + (x * cosine - y * sine) / 2, cy + (x * sine + y * cosine) / 2) for x, y in offsets]


def area(a: Any) -> float:
    """The polygon's area."""
    return float(a.area)


def shared(a: Any, b: Any) -> float:
    """The area of the intersection of two polygons."""
    return float(a.intersection(b).area)


def iou(a: Any, b: Any) -> float:
    """Intersection over union, 0 to 1."""
    common = shared(a, b)
    return min(1.0, common / (area(a) + area(b) - common))


def giou(a: Any, b: Any) -> float:
    """Generalised IoU: IoU minus the empty share of the convex hull."""
    common = shared(a, b)
    union = area(a) + area(b) - common
    around = float(a.union(b).convex_hull.area)
    return min(1.0, common / union - max(0.0, around - union) / around)


def warm() -> None:
    """Imports Shapely, if it is installed."""
    try:
        import shapely  # noqa: F401
    except ModuleNotFoundError:
        return
