"""`box`: compares the boxes in a response with the expected ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rewarden.types import Outcome, Progress
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import MAX_ANSWER, first_found
from rewarden_verifiers.outcome import no_answer, too_expensive, undecided, wrong
from rewarden_verifiers.vision import assignment, coco, matched, polygons, rectangles
from rewarden_verifiers.vision.box_format import Shape
from rewarden_verifiers.vision.box_gold import Gold, GoldBox, prepare
from rewarden_verifiers.vision.box_params import BoxParams
from rewarden_verifiers.vision.box_reader import Detection
from rewarden_verifiers.vision.box_shape import Shaper
from rewarden_verifiers.vision.frames import SCALES, Scale, Size, extent, factors, size_of
from rewarden_verifiers.vision.reading import read_all
from rewarden_verifiers.vision.schedule import threshold_now

_SHOWN = 100
"""The maximum number of boxes in a verdict."""
_CONFUSED = 0.5
"""The score from which boxes are flagged as right in another scale."""
_CROWD_SHARE = 0.5
_JUDGES = 16
_EDGE = 0.01
"""A box covers "the whole image" if each side is within this distance of the border, as a share of the image's size."""
_NEARLY_ALL = 0.9
_WHOLE = 1 - 1e-12
"""Perfect average precision; COCO's own guard against a division by zero keeps it just below 1."""


class Predicted(NamedTuple):
    """A predicted box, ready to be measured; `shape` is None if it is not a valid box."""

    shape: Shape | None
    label: str | None
    score: float | None


@dataclass(slots=True)
class Result:
    """The credit that a set of boxes earns, and the reason."""

    score: float
    evidence: dict[str, Any]
    flags: list[str]
    reason: str | None = None


