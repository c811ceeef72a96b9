"""Turns a box's numbers into the shape to measure."""

from __future__ import annotations

from rewarden_verifiers.vision import polygons, rectangles
from rewarden_verifiers.vision.box_format import FORMS, BoxFormat, Shape, scaled
from rewarden_verifiers.vision.box_params import BoxParams
from rewarden_verifiers.vision.box_reader import Detection
from rewarden_verifiers.vision.frames import Size


class Shaper:
    """Makes the shapes of boxes. Coordinates are multiplied by `by`, and shapes are clipped at the border of `image` if
    the parameters say so.
    """

    def __init__(self, params: BoxParams, format: BoxFormat, by: Size, image: Size | None = None) -> None:
        self._format, self._by = format, by
        self._degrees = params.angle == "degrees"
        self._extra = 1.0 if params.inclusive else 0.0
        self._image = image if params.clip else None
        self._polygons = params.family == "polygon"
        changed = by != (1.0, 1.0) or self._extra or self._image is not None or self._polygons
        self._as_written = format == "xyxy" and not changed

    def shape(self, item: Detection) -> Shape | None:
        """The shape; None if there are no numbers, or if they are inverted, empty or self-intersecting."""
        numbers = item.numbers
        if numbers is None:
            return None
        if self._as_written and item.named is None:
            return numbers if numbers[0] < numbers[2] and numbers[1] < numbers[3] else None
        format = item.named or self._format
        form = FORMS[format]
        shape = form.make(scaled(numbers, format, self._by, self._degrees), self._extra)
        if shape is None or form.family != "rectangle":
            return shape
        if self._image is not None:
            shape = rectangles.clipped(shape, *self._image)
        if shape is not None and self._polygons:
            return polygons.polygon(rectangles.corners(shape))
        return shape
