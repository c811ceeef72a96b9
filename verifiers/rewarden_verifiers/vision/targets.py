"""Targets of points and clicks: boxes, polygons, masks, and points with a tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, Protocol

from rewarden_verifiers.vision.masks import Mask

Norm = Literal["l1", "l2", "max"]
Decay = Literal["linear", "exponential", "gaussian"]
_FAINT = 0.01
"""Credit below this is rounded to 0: an endless tail would give credit to points anywhere."""


class Target(Protocol):
    """A target for points."""

    def worth(self, x: float, y: float) -> float:
        """The credit of a point at this position, from 0 to 1."""


class BoxTarget:
    """A box, including its edges."""

    def __init__(self, left: float, top: float, right: float, bottom: float) -> None:
        self._box = left, top, right, bottom

    def worth(self, x: float, y: float) -> float:
        """Returns 1 inside, else 0."""
        left, top, right, bottom = self._box
        return 1.0 if left <= x <= right and top <= y <= bottom else 0.0


class PolygonTarget:
    """A polygon, including its edges. If it is self-intersecting, the even-odd rule applies."""

    def __init__(self, corners: Sequence[tuple[float, float]]) -> None:
        self._edges = list(zip(corners, [*corners[1:], corners[0]], strict=True))

    def worth(self, x: float, y: float) -> float:
        """Returns 1 inside, else 0."""
        inside = False
        for (ax, ay), (bx, by) in self._edges:
            cross = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
            if cross == 0 and min(ax, bx) <= x <= max(ax, bx) and min(ay, by) <= y <= max(ay, by):
                return 1.0
            if (ay > y) != (by > y) and x < ax + (y - ay) * (bx - ax) / (by - ay):
                inside = not inside
        return float(inside)


class MaskTarget:
    """The pixels of a mask. Points are converted to pixels first."""

    def __init__(self, mask: Mask, across: float, down: float) -> None:
        self._mask, self._across, self._down = mask, across, down

    def worth(self, x: float, y: float) -> float:
        """Returns 1 on a pixel of the mask, else 0."""
        return float(self._mask.contains(x * self._across, y * self._down))


class PointTarget:
    """A point: full credit within the tolerance; beyond it, decaying credit, or none if no decay is set."""

    def __init__(
        self, x: float, y: float, *, tolerance: float, norm: Norm, decay: Decay | None, decay_length: float
    ) -> None:
        self._x, self._y = x, y
        self._tolerance, self._norm, self._decay, self._length = tolerance, norm, decay, decay_length

    def worth(self, x: float, y: float) -> float:
        """Returns the credit by distance."""
        across, down = abs(x - self._x), abs(y - self._y)
        if self._norm == "l1":
            distance = across + down
        else:
            distance = math.hypot(across, down) if self._norm == "l2" else max(across, down)
        beyond = distance - self._tolerance
        if beyond <= 0:
            return 1.0
        if self._decay is None:
            return 0.0
        lengths = beyond / self._length
        if self._decay == "linear":
            return max(0.0, 1 - lengths)
        worth = math.exp(-lengths) if self._decay == "exponential" else math.exp(-lengths * lengths / 2)
        return worth if worth >= _FAINT else 0.0