class Judge:
    """Compares an answer's boxes with the expected ones, at the threshold in effect."""

    def __init__(self, gold: Gold, params: BoxParams, size: Size | None, threshold: float | None) -> None:
        self.gold, self.params, self.size = gold, params, size
        self.image = extent(params.measured_scale, size)
        self.threshold = threshold
        self._measure: Callable[[Any, Any], float] = params.own_measure
        self._as_measured = params.l1_limit is None and (params.below_zero == "clip" or params.measure == "iou")
        self._shapers: dict[Scale, Shaper | None] = {scale: self._shaper(scale) for scale in SCALES}

    def _shaper(self, scale: Scale) -> Shaper | None:
        by = factors(scale, self.params.measured_scale, self.size)
        return None if by is None else Shaper(self.params, self.params.format, by, self.image)

    def predicted(self, items: Sequence[Detection], scale: Scale) -> list[Predicted] | None:
        """The boxes in the reference's scale; None if converting them requires the image's size."""
        shaper, classes = self._shapers[scale], self.params.classes
        if shaper is None:
            return None
        return [Predicted(shaper.shape(item), classes.of(item.label), item.score) for item in items]

    def value(self, shape: Shape, expected: Shape) -> float:
        """The measure of a pair, clipped to the range 0 to 1."""
        value = self._measure(shape, expected)
        if not self._as_measured:
            limit = self.params.l1_limit
            value = (value + 1) / 2 if limit is None else 1 - value / limit
        return 0.0 if value < 0 else 1.0 if value > 1 else value

    def worth(self, value: float) -> float:
        """Returns the credit for a measure: the measure itself, or by thresholds."""
        threshold = self.threshold
        if threshold is not None:
            return (value if self.params.keep_value else 1.0) if value >= threshold else 0.0
        if self.params.steps:
            return max((worth for least, worth in self.params.steps if value >= least), default=0.0)
        return value

    def covers_all(self, shape: Shape, expected: Shape) -> bool:
        """Returns whether a box around the whole image was given although less was expected."""
        if self.image is None or self.params.whole_image == "keep" or self.params.family != "rectangle":
            return False
        width, height = self.image
        return bool(
            shape[0] <= _EDGE * width
            and shape[2] >= (1 - _EDGE) * width
            and shape[1] <= _EDGE * height
            and shape[3] >= (1 - _EDGE) * height
            and rectangles.area(expected) < _NEARLY_ALL * width * height
        )

    def alone(self, one: Predicted) -> Result:
        """Scores one box where one is expected."""
        expected = self.gold.boxes[0]
        if one.shape is None:
            return Result(0.0, {}, ["malformed_box"], "malformed")
        if self.params.by_class and one.label != expected.label:
            return Result(0.0, {"label": one.label}, [], "wrong_class")
        value = self.value(one.shape, expected.shape)
        evidence: dict[str, Any] = {self.params.measure: value}
        if value and self.covers_all(one.shape, expected.shape):
            return Result(0.0, evidence, ["whole_image"], "whole_image")
        worth = self.worth(value)
        if self.params.confidence_weight:
            worth *= self._confidence([one], {0} if worth else set(), evidence)
        return Result(worth, evidence, [])

    def together(self, boxes: Sequence[Predicted]) -> Result:
        """Scores several boxes against all expected ones."""
        params, golds = self.params, self.gold.counted
        ranked = sorted(range(len(boxes)), key=lambda place: -(boxes[place].score or 0.0))
        most = params.most or (len(golds) if params.aggregate == "recall" else params.usual_most)
        # Keep the order in which the boxes were written; the order of scores matters only for matching.
        kept = [boxes[place] for place in sorted(ranked[:most])]
        flags: list[str] = []
        if any(box.shape is None for box in kept):
            flags.append("malformed_box")
        gains = [[self._gain(box, gold, flags) for gold in golds] for box in kept]
        order = sorted(range(len(kept)), key=lambda place: -(kept[place].score or 0.0))
        pairs = assignment.assign(gains, params.match, order)
        worths = [self.worth(self.value(kept[row].shape, golds[column].shape)) for row, column in pairs]
        matched = {row for row, _ in pairs}
        crowds = [gold for gold in self.gold.boxes if gold.crowd]
        lost = sum(1 for place, box in enumerate(kept) if place not in matched and self._in_crowd(box, crowds))
        predicted, total = len(kept) - lost, sum(worths)
        evidence: dict[str, Any] = {
            "predicted": predicted,
            "expected": len(golds),
            "matched": len(pairs),
            "precision": total / predicted if predicted else 0.0,
            "recall": total / len(golds),
            "worths": worths[:_SHOWN],
        }
        if len(boxes) > len(kept):
            evidence["left_out"] = len(boxes) - len(kept)
        if params.aggregate in ("ap", "map"):
            found = self._average_precision(boxes, evidence)
            if found is None:
                return Result(0.0, evidence, flags, "nothing_expected")
            score = found if found < _WHOLE else 1.0
        else:
            score = self._aggregate(total, predicted, len(golds))
        if params.confidence_weight:
            score *= self._confidence(kept, matched, evidence)
        if len(kept) > 1 and (duplicates := self._duplicates(kept)):
            flags.append("duplicates")
            evidence["duplicates"] = duplicates
            score = max(0.0, score - params.duplicate_penalty * duplicates)
        return Result(min(1.0, score), evidence, flags)

    def _gain(self, box: Predicted, gold: GoldBox, flags: list[str]) -> float:
        if box.shape is None or (self.params.by_class and box.label != gold.label):
            return 0.0
        value = self.value(box.shape, gold.shape)
        worth = self.worth(value) if value else 0.0
        if worth and self.covers_all(box.shape, gold.shape):
            if "whole_image" not in flags:
                flags.append("whole_image")
            return 0.0
        # A tie-break: among matchings with the same credit, prefer the closer fit.
        return worth + 1e-6 * value if worth else 0.0

    def _aggregate(self, total: float, predicted: int, expected: int) -> float:
        params = self.params
        if params.aggregate == "weighted" and total:
            return params.precision_weight * total / predicted + (1 - params.precision_weight) * total / expected
        return matched.aggregate(total, predicted, expected, params)

    def _average_precision(self, boxes: Sequence[Predicted], evidence: dict[str, Any]) -> float | None:
        """COCO's average precision, averaged over the expected classes; None if no class has an expected box in this
        range of areas.
        """
        params = self.params
        golds = self.gold.boxes
        thresholds = coco.THRESHOLDS if params.aggregate == "map" else (self.threshold or 0.5,)
        labels = sorted({gold.label or "" for gold in golds}) if params.by_class else [None]
        by_class: dict[str, float] = {}
        recalls: list[float] = []
        for label in labels:
            expected = [
                coco.Expected(gold.shape, rectangles.area(gold.shape) if gold.area is None else gold.area, gold.crowd)
                for gold in golds
                if label is None or gold.label == label
            ]
            detected = [
                coco.Detected(box.shape, box.score or 0.0) for box in boxes if label is None or box.label == label
            ]
            found = coco.curves(expected, detected, thresholds, params.most or params.usual_most, params.area)
            if found is not None:
                by_class[label or "all"] = coco.mean([curve.precision for curve in found])
                recalls.append(coco.mean([curve.recall for curve in found]))
        if not by_class:
            return None
        evidence["average_precision"] = dict(list(by_class.items())[:_SHOWN])
        evidence["average_recall"] = coco.mean(recalls)
        return coco.mean(list(by_class.values()))

    def _confidence(self, boxes: Sequence[Predicted], matched: set[int], evidence: dict[str, Any]) -> float:
        """The factor by which the confidences scale the score."""
        earned = 0.0
        for place, box in enumerate(boxes):
            if box.score is not None and 0 <= box.score <= 1:
                earned += box.score if place in matched else 1 - box.score
        share = earned / len(boxes) if boxes else 0.0
        evidence["confidence"] = share
        return 1 - self.params.confidence_weight * (1 - share)

    def _duplicates(self, boxes: Sequence[Predicted]) -> int:
        """The number of boxes that repeat an earlier box of their class."""
        least, measure = self.params.duplicate_iou, self.params.own_iou
        seen: list[Predicted] = []
        count = 0
        for box in boxes:
            if box.shape is None:
                continue
            if any(
                (not self.params.by_class or other.label == box.label) and measure(box.shape, other.shape) >= least
                for other in seen
            ):
                count += 1
            else:
                seen.append(box)
        return count

    def _in_crowd(self, box: Predicted, crowds: Sequence[GoldBox]) -> bool:
        """Returns whether most of a box lies in a crowd region, where objects are not annotated individually."""
        shared, area = self.params.own_overlap
        return box.shape is not None and any(
            shared(box.shape, crowd.shape) >= _CROWD_SHARE * area(box.shape)
            for crowd in crowds
            if not self.params.by_class or crowd.label == box.label
        )


