"""The expected points or actions of a sample, parsed once for all its responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.errors import InvalidParams, InvalidReference
from rewarden_verifiers.vision.action_reader import Action
from rewarden_verifiers.vision.documents import values_in
from rewarden_verifiers.vision.frames import Size, extent, size_of
from rewarden_verifiers.vision.masks import Mask
from rewarden_verifiers.vision.numerals import number
from rewarden_verifiers.vision.point_params import PointParams
from rewarden_verifiers.vision.targets import BoxTarget, MaskTarget, PointTarget, PolygonTarget, Target

_MOST = 500
_MOST_CORNERS = 5000
_BOXES = ("box", "bbox", "bbox_2d", "box_2d", "bounding_box")
_POLYGONS = ("polygon", "outline")
_MASKS = ("mask", "rle", "segmentation")
_POINTS = ("point", "point_2d", "coordinate", "position", "click_point")
_LISTS = ("points", "boxes", "bboxes", "polygons", "masks", "regions", "targets", "objects", "coordinates")


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedAction:
    """An expected action, and the targets of its points."""

    action: Action
    target: Target | None
    end: Target | None


@dataclass(frozen=True, slots=True, eq=False)
class PointGold:
    """The expected answer: targets, or actions. `single`: one is expected, not a set."""

    targets: tuple[Target, ...]
    actions: tuple[ExpectedAction, ...]
    single: bool
    size: Size | None


def prepare(reference: str | list[Any] | dict[str, Any], params: PointParams) -> PointGold:
    """Parses the reference. Raises InvalidReference for anything that is not a point, a region or an action."""
    value: Any = reference
    if isinstance(reference, str):
        values = values_in(reference)
        value = values[0] if len(values) == 1 else [list(place or ()) for place in params.points.read(reference).items]
        if len(values) != 1 and len(value) == 1:
            value = value[0]
        if not value and not values:
            raise InvalidReference("the reference holds no point", path="reference")
    maker = _Maker(params, _size(value))
    if (acts := _actions(value)) is not None:
        if not acts or len(acts) > _MOST:
            raise InvalidReference("the reference holds no action, or too many", path="reference")
        return PointGold((), tuple(maker.action(item) for item in acts), len(acts) == 1, maker.size)
    targets, single = maker.targets(value)
    if len(targets) > _MOST:
        raise InvalidReference(f"the reference has more than {_MOST} targets", path="reference")
    return PointGold(tuple(targets), (), single, maker.size)


def _size(value: Any) -> Size | None:
    if not isinstance(value, Mapping):
        return None
    for key in _MASKS:
        # A mask includes the image's size, height first.
        if isinstance(value.get(key), Mapping) and (pair := size_of(value[key].get("size"))) is not None:
            return pair[1], pair[0]
    return size_of(value)


def _actions(value: Any) -> list[dict[str, Any]] | None:
    items = value if isinstance(value, (list, tuple)) else [value]
    found = [_without_prefix(item) for item in items if isinstance(item, Mapping)]
    named = [item for item in found if isinstance(item.get("action") or item.get("action_type"), str)]
    if not named:
        return None
    if len(named) < len(items):
        raise InvalidReference("the reference mixes actions with what is none", path="reference")
    return named


def _without_prefix(item: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key).casefold().removeprefix("gt_"): value for key, value in item.items()}


class _Maker:
    """Makes targets from the values of a reference."""

    def __init__(self, params: PointParams, size: Size | None) -> None:
        self._params = params
        self.size = size

    def targets(self, value: Any) -> tuple[list[Target], bool]:
        """The targets, and whether the reference is a single one."""
        if isinstance(value, Mapping):
            for key in _LISTS:
                if key in value:
                    return [self.one(item) for item in _listed(value[key])], False
            return [self.one(value)], True
        if not isinstance(value, (list, tuple)):
            raise InvalidReference("the reference must be a list, an object or a text", path="reference")
        if value and all(number(item) is not None for item in value):
            return [self.one(value)], True
        return [self.one(item) for item in value], False

    def one(self, value: Any) -> Target:
        """A target: two numbers are a point, four are a box, an object names its kind, and a list of points is a
        polygon.
        """
        if isinstance(value, Mapping):
            for key in _BOXES:
                if key in value:
                    return self._box(_numbers(value[key]))
            for key in _POLYGONS:
                if key in value:
                    return self._polygon(value[key])
            for key in _MASKS:
                if isinstance(value.get(key), Mapping):
                    return self._mask(value[key])
                if key in value:
                    return self._polygon(value[key])
            if "counts" in value:
                return self._mask(value)
            for key in _POINTS:
                if key in value:
                    return self._point(_numbers(value[key]))
            if "x" in value and "y" in value:
                return self._point(_numbers([value["x"], value["y"]]))
            raise InvalidReference("an object of the reference has no point, box, polygon or mask", path="reference")
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], (list, tuple)):
            return self._polygon(value)
        numbers = _numbers(value)
        return self._point(numbers) if len(numbers) == 2 else self._box(numbers)

    def action(self, fields: Mapping[str, Any]) -> ExpectedAction:
        """An action with its target. Without a box or a point, no target is required."""
        found = self._params.acts.walk(fields)
        if len(found) != 1:
            raise InvalidReference("an action of the reference is none, or several in one text", path="reference")
        action = found[0]
        target = end = None
        for key in (*_BOXES, *_POLYGONS, *_MASKS, *_POINTS, "target"):
            # Some data sets write [-1, -1], [-100, -100] or null for a missing position.
            if key in fields and fields[key] not in (None, [], "") and not _nowhere(fields[key]):
                target = self.one({key: fields[key]} if key != "target" else fields[key])
                break
        else:
            if "x" in fields and "y" in fields:
                target = self._point(_numbers([fields["x"], fields["y"]]))
        for key in ("end_point", "end_box", "end"):
            if key in fields and fields[key] is not None:
                end = self.one(fields[key])
        return ExpectedAction(action, target, end)

    def _point(self, numbers: Sequence[float]) -> Target:
        if len(numbers) == 4:
            return self._box(numbers)
        if len(numbers) != 2:
            raise InvalidReference("a point of the reference must have two numbers", path="reference")
        params = self._params
        if params.tolerance is None and params.decay is None:
            raise InvalidParams(
                "the reference is a point: say how near an answer must come, with tolerance or decay",
                path="params.tolerance",
            )
        return PointTarget(
            numbers[0],
            numbers[1],
            tolerance=params.tolerance or 0.0,
            norm=params.norm,
            decay=params.decay,
            decay_length=params.decay_length or 1.0,
        )

    def _box(self, numbers: Sequence[float]) -> Target:
        if len(numbers) == 2:
            return self._point(numbers)
        if len(numbers) != 4 or numbers[0] >= numbers[2] or numbers[1] >= numbers[3]:
            raise InvalidReference("a box of the reference must be left, top, right, bottom", path="reference")
        return BoxTarget(*numbers)

    @staticmethod
    def _polygon(value: Any) -> Target:
        if isinstance(value, (list, tuple)) and len(value) == 1:  # COCO stores a list of outlines
            value = value[0]
        flat = isinstance(value, (list, tuple)) and value and not isinstance(value[0], (list, tuple))
        numbers = _numbers(value if flat else [part for point in _listed(value) for part in _listed(point)])
        if len(numbers) < 6 or len(numbers) % 2 or len(numbers) > 2 * _MOST_CORNERS:
            raise InvalidReference("a polygon of the reference must have three points or more", path="reference")
        return PolygonTarget(list(zip(numbers[0::2], numbers[1::2], strict=True)))

    def _mask(self, value: Mapping[str, Any]) -> Target:
        size, counts = value.get("size"), value.get("counts")
        if not isinstance(size, (list, tuple)) or len(size) != 2 or not isinstance(counts, (str, list, tuple)):
            raise InvalidReference("a mask has a size, [height, width], and counts", path="reference.mask")
        try:
            runs = counts if isinstance(counts, str) else [int(run) for run in counts]
            mask = Mask(int(size[0]), int(size[1]), runs)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidReference(f"the mask cannot be read: {error}", path="reference.mask") from None
        reach = extent(self._params.measured_scale, (mask.width, mask.height)) or (1.0, 1.0)
        return MaskTarget(mask, mask.width / reach[0], mask.height / reach[1])


def _listed(value: Any) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise InvalidReference("the reference has no list where one is expected", path="reference")
    return value


def _numbers(value: Any) -> list[float]:
    found = [number(item) for item in _listed(value)]
    if None in found:
        raise InvalidReference("a coordinate of the reference is not a finite number", path="reference")
    return [item for item in found if item is not None]


def _nowhere(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple))
        and bool(value)
        and all(isinstance(item, (int, float)) and item < 0 for item in value)
    )
