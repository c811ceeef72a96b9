"""Box formats: the number and the meaning of the coordinates, and the resulting shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewarden_verifiers.vision import polygons
from rewarden_verifiers.vision.frames import Size

BoxFormat = Literal[
    "xyxy", "xywh", "cxcywh", "yxyx", "corners", "quad", "polygon", "rotated", "xyzxyz", "center_size_3d"
]
Family = Literal["rectangle", "polygon", "solid"]
Numbers = Sequence[float]
Shape = Any
"""A rectangle (4 floats), a solid (6 floats), or a Shapely polygon."""


@dataclass(frozen=True, slots=True)
class Form:
    """A format. counts: the possible numbers of coordinates (None: any even number from 6 up). points: the possible
    numbers of points. make(numbers, inclusive): the shape, or None if the numbers are not a valid box.
    """

    family: Family
    counts: tuple[int, ...] | None
    points: tuple[int, ...] | None
    make: Callable[[Numbers, float], Shape | None]

    def takes(self, count: int) -> bool:
        """Returns whether a box can have this many numbers."""
        if self.counts is None:
            return count >= 6 and count % 2 == 0
        return count in self.counts

    def takes_points(self, count: int) -> bool:
        """Returns whether a box can have this many points."""
        return count >= 3 if self.counts is None else self.points is not None and count in self.points


def _spanned(left: float, top: float, right: float, bottom: float, extra: float) -> Shape | None:
    # Inverted and empty boxes are invalid: repairing them would give credit for a box that the answer did not state.
    right, bottom = right + extra, bottom + extra
    return (left, top, right, bottom) if left < right and top < bottom else None


def _xyxy(n: Numbers, extra: float) -> Shape | None:
    return _spanned(n[0], n[1], n[2], n[3], extra)


def _yxyx(n: Numbers, extra: float) -> Shape | None:
    return _spanned(n[1], n[0], n[3], n[2], extra)


def _xywh(n: Numbers, extra: float) -> Shape | None:
    return _spanned(n[0], n[1], n[0] + n[2], n[1] + n[3], 0.0)


def _cxcywh(n: Numbers, extra: float) -> Shape | None:
    return _spanned(n[0] - n[2] / 2, n[1] - n[3] / 2, n[0] + n[2] / 2, n[1] + n[3] / 2, 0.0)


def _corners(n: Numbers, extra: float) -> Shape | None:
    across, down = n[0::2], n[1::2]
    if len(n) == 8 and (len(set(across)) != 2 or len(set(down)) != 2 or len(set(zip(across, down, strict=True))) != 4):
        return None  # the four corners are not an axis-aligned rectangle
    return _spanned(min(across), min(down), max(across), max(down), extra)


def _polygon(n: Numbers, extra: float) -> Shape | None:
    return polygons.polygon(list(zip(n[0::2], n[1::2], strict=True)))


def _rotated(n: Numbers, extra: float) -> Shape | None:
    if n[2] <= 0 or n[3] <= 0:
        return None
    return polygons.polygon(polygons.rotated(n[0], n[1], n[2], n[3], n[4]))


def _xyzxyz(n: Numbers, extra: float) -> Shape | None:
    return tuple(n) if all(n[axis] < n[axis + 3] for axis in range(3)) else None


def _center_size_3d(n: Numbers, extra: float) -> Shape | None:
    low = [n[axis] - n[axis + 3] / 2 for axis in range(3)]
    high = [n[axis] + n[axis + 3] / 2 for axis in range(3)]
    return _xyzxyz((*low, *high), extra)


FORMS: dict[BoxFormat, Form] = {
    "xyxy": Form("rectangle", (4,), (2,), _xyxy),
    "xywh": Form("rectangle", (4,), None, _xywh),
    "cxcywh": Form("rectangle", (4,), None, _cxcywh),
    "yxyx": Form("rectangle", (4,), (2,), _yxyx),
    "corners": Form("rectangle", (4, 8), (2, 4), _corners),
    "quad": Form("polygon", (8,), (4,), _polygon),
    "polygon": Form("polygon", None, None, _polygon),
    "rotated": Form("polygon", (5,), None, _rotated),
    "xyzxyz": Form("solid", (6,), None, _xyzxyz),
    "center_size_3d": Form("solid", (6,), None, _center_size_3d),
}


def scaled(numbers: Numbers, format: BoxFormat, by: Size, degrees: bool = True) -> Numbers:
    """Converts the numbers to another scale; an angle is returned in radians."""
    x, y = by
    if format == "rotated":
        angle = math.radians(numbers[4]) if degrees else numbers[4]
        return numbers[0] * x, numbers[1] * y, numbers[2] * x, numbers[3] * y, angle
    if x == y == 1.0:
        return numbers
    if format == "yxyx":
        x, y = y, x
    return [value * (y if place % 2 else x) for place, value in enumerate(numbers)]