def _judge(gold: Gold, params: BoxParams, size: Size | None, threshold: float | None) -> Judge:
    """Returns the judge of a reference's answers, cached by image size and threshold."""
    judge: Judge | None = gold.judges.get((size, threshold))
    if judge is None:
        if len(gold.judges) >= _JUDGES:
            gold.judges.clear()
        judge = gold.judges[size, threshold] = Judge(gold, params, size, threshold)
    return judge


def _confused(judge: Judge, items: Sequence[Detection], score: float) -> tuple[Scale, Result] | None:
    """The scale in which the boxes would be right, if it is not the requested one, and the result in that scale; None
    if there is none.
    """
    params = judge.params
    numbers = [value for item in items for value in (item.numbers or ())]
    if not numbers or params.family != "rectangle":
        return None
    best: tuple[Scale, Result] | None = None
    for scale in SCALES:
        reach = extent(scale, judge.size)
        if scale == params.scale or reach is None or max(numbers) > 1.02 * max(reach) or min(numbers) < 0:
            continue
        boxes = judge.predicted(items, scale)
        if boxes is not None:
            found = judge.alone(boxes[0]) if judge.gold.single else judge.together(boxes)
            if found.score >= max(_CONFUSED, best[1].score if best else 0.0) and found.score > score:
                best = scale, found
    return best


def _shown(items: Sequence[Detection], single: bool) -> Any:
    """The judged boxes, with their numbers as written."""
    if single:
        return list(items[0].numbers) if items[0].numbers else None
    return [list(item.numbers) if item.numbers else None for item in items[:_SHOWN]]


