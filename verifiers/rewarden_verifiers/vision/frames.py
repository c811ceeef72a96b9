"""Frames: the size of an image, and the scale in which coordinates are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rewarden_verifiers.vision.numerals import number

Scale = Literal["pixel", "unit", "thousand"]
"""`pixel`: pixels of the image; `unit`: 0 to 1; `thousand`: 0 to 1000, as many models are trained to write."""

SCALES: tuple[Scale, ...] = ("pixel", "unit", "thousand")
Size = tuple[float, float]

_PAIRS = (("width", "height"), ("image_width", "image_height"))


def size_of(value: Any) -> Size | None:
    """The width and height that a `[width, height]` pair or an object with width and height gives, or None."""
    if isinstance(value, Mapping):
        for key in ("size", "image_size"):
            if (found := size_of(value.get(key))) is not None:
                return found
        for across, down in _PAIRS:
            if (found := size_of((value.get(across), value.get(down)))) is not None:
                return found
        return None
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        width, height = number(value[0]), number(value[1])
        if width is not None and height is not None and width > 0 and height > 0:
            return width, height
    return None


def extent(scale: Scale, size: Size | None) -> Size | None:
    """The image's width and height in a scale; None for pixels of an image of unknown size."""
    if scale == "unit":
        return (1.0, 1.0)
    if scale == "thousand":
        return (1000.0, 1000.0)
    return size


def factors(given: Scale, wanted: Scale, size: Size | None) -> Size | None:
    """The factors that convert x and y from one scale to the other; None if the image's size is needed but unknown."""
    if given == wanted:
        return (1.0, 1.0)
    before, after = extent(given, size), extent(wanted, size)
    if before is None or after is None:
        return None
    return after[0] / before[0], after[1] / before[1]
