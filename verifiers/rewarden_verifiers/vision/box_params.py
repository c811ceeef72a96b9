"""Options of `box`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from rewarden_verifiers.vision import coco, polygons, rectangles, solids
from rewarden_verifiers.vision.assignment import Matching
from rewarden_verifiers.vision.box_format import FORMS, BoxFormat, Family
from rewarden_verifiers.vision.box_reader import BoxReader
from rewarden_verifiers.vision.classes import Classes
from rewarden_verifiers.vision.frames import Scale, Size
from rewarden_verifiers.vision.place_params import ImageParams, Which
from rewarden_verifiers.vision.schedule import Stage, check_stages

Measure = Literal["iou", "giou", "diou", "ciou", "l1"]
Aggregate = Literal["mean", "precision", "recall", "f", "weighted", "ap", "map"]
Steps = tuple[tuple[float, float], ...]

_USUAL_MOST = 100
_MEASURES: dict[Family, dict[Measure, Callable[[Any, Any], float]]] = {
    "rectangle": {
        "iou": rectangles.iou,
        "giou": rectangles.giou,
        "diou": rectangles.diou,
        "ciou": rectangles.ciou,
        "l1": rectangles.distance,
    },
    "polygon": {"iou": polygons.iou, "giou": polygons.giou},
    "solid": {"iou": solids.iou, "giou": solids.giou, "l1": solids.distance},
}


@dataclass(frozen=True, kw_only=True)
class BoxParams(ImageParams):
    """Options of `box`.

    format: Meaning of the numbers in an answer: `xyxy` (left, top, right, bottom; also two points), `xywh`, `cxcywh`
        (centre and size), `yxyx` (top, left, bottom, right), `corners` (two opposite corners in any order, or all
        four), `quad` (four points), `polygon` (three points or more), `rotated` (centre, size, angle), `xyzxyz` and
        `center_size_3d` (boxes in space). Self-describing keys (`{"x1", …}`, `{"x", "y", "width", …}`) take precedence.
    reference_format: The same for the reference. If unset, that of `format`.
    scale: Scale of the answer: `pixel`, `unit` (0 to 1) or `thousand` (0 to 1000).
    reference_scale: Scale of the reference, and of all measurements. If unset, that of `scale`.
    other_scales: Further scales that an answer can use. Otherwise a right box in another scale is wrong, with the flag
        `scale_confused` if the image's size is known.
    size: The image's [width, height] in pixels, if neither the reference (`size`, or `width` and `height`) nor the
        sample's metadata (`width` and `height`, or `size`, or `image_size`) gives it. Required to convert between
        pixels and the other scales.
    angle: Unit of the angle of `rotated`, which turns from the x axis towards the y axis.
    inclusive: The right and bottom pixels belong to the box (sizes have "+1"), for `xyxy`, `yxyx` and `corners`.
    clip: Clips boxes at the image's border, if its size is known.
    which: Boxes of an answer that count: `all`, or only the `first` or the `last`.
    measure: `iou`, `giou`, `diou`, `ciou`, or `l1` (1 minus the mean absolute difference of the coordinates over
        `l1_limit`).
    below_zero: Credit for a negative `giou`, `diou` or `ciou`: `clip`: none; `shift`: maps -1 … 1 to 0 … 1, so that
        boxes without overlap earn credit.
    l1_limit: Difference at which `l1` reaches 0, in the reference's scale.
    threshold: Required measure: a pair at or above it earns 1, one below it 0. If unset, a pair earns its measure.
    keep_value: A pair at or above the threshold earns its measure instead of 1.
    steps: A table in place of the threshold, `[[0.5, 0.3], [0.75, 0.6], [0.9, 1.0]]`: pairs of a measure and the credit
        from that measure up.
    schedule: Thresholds that rise during training: `[{"threshold": 0.85}, {"threshold": 0.95, "from_share": 0.1},
        {"threshold": 0.99, "from_share": 0.25}]` (or `from_step`). The request's `progress` selects the threshold, and
        `effective` reports it.
    match: Pairing of boxes: `hungarian` (the greatest sum), `greedy_score` (in the order of the scores), `greedy_value`
        (the greatest measure first). `ap` and `map` match as COCO does.
    by_class: Pairs only boxes of the same class, by their labels.
    aliases: Other names of classes: `{"person": ["man", "woman"]}`.
    aggregate: Score of several boxes: `mean` (the credit of all pairs over the greater number of boxes), `precision`
        (over the predicted boxes), `recall` (over the expected boxes), `f` (F-beta of both), `weighted` (both by
        `precision_weight`), `ap` (COCO's average precision at `threshold`, 0.5 by default), `map` (over IoU 0.50:0.95
        and classes).
    beta: Weight of recall in `f`.
    precision_weight: Share of precision in `weighted`; the rest is recall's.
    confidence_weight: Weight of the confidences (Visual-RFT). The score is multiplied by 1 - weight × (1 - c). c is the
        mean over the boxes of the confidence of a matched box, 1 minus that of an unmatched one, and 0 for a box
        without one. This is a factor, not a summand; otherwise boxes of confidence 0 anywhere would pay.
    most: Number of boxes that count, by highest score. If unset, 100, and for `recall` as many as are expected.
    limit: Most boxes in an answer; more score 0 (`too_many_boxes`).
    duplicate_iou: IoU from which a box is a duplicate of an earlier one of its class.
    duplicate_penalty: Penalty per duplicate. The score does not fall below 0.
    area: For `ap` and `map`: expected boxes of this size only: `small`, `medium`, `large` (COCO's), or `all`.
    whole_image: A box around (nearly) the whole image if less is expected: `zero`: earns nothing; `keep`: earns its
        measure. The image's size must be known.
    empty_score: Score for saying that there is nothing, if the reference is an empty list.
    pass_score: Lowest score at which the sample passes.
    extraction: Rules that find the answer: an ordered list, or a preset. By default a LaTeX box, an answer tag, else
        the whole response.
    """

    format: BoxFormat = "xyxy"
    reference_format: BoxFormat | None = None
    scale: Scale = "pixel"
    reference_scale: Scale | None = None
    other_scales: tuple[Scale, ...] = ()
    size: Size | None = None
    angle: Literal["degrees", "radians"] = "degrees"
    inclusive: bool = False
    clip: bool = False
    which: Which = "all"
    measure: Measure = "iou"
    below_zero: Literal["clip", "shift"] = "clip"
    l1_limit: float | None = None
    threshold: float | None = None
    keep_value: bool = False
    steps: Steps = ()
    schedule: tuple[Stage, ...] = ()
    match: Matching = "hungarian"
    by_class: bool = False
    aliases: dict[str, tuple[str, ...]] | None = None
    aggregate: Aggregate = "mean"
    beta: float = 1.0
    precision_weight: float = 0.5
    confidence_weight: float = 0.0
    most: int | None = None
    limit: int = 300
    duplicate_iou: float = 0.9
    duplicate_penalty: float = 0.0
    area: coco.Area = "all"
    whole_image: Literal["zero", "keep"] = "zero"
    empty_score: float = 1.0
    pass_score: float = 0.5
    extraction: str | tuple[str | dict[str, str], ...] = ("boxed", "answer_tag", "whole")

    def __post_init__(self) -> None:
        self._check_measure()
        self._check_worth()
        self.check_size()
        if self.other_scales and self.family != "rectangle":
            raise ValueError("other_scales is for axis-aligned boxes in the plane")
        if self.family == "solid" and {self.scale, self.measured_scale} != {"pixel"}:
            raise ValueError("boxes in space have one scale: leave scale and reference_scale at 'pixel'")
        self.check_share("pass_score")
        self.check_between(0, 1, "precision_weight", "confidence_weight", "duplicate_penalty", "empty_score")
        self.check_share("duplicate_iou")
        self.check_between(0.01, 100, "beta")
        self.check_between(1, 1000, "limit")
        if self.most is not None and not 1 <= self.most <= self.limit:
            raise ValueError("most must lie between 1 and limit")
        self.classes  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample
        self.rules  # noqa: B018

    def _check_measure(self) -> None:
        families = {FORMS[self.format].family, FORMS[self.gold_format].family}
        if "solid" in families and len(families) > 1:
            raise ValueError("format and reference_format must both be of boxes in space, or neither")
        if self.measure not in _MEASURES[self.family]:
            raise ValueError(f"measure: {self.measure!r} is not defined for format {self.format!r}")
        if (self.measure == "l1") != (self.l1_limit is not None):
            raise ValueError("l1_limit goes with measure 'l1', which needs it")
        if self.l1_limit is not None and not 0 < self.l1_limit <= 1e9:
            raise ValueError("l1_limit must be above 0")
        if self.inclusive and not {self.format, self.gold_format} <= {"xyxy", "yxyx", "corners"}:
            raise ValueError("inclusive is for the formats xyxy, yxyx and corners")
        if self.inclusive and {self.scale, self.measured_scale, *self.other_scales} != {"pixel"}:
            raise ValueError("inclusive is for pixels")

    def _check_worth(self) -> None:
        given = (self.threshold is not None) + bool(self.steps) + bool(self.schedule)
        if given > 1:
            raise ValueError("give one of threshold, steps and schedule")
        thresholds = [stage.threshold for stage in self.schedule]
        thresholds += [] if self.threshold is None else [self.threshold]
        thresholds += [least for least, _ in self.steps]
        if not all(0 < value <= 1 for value in thresholds):
            # A measure of 0 means no overlap: a threshold of 0 would give credit to any box at all.
            raise ValueError("thresholds must lie above 0 and at most at 1")
        if list(self.steps) != sorted(self.steps) or not all(0 <= worth <= 1 for _, worth in self.steps):
            raise ValueError("steps must rise, and be worth between 0 and 1")
        check_stages(self.schedule)
        if self.keep_value and self.threshold is None and not self.schedule:
            raise ValueError("keep_value goes with a threshold or a schedule")
        if self.aggregate in ("ap", "map"):
            if self.family != "rectangle" or self.measure != "iou":
                raise ValueError(f"aggregate {self.aggregate!r} is for axis-aligned boxes and measure 'iou'")
            if self.steps or self.keep_value or (self.aggregate == "map" and given):
                raise ValueError(f"aggregate {self.aggregate!r} has its own thresholds")
        elif self.area != "all":
            raise ValueError("area is for the aggregates ap and map")
        if self.area != "all" and self.measured_scale != "pixel":
            raise ValueError("area counts pixels: reference_scale must be 'pixel'")

    @cached_property
    def gold_format(self) -> BoxFormat:
        """The reference's format."""
        return self.reference_format or self.format

    @cached_property
    def family(self) -> Family:
        """The kind of shape that is measured: polygons if the answer or the reference uses them."""
        families = {FORMS[self.format].family, FORMS[self.gold_format].family}
        return "polygon" if "polygon" in families else FORMS[self.format].family

    @cached_property
    def own_measure(self) -> Callable[[Any, Any], float]:
        """The measure of two shapes, before it is converted to credit."""
        return _MEASURES[self.family][self.measure]

    @cached_property
    def own_iou(self) -> Callable[[Any, Any], float]:
        """The IoU of two shapes, whatever the chosen measure."""
        return _MEASURES[self.family]["iou"]

    @cached_property
    def own_overlap(self) -> tuple[Callable[[Any, Any], float], Callable[[Any], float]]:
        """Functions that return the shared area of two shapes, and the area of one."""
        module = polygons if self.family == "polygon" else rectangles
        return module.shared, module.area

    @cached_property
    def classes(self) -> Classes:
        """Classes with their aliases."""
        return Classes(self.aliases or {})

    @cached_property
    def reader(self) -> BoxReader:
        """The reader of answers."""
        return BoxReader(self.format)

    @cached_property
    def usual_most(self) -> int:
        """The number of boxes that count if `most` is not set and the aggregate is not recall."""
        return min(_USUAL_MOST, self.limit)