def warm() -> None:
    """Imports SciPy and Shapely, if they are installed."""
    assignment.warm()
    polygons.warm()


@verifier(
    version="2",
    graded=True,
    prepare=prepare,
    warm=warm,
    libraries=("numpy",),
    optional={"vision": "polygons, rotated boxes, and several boxes for several objects"},
)
def box(
    response: str,
    prepared: Gold,
    params: BoxParams,
    metadata: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Compares boxes with the expected ones, by overlap, threshold, F-measure or average precision.

    The reference is one box (`[10, 20, 110, 220]`, `{"bbox": […], "label": "dog"}`) or a list of boxes, as numbers,
    points or objects with `label`, `crowd` and `area`. `{"boxes": […], "labels": […], "size": [640, 480]}` adds the
    image's size. A text is read like an answer. An answer can be JSON in fences or in the text, lists of numbers in
    prose, tags (`<box>`, `<bbox>`, `<|box_start|>(x,y),(x,y)<|box_end|>`), or named coordinates (`x1=10, y1=20 …`). The
    most explicit form in the answer is read, and the evidence names it.

    If one box is expected, one box earns its measure, or the credit of the threshold; several different ones are
    `hedged`. If a list is expected, boxes are matched one to one, and missing, superfluous and invalid boxes (inverted,
    empty, NaN) lower the score. The aggregate `precision` alone rewards a single certain box, and `recall` counts only
    as many boxes as are expected; `mean` and `f` require all of them and no others.

    A score of 0 has the reason `no_answer`, `malformed`, `hedged`, `whole_image`, `wrong_class`, `missed` (the answer
    says that there is nothing), `false_alarm` (boxes although there is nothing), `too_many_boxes` or `wrong`. If
    nothing is expected (an empty list), an answer must say so: `[]`, or in words. Boxes that would be right in another
    scale have the flag `scale_confused`.

    `ap` and `map` equal pycocotools for the one image of a sample, except that the rule above replaces -1 if nothing is
    expected. Axis-aligned boxes need no library, except to resolve conflicts between several. Polygons need Shapely,
    from the extra `vision`.
    """
    threshold = params.threshold
    effective: dict[str, Any] = {}
    if params.schedule:
        threshold, effective = threshold_now(params.schedule, progress)
    found = first_found(response, params.rules)
    if found is None:
        return too_expensive() if len(response) > MAX_ANSWER else no_answer()
    boxes = read_all(found.texts, params.reader.read, params.which)
    items = boxes.items
    details: dict[str, Any] = {"evidence": {"rule": found.rule, "form": boxes.form}, "effective": effective}
    if not items:
        return matched.nothing_found(boxes, bool(prepared.counted), params, details)
    if len(items) > params.limit:
        return wrong("too_many_boxes", flags=("too_many_boxes",), **details)
    single = prepared.single
    if single and len(items) > 1:
        # Repetitions count as one answer. Labels distinguish boxes only if classes count.
        items = tuple({(item.numbers, item.named, params.by_class and item.label): item for item in items}.values())
    details["extracted"] = _shown(items, single and len(items) == 1)
    if single and len(items) > 1:
        return wrong("hedged", flags=("hedged",), **details)
    if not prepared.counted:
        return wrong("false_alarm", **details)
    size = prepared.size or params.size or (size_of(metadata) if metadata else None)
    judge = _judge(prepared, params, size, threshold)
    ready = judge.predicted(items, params.scale)
    if ready is None:
        raise params.size_missing()
    result = judge.alone(ready[0]) if single else judge.together(ready)
    if result.reason == "nothing_expected":
        return undecided("nothing_expected", fault="reference", **details)
    if (
        result.score < _CONFUSED
        and result.reason is None
        and (other := _confused(judge, items, result.score)) is not None
    ):
        scale, better = other
        if scale in params.other_scales:
            result = better
            result.flags.append("other_scale")
        else:
            result.flags.append("scale_confused")
        result.evidence["scale"] = scale
    details["evidence"] |= result.evidence
    return matched.outcome(result.score, params, result.flags, details, result.reason)
