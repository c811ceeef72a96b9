"""The expected boxes of a sample, parsed once for all its responses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rewarden.errors import InvalidReference
from rewarden_verifiers.extraction import rules_of
from rewarden_verifiers.vision.box_format import FORMS, Shape
from rewarden_verifiers.vision.box_params import BoxParams
from rewarden_verifiers.vision.box_reader import BoxReader, Detection
from rewarden_verifiers.vision.box_shape import Shaper
from rewarden_verifiers.vision.frames import Size, size_of

_MOST = 1000
_ANSWER = rules_of(("boxed", "answer_tag", "whole"))


@dataclass(frozen=True, slots=True)
class GoldBox:
    """An expected box. `area`: its annotated area, if given."""

    shape: Shape
    label: str | None
    crowd: bool
    area: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Gold:
    """The expected boxes. `single`: one box is expected, not a set. `size`: the image's size, if the reference gives
    it.

    `counted` are the boxes to be found; crowd regions are not among them. `judges` caches the judges of answers, by
    image size and threshold.
    """

    boxes: tuple[GoldBox, ...]
    counted: tuple[GoldBox, ...]
    single: bool
    size: Size | None
    judges: dict[Any, Any] = field(default_factory=dict)


def prepare(reference: str | list[Any] | dict[str, Any], params: BoxParams) -> Gold:
    """Parses the expected boxes. Raises InvalidReference for invalid ones: inverted, empty, NaN, or too few numbers."""
    reader = BoxReader(params.gold_format)
    if isinstance(reference, str):
        items, single, size = *_from_text(reference, reader), None
    else:
        found: list[Detection] = []
        reader.walk(reference, found)
        items, single = found, _is_single(reference, found)
        size = size_of(reference) if isinstance(reference, dict) else None
        if not found and not _says_empty(reference):
            raise InvalidReference("the reference holds no box", path="reference")
    if len(items) > _MOST:
        raise InvalidReference(f"the reference has {len(items)} boxes, more than {_MOST}", path="reference")
    if params.by_class and any(item.label is None for item in items):
        raise InvalidReference("by_class needs a label for each box of the reference", path="reference")
    boxes = tuple(_gold(item, params) for item in items)
    counted = tuple(box for box in boxes if not box.crowd)
    return Gold(boxes, counted, single and bool(counted), size)


def _from_text(text: str, reader: BoxReader) -> tuple[list[Detection], bool]:
    for rule in _ANSWER:
        found = rule(text)
        if found is not None:
            boxes = reader.read(found.text)
            if not boxes.items and not boxes.denied:
                break
            return list(boxes.items), len(boxes.items) == 1 and "[[" not in text and "[{" not in text
    raise InvalidReference("the reference holds no box", path="reference")


def _is_single(reference: list[Any] | dict[str, Any], found: list[Detection]) -> bool:
    """Returns whether the reference is a single box rather than a list of one."""
    if len(found) != 1:
        return False
    if isinstance(reference, list):
        if all(not isinstance(item, (list, tuple, dict)) for item in reference):
            return True
        pairs = all(isinstance(item, (list, tuple)) and len(item) == 2 for item in reference)
        return pairs and len(reference) > 1
    return not any(
        isinstance(value, (list, tuple)) and value and isinstance(value[0], (dict, list, tuple)) and len(value) == 1
        for value in reference.values()
    )


def _says_empty(reference: list[Any] | dict[str, Any]) -> bool:
    if isinstance(reference, list):
        return not reference
    return any(value == [] for value in reference.values())


def _gold(item: Detection, params: BoxParams) -> GoldBox:
    if item.numbers is None:
        raise InvalidReference(f"the reference holds what is not a box: {item.problem}", path="reference")
    # The shape stays in the reference's scale, in which everything is measured.
    shape = Shaper(params, params.gold_format, (1.0, 1.0)).shape(item)
    if shape is None:
        raise InvalidReference(
            f"the reference's box {list(item.numbers)} is inverted, empty or crosses itself as "
            f"{item.named or params.gold_format}; see the parameter reference_format",
            path="reference",
        )
    if item.area is not None and item.area < 0:
        raise InvalidReference("a box's area must not be negative", path="reference")
    if FORMS[params.gold_format].family == "solid" and item.crowd:
        raise InvalidReference("crowd regions are for boxes in the plane", path="reference")
    return GoldBox(shape, params.classes.of(item.label), item.crowd, item.area)
