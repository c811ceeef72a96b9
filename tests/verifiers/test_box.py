"""`box`: readings, measures, matchings and aggregates; average precision beside pycocotools."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import math
import random
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidParams, InvalidReference, InvalidSample
from rewarden.types import Outcome, Progress, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.vision import coco, rectangles
from rewarden_verifiers.vision.box import box
from rewarden_verifiers.vision.box_gold import prepare
from rewarden_verifiers.vision.box_params import BoxParams
from rewarden_verifiers.vision.box_reader import BoxReader
from rewarden_verifiers.vision.documents import denies
from tests.verifiers.counting import HOSTILE, steps

PLANNER = Planner(Registry())
GOLD = [10, 20, 110, 220]


def judged(
    response: str, reference: Any = GOLD, metadata: Any = None, progress: Progress | None = None, **params: Any
) -> Outcome:
    checked = PLANNER.bind(Use(name="box", params=params)).params
    return box(response, prepare(reference, checked), checked, metadata, progress)


# --- reading -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("10, 20, 110, 220", "numbers"),
        ("10 20 110 220", "numbers"),
        ("[10,20,110,220]", "numbers"),
        ("[10.0, 20.0, 1.1e2, 220]", "numbers"),
        ("(10, 20, 110, 220)", "prose"),
        ("[[10, 20, 110, 220]]", "json"),
        ("[[10, 20], [110, 220]]", "json"),
        ('{"bbox": [10, 20, 110, 220]}', "json"),
        ('{"box": {"x1": 10, "y1": 20, "x2": 110, "y2": 220}}', "json"),
        ('{"xmin": 10, "ymin": 20, "xmax": 110, "ymax": 220, "label": "dog"}', "json"),
        ('{"left": 10, "top": 20, "width": 100, "height": 200}', "json"),
        ('{"cx": 60, "cy": 120, "w": 100, "h": 200}', "json"),
        ('{"bbox_2d": ["10", "20", "110", "220"]}', "json"),
        ('{"bbox": "[10, 20, 110, 220]"}', "json"),
        ('{"dog": [10, 20, 110, 220]}', "json"),
        ('{"image_size": [640, 480], "objects": [{"name": "dog", "bbox": [10, 20, 110, 220]}]}', "json"),
        ("{'bbox': (10, 20, 110, 220), 'label': None,}", "json"),
        ('Sure:\n```json\n[{"bbox_2d": [10, 20, 110, 220]}]\n```\nDone.', "fenced_json"),
        ('```\n{"boxes": [[10, 20, 110, 220]]}\n```', "fenced_json"),
        ("<box>10 20 110 220</box>", "tags"),
        ("<box>(10,20),(110,220)</box>", "tags"),
        ("<bbox>[10, 20, 110, 220]</bbox>", "tags"),
        ("<|box_start|>(10,20),(110,220)<|box_end|>", "tags"),
        ("<p>the dog</p><box>10,20,110,220</box>", "tags"),
        ("from (10, 20) to (110, 220)", "prose"),
        ("The dog [10, 20, 110, 220] sleeps; see figure [1].", "json"),
        ("x1: 10, y1: 20, x2: 110, y2: 220", "prose"),
        ("xmin=10 ymin=20 xmax=110 ymax=220", "prose"),
        ('"x": 10, "y": 20, "width": 100, "height": 200', "prose"),
        ("upper-left corner (10, 20) and lower right corner (110, 220)", "prose"),
    ],
)
def test_every_usual_spelling_is_read(text: str, form: str) -> None:
    outcome = judged(text)
    assert (outcome.score, outcome.evidence["form"]) == (1.0, form)


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("xyxy", "[10, 20, 110, 220]"),
        ("xywh", "[10, 20, 100, 200]"),
        ("cxcywh", "[60, 120, 100, 200]"),
        ("yxyx", "[20, 10, 220, 110]"),
        ("corners", "[110, 20, 10, 220]"),
        ("corners", "[[10, 20], [110, 20], [110, 220], [10, 220]]"),
        ("quad", "[10, 20, 110, 20, 110, 220, 10, 220]"),
        ("polygon", "[[10, 20], [60, 20], [110, 20], [110, 220], [10, 220]]"),
        ("rotated", "[60, 120, 100, 200, 0]"),
        ("rotated", "[60, 120, 200, 100, 90]"),
    ],
)
def test_every_format_says_the_same_box(format: str, text: str) -> None:
    outcome = judged(text, format=format, reference_format="xyxy")
    assert outcome.score == pytest.approx(1.0)


@pytest.mark.parametrize("scale", ["pixel", "unit", "thousand"])
@pytest.mark.parametrize("measured", ["pixel", "unit", "thousand"])
@pytest.mark.parametrize("format", ["xyxy", "xywh", "cxcywh", "yxyx", "quad", "rotated"])
def test_scales_and_formats_go_together(scale: str, measured: str, format: str) -> None:
    width, height = {"pixel": (640, 480), "unit": (1, 1), "thousand": (1000, 1000)}[scale]
    reach = {"pixel": (640, 480), "unit": (1, 1), "thousand": (1000, 1000)}[measured]
    left, top, right, bottom = 0.25 * width, 0.5 * height, 0.5 * width, 0.75 * height
    numbers = {
        "xyxy": [left, top, right, bottom],
        "xywh": [left, top, right - left, bottom - top],
        "cxcywh": [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top],
        "yxyx": [top, left, bottom, right],
        "quad": [left, top, right, top, right, bottom, left, bottom],
        "rotated": [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top, 0],
    }[format]
    reference = [0.25 * reach[0], 0.5 * reach[1], 0.5 * reach[0], 0.75 * reach[1]]
    options = {"format": format, "reference_format": "xyxy", "scale": scale, "reference_scale": measured}
    assert judged(json.dumps(numbers), reference, size=[640, 480], **options).score == pytest.approx(1.0)
    assert judged(json.dumps(numbers), reference, {"size": [640, 480]}, **options).score == pytest.approx(1.0)
    if (scale == "pixel") != (measured == "pixel"):
        with pytest.raises(InvalidSample):
            judged(json.dumps(numbers), reference, **options)


def test_labels_and_scores_stand_beside_their_boxes() -> None:
    texts = {
        '[{"bbox": [1, 2, 3, 4], "label": "dog", "score": 0.5}]': ("dog", 0.5),
        '[{"class": "dog", "confidence": "0.5", "bbox_2d": [1, 2, 3, 4]}]': ("dog", 0.5),
        '{"boxes": [[1, 2, 3, 4]], "labels": ["dog"], "scores": [0.5]}': ("dog", 0.5),
        '{"dog": [[1, 2, 3, 4]]}': ("dog", None),
        "<ref>dog</ref><box>1 2 3 4</box>": ("dog", None),
        "dog: (1, 2, 3, 4)": ("dog", None),
        "[1, 2, 3, 4]": (None, None),
    }
    for text, expected in texts.items():
        (found,) = BoxReader("xyxy").read(text).items
        assert (found.numbers, found.label, found.score) == ((1.0, 2.0, 3.0, 4.0), *expected), text


def test_a_label_holds_for_the_boxes_that_follow_it() -> None:
    text = "<ref>dogs</ref><box>1 2 3 4</box><box>5 6 7 8</box> and <box>0 0 1 1</box>"
    assert [item.label for item in BoxReader("xyxy").read(text).items] == ["dogs", "dogs", None]


@pytest.mark.parametrize(("which", "score"), [("all", 0.0), ("first", 1.0), ("last", 0.0)])
def test_which_of_several_counts(which: str, score: float) -> None:
    assert judged("First [10, 20, 110, 220], then [300, 300, 310, 310].", which=which).score == score


def test_the_same_box_twice_is_no_hedge() -> None:
    assert judged("It is [10, 20, 110, 220]. So: [10, 20, 110, 220].").score == 1.0


# --- measures ------------------------------------------------------------------------------------------------------

coordinates = st.integers(0, 60).map(lambda value: value / 4)
boxes = st.tuples(coordinates, coordinates, coordinates, coordinates).map(
    lambda n: (min(n[0], n[2]), min(n[1], n[3]), max(n[0], n[2]) + 0.25, max(n[1], n[3]) + 0.25)
)


@given(boxes, boxes)
def test_measures_are_bounded_symmetric_and_ordered(a: Any, b: Any) -> None:
    overlap = rectangles.iou(a, b)
    assert 0 <= overlap <= 1
    assert overlap == rectangles.iou(b, a)
    assert rectangles.iou(a, a) == rectangles.giou(a, a) == rectangles.diou(a, a) == rectangles.ciou(a, a) == 1
    for measure in (rectangles.giou, rectangles.diou):
        assert -1 <= measure(a, b) <= overlap + 1e-12
        assert measure(a, b) == pytest.approx(measure(b, a))
    assert -1.5 <= rectangles.ciou(a, b) <= rectangles.diou(a, b) + 1e-12


@given(boxes, boxes)
@settings(max_examples=60)
def test_rectangles_and_polygons_agree(a: Any, b: Any) -> None:
    options = {"reference_format": "xyxy", "measure": "iou"}
    plain = judged(json.dumps(a), list(b), **options)
    quad = [a[0], a[1], a[2], a[1], a[2], a[3], a[0], a[3]]
    shaped = judged(json.dumps(quad), list(b), format="quad", **options)
    assert plain.score == pytest.approx(shaped.score, abs=1e-9)


@given(boxes, boxes)
def test_overlap_is_counted_cell_by_cell(a: Any, b: Any) -> None:
    def cells(box: Any) -> set[tuple[int, int]]:
        left, top, right, bottom = (round(value * 4) for value in box)
        return set(itertools.product(range(left, right), range(top, bottom)))

    ours, theirs = cells(a), cells(b)
    assert rectangles.iou(a, b) == pytest.approx(len(ours & theirs) / len(ours | theirs))


def test_known_values() -> None:
    a, b = (0.0, 0.0, 2.0, 2.0), (1.0, 1.0, 3.0, 3.0)
    assert rectangles.iou(a, b) == pytest.approx(1 / 7)
    assert rectangles.giou(a, b) == pytest.approx(1 / 7 - 2 / 9)
    assert rectangles.diou(a, b) == pytest.approx(1 / 7 - 2 / 18)
    wide = (0.0, 0.0, 4.0, 1.0)
    apart = 4 / math.pi**2 * (math.atan(1) - math.atan(4)) ** 2
    overlap = rectangles.iou(wide, a)
    expected = rectangles.diou(wide, a) - apart * apart / (1 - overlap + apart)
    assert rectangles.ciou(wide, a) == pytest.approx(expected)
    assert judged("[0, 0, 0, 2, 2, 2]", [1, 0, 0, 3, 2, 2], format="xyzxyz").score == pytest.approx(1 / 3)
    assert (
        judged("[1, 1, 1, 2, 2, 2]", [0, 0, 0, 2, 2, 2], format="center_size_3d", reference_format="xyzxyz").score == 1
    )


def test_inclusive_pixels() -> None:
    assert judged("[0, 0, 9, 9]", [0, 0, 9, 4], inclusive=True).score == pytest.approx(0.5)
    assert judged("[0, 0, 9, 9]", [0, 0, 9, 4]).score == pytest.approx(36 / 81)


def test_clipping_at_the_border() -> None:
    assert judged("[-50, 20, 110, 220]", [0, 20, 110, 220], size=[640, 480], clip=True).score == 1.0
    assert judged("[-50, 20, 110, 220]", [0, 20, 110, 220], size=[640, 480]).score < 1.0


# --- thresholds ----------------------------------------------------------------------------------------------------

V_TRIUNE = [{"threshold": 0.85}, {"threshold": 0.95, "from_share": 0.1}, {"threshold": 0.99, "from_share": 0.25}]


@pytest.mark.parametrize(
    ("step", "threshold", "score"), [(0, 0.85, 1.0), (9, 0.85, 1.0), (10, 0.95, 1.0), (25, 0.99, 0.0), (100, 0.99, 0.0)]
)
def test_the_threshold_grows_with_the_training(step: int, threshold: float, score: float) -> None:
    outcome = judged("[12, 20, 112, 220]", progress=Progress(step=step, total_steps=100), schedule=V_TRIUNE)
    assert (outcome.score, dict(outcome.effective)) == (score, {"threshold": threshold, "step": step})


def test_a_schedule_by_steps_and_what_it_needs() -> None:
    stages = [{"threshold": 0.5}, {"threshold": 0.99, "from_step": 200}]
    for step, score in ((199, 1.0), (200, 0.0)):
        assert judged("[12, 20, 112, 220]", progress=Progress(step=step), schedule=stages).score == score
    with pytest.raises(InvalidSample, match="progress"):
        judged("[12, 20, 112, 220]", schedule=stages)
    with pytest.raises(InvalidSample, match="total_steps"):
        judged("[12, 20, 112, 220]", progress=Progress(step=3), schedule=V_TRIUNE)


def test_the_value_above_a_threshold_may_be_kept() -> None:
    assert judged("[12, 20, 112, 220]", threshold=0.9, keep_value=True).score == pytest.approx(98 / 102)
    assert judged("[40, 20, 142, 220]", threshold=0.9, keep_value=True).score == 0.0


@pytest.mark.parametrize(("left", "score"), [(10, 1.0), (20, 0.6), (30, 0.3), (60, 0.0)])
def test_a_table_of_steps(left: int, score: float) -> None:
    response = json.dumps([left, 20, left + 100, 220])
    assert judged(response, steps=[[0.5, 0.3], [0.75, 0.6], [0.9, 1.0]]).score == score


# --- matching ------------------------------------------------------------------------------------------------------


def random_boxes(rng: random.Random, count: int, span: int = 40) -> list[list[int]]:
    found = []
    for _ in range(count):
        left, top = rng.randrange(span), rng.randrange(span)
        found.append([left, top, left + rng.randint(4, 20), top + rng.randint(4, 20)])
    return found


def test_hungarian_finds_the_greatest_sum_there_is() -> None:
    rng = random.Random(4)
    for _ in range(60):
        ours, theirs = random_boxes(rng, rng.randint(1, 5), 12), random_boxes(rng, rng.randint(1, 5), 12)
        table = [[rectangles.iou(tuple(a), tuple(b)) for b in theirs] for a in ours]  # type: ignore[arg-type]
        short, long = sorted((len(ours), len(theirs)))
        best = max(
            sum(
                table[row][column] if len(ours) <= len(theirs) else table[column][row] for row, column in enumerate(one)
            )
            for one in itertools.permutations(range(long), short)
        )
        outcome = judged(json.dumps(ours), theirs)
        assert outcome.score == pytest.approx(best / long, abs=1e-6)
        greedy = judged(json.dumps(ours), theirs, match="greedy_value")
        assert greedy.score <= outcome.score + 1e-6


def test_the_order_of_boxes_does_not_matter() -> None:
    rng = random.Random(5)
    for _ in range(20):
        ours, theirs = random_boxes(rng, 5), random_boxes(rng, 4)
        score = judged(json.dumps(ours), theirs, aggregate="f").score
        rng.shuffle(ours)
        rng.shuffle(theirs)
        assert judged(json.dumps(ours), theirs, aggregate="f").score == pytest.approx(score)


def test_greedy_by_score_lets_the_surest_choose() -> None:
    theirs = [[0, 0, 10, 10], [100, 0, 110, 10]]
    ours = [{"box": [1, 0, 11, 10], "score": 0.2}, {"box": [0, 0, 10, 10], "score": 0.1}]
    assert judged(json.dumps(ours), theirs, match="greedy_score").evidence["worths"] == [pytest.approx(9 / 11)]
    assert judged(json.dumps(ours), theirs, match="greedy_value").evidence["worths"] == [1.0]


def test_classes_keep_boxes_apart() -> None:
    theirs = [{"box": [0, 0, 10, 10], "label": "cat"}, {"box": [20, 0, 30, 10], "label": "dog"}]
    swapped = [{"box": [0, 0, 10, 10], "label": "dog"}, {"box": [20, 0, 30, 10], "label": "cat"}]
    assert judged(json.dumps(swapped), theirs).score == 1.0
    assert judged(json.dumps(swapped), theirs, by_class=True).score == 0.0
    assert judged(json.dumps(swapped), theirs, by_class=True, aliases={"cat": ["dog"]}).score == 1.0


@pytest.mark.parametrize(
    ("aggregate", "score"), [("mean", 0.4), ("precision", 0.4), ("recall", 0.5), ("f", 4 / 9), ("weighted", 0.45)]
)
def test_aggregates(aggregate: str, score: float) -> None:
    theirs = [[100 * place, 0, 100 * place + 10, 10] for place in range(4)]
    ours = [*theirs[:2], [0, 500, 10, 510], [50, 500, 60, 510], [90, 500, 99, 510]]
    outcome = judged(json.dumps(ours), theirs, aggregate=aggregate)
    assert outcome.score == pytest.approx(score)


def test_recall_counts_the_surest_boxes() -> None:
    ours = [{"box": [300, 300, 310, 310], "score": 0.1}, {"box": GOLD, "score": 0.9}]
    assert judged(json.dumps(ours), [GOLD], aggregate="recall").score == 1.0
    ours[1]["score"] = 0.05
    assert judged(json.dumps(ours), [GOLD], aggregate="recall").score == 0.0


# --- average precision ---------------------------------------------------------------------------------------------


def reference_stats(golds: list[dict[str, Any]], found: list[dict[str, Any]], by_class: bool) -> Any:
    """Returns what pycocotools says of one image."""
    coco_module = pytest.importorskip("pycocotools.coco")
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):
        data = coco_module.COCO()
        labels = ["a", "b", "c", "d"]
        data.dataset = {
            "info": {},
            "images": [{"id": 1, "width": 400, "height": 400}],
            "categories": [{"id": place + 1, "name": label} for place, label in enumerate(labels)],
            "annotations": [
                {
                    "id": place + 1,
                    "image_id": 1,
                    "category_id": labels.index(gold["label"]) + 1,
                    "bbox": xywh(gold["bbox"]),
                    "area": gold["area"],
                    "iscrowd": gold["iscrowd"],
                }
                for place, gold in enumerate(golds)
            ],
        }
        data.createIndex()
        results = data.loadRes(
            [
                {
                    "image_id": 1,
                    "category_id": labels.index(one["label"]) + 1,
                    "bbox": xywh(one["bbox"]),
                    "score": one["score"],
                }
                for one in found
            ]
        )
        run = COCOeval(data, results, "bbox")
        run.params.useCats = int(by_class)
        run.evaluate()
        run.accumulate()
    return run.eval


def xywh(numbers: list[float]) -> list[float]:
    return [numbers[0], numbers[1], numbers[2] - numbers[0], numbers[3] - numbers[1]]


def random_scene(rng: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Expected and detected boxes: many near misses, equal scores, crowds, classes of which only one side knows."""
    step = rng.choice((0.25, 1, 8))
    golds: list[dict[str, Any]] = []
    for _ in range(rng.randint(1, 9)):
        left, top = rng.randrange(0, 200, 8), rng.randrange(0, 200, 8)
        numbers = [left, top, left + rng.choice((8, 16, 40, 100, 120)), top + rng.choice((8, 24, 48, 100, 120))]
        area = (numbers[2] - numbers[0]) * (numbers[3] - numbers[1]) * rng.choice((1, 1, 0.6))
        crowd = int(rng.random() < 0.15)
        golds.append({"bbox": numbers, "label": rng.choice("aab"), "area": area, "iscrowd": crowd})
    found: list[dict[str, Any]] = []
    for _ in range(rng.randint(1, 14)):
        near = rng.choice(golds)["bbox"]
        numbers = [value + step * rng.randint(-3, 3) for value in near]
        if rng.random() < 0.25:
            numbers = [300, 300, 300 + rng.choice((8, 40, 100)), 340]
        if rng.random() < 0.2:
            numbers = list(near)
        numbers[2], numbers[3] = max(numbers[2], numbers[0] + 1), max(numbers[3], numbers[1] + 1)
        found.append({"bbox": numbers, "label": rng.choice("aabc"), "score": rng.choice((0.1, 0.5, 0.5, 0.9, 0.77))})
    return golds, found


def mean_of_defined(values: Any) -> float | None:
    defined = values[values > -1]
    return float(defined.mean()) if defined.size else None


@pytest.mark.parametrize("by_class", [True, False])
def test_average_precision_equals_pycocotools(by_class: bool) -> None:
    rng = random.Random(11)
    undefined = 0
    for _ in range(60):
        golds, found = random_scene(rng)
        if not by_class:
            # There pycocotools goes by classes first, which shows where scores or overlaps are equal.
            golds.sort(key=lambda one: one["label"])
            found.sort(key=lambda one: one["label"])
        stats = reference_stats(golds, found, by_class)
        response = json.dumps(found)
        for place, area in enumerate(("all", "small", "medium", "large")):
            options: dict[str, Any] = {"by_class": by_class, "area": area, "aggregate": "map"}
            if all(gold["iscrowd"] for gold in golds):
                continue  # nothing is expected: our own rule
            expected = mean_of_defined(stats["precision"][:, :, :, place, 2])
            outcome = judged(response, golds, **options)
            if expected is None:
                undefined += 1
                assert (outcome.status, outcome.reason) == ("undecided", "nothing_expected")
                continue
            assert outcome.score == pytest.approx(expected, abs=1e-9)
            recall = mean_of_defined(stats["recall"][:, :, place, 2])
            assert outcome.evidence["average_recall"] == pytest.approx(recall, abs=1e-9)
            for most, column in ((1, 0), (10, 1)):
                expected = mean_of_defined(stats["precision"][:, :, :, place, column])
                assert judged(response, golds, most=most, **options).score == pytest.approx(expected, abs=1e-9)
        if not all(gold["iscrowd"] for gold in golds):
            for row, threshold in ((0, 0.5), (5, 0.75)):
                expected = mean_of_defined(stats["precision"][row, :, :, 0, 2])
                one = judged(response, golds, by_class=by_class, aggregate="ap", threshold=threshold)
                assert one.score == pytest.approx(expected, abs=1e-9)
    assert undefined


def test_the_thresholds_are_those_of_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    assert list(numpy.linspace(0.5, 0.95, 10)) == list(coco.THRESHOLDS)
    assert list(numpy.linspace(0, 1, 101)) == list(coco.RECALLS)


def test_junk_among_the_detections_is_a_false_alarm() -> None:
    found = [{"bbox": [5, 5, 1, 1], "score": 0.9}, {"bbox": GOLD, "score": 0.5}]
    assert judged(json.dumps(found), [GOLD], aggregate="map").score == pytest.approx(0.5)


# --- what never pays -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aggregate", ["mean", "precision", "recall", "f", "weighted", "ap", "map"])
@pytest.mark.parametrize(
    "response",
    ["", "I do not know.", "[]", "[[0, 0, 0, 0]]", "[[9, 9, 1, 1]]", "[[NaN, 0, 1, 1]]", "[[1, 2, 3]]", "[[[]]]", "{}"],
)
def test_nothing_and_junk_earn_nothing(aggregate: str, response: str) -> None:
    outcome = judged(response, [GOLD, [200, 200, 300, 300]], aggregate=aggregate)
    assert (outcome.score, outcome.fault) == (0.0, "policy")


@pytest.mark.parametrize("scale", ["unit", "thousand"])
def test_the_whole_image_is_known_in_scales_that_know_it(scale: str) -> None:
    reach = 1 if scale == "unit" else 1000
    outcome = judged(json.dumps([0, 0, reach, reach]), [0, 0, reach, 0.8 * reach], scale=scale)
    assert (outcome.score, outcome.reason) == (0.0, "whole_image")
    assert judged(json.dumps([0, 0, reach, reach]), [0, 0, reach, 0.95 * reach], scale=scale).score > 0.9
    kept = judged(json.dumps([0, 0, reach, reach]), [0, 0, reach, 0.8 * reach], scale=scale, whole_image="keep")
    assert kept.score == pytest.approx(0.8)


@given(st.integers(2, 40), st.integers(1, 4))
def test_more_copies_never_pay_more(copies: int, expected: int) -> None:
    theirs = [[100 * place, 0, 100 * place + 50, 50] for place in range(expected)]
    once = judged(json.dumps(theirs), theirs, aggregate="f").score
    assert judged(json.dumps(theirs * copies), theirs, aggregate="f").score < once


# --- parameters and references -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {"format": "ltrb"},
        {"threshold": 0},
        {"threshold": 1.1},
        {"threshold": 0.5, "steps": [[0.5, 1]]},
        {"steps": [[0.9, 1.0], [0.5, 0.5]]},
        {"steps": [[0.5, 2]]},
        {"schedule": [{"threshold": 0.5, "from_step": 3}]},
        {"schedule": [{"threshold": 0.5}, {"threshold": 0.6}]},
        {"schedule": [{"threshold": 0.5}, {"threshold": 0.6, "from_step": 3}, {"threshold": 0.7, "from_share": 0.5}]},
        {"schedule": [{"threshold": 0.5}, {"threshold": 0.6, "from_share": 1.5}]},
        {"schedule": [{"threshold": 0.5, "step": 3}]},
        {"keep_value": True},
        {"measure": "l1"},
        {"l1_limit": 3},
        {"measure": "ciou", "format": "quad"},
        {"format": "xyzxyz", "reference_format": "xyxy"},
        {"format": "xyzxyz", "scale": "unit"},
        {"inclusive": True, "format": "xywh"},
        {"inclusive": True, "scale": "unit"},
        {"aggregate": "map", "threshold": 0.5},
        {"aggregate": "map", "format": "quad"},
        {"aggregate": "ap", "measure": "giou"},
        {"area": "small"},
        {"area": "small", "aggregate": "map", "scale": "unit"},
        {"beta": 0},
        {"limit": 0},
        {"most": 500, "limit": 300},
        {"size": [0, 3]},
        {"pass_score": 0},
        {"duplicate_iou": 0},
        {"aliases": {"cat": ["animal"], "dog": ["animal"]}},
        {"extraction": "none"},
        {"other_scales": ["unit"], "format": "quad"},
    ],
)
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="box", params=params))


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "no",
        {},
        {"a": 1},
        [1, 2, 3],
        [3, 4, 1, 2],
        [1, 2, 1, 2],
        [math.nan, 1, 2, 3],
        [[1, 2, 3, 4], [1, 2, 3]],
        [{}],
    ],
)
def test_bad_references_are_told(reference: Any) -> None:
    if reference == "no":  # a denial is an empty reference
        assert prepare(reference, BoxParams()).boxes == ()
        return
    with pytest.raises(InvalidReference):
        prepare(reference, BoxParams())


def test_references_that_say_one_or_a_list() -> None:
    for one in (GOLD, "[10, 20, 110, 220]", {"bbox": GOLD, "label": "x"}, [[10, 20], [110, 220]]):
        assert prepare(one, BoxParams()).single, one
    for several in ([GOLD], [{"bbox": GOLD}], {"boxes": [GOLD]}, "[[10, 20, 110, 220]]", {"objects": [{"bbox": GOLD}]}):
        assert not prepare(several, BoxParams()).single, several
    assert prepare([], BoxParams()).boxes == ()
    assert prepare({"boxes": [GOLD], "width": 640, "height": 480}, BoxParams()).size == (640.0, 480.0)
    with pytest.raises(InvalidReference, match="label"):
        prepare([GOLD], BoxParams(by_class=True))


# --- robustness ----------------------------------------------------------------------------------------------------

PIECES = [
    *HOSTILE,
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "[1,2,3,4]",
    "[1, 2], ",
    "(1,2),(3,4) ",
    "10, ",
    "1e9 ",
    "nan, ",
    '"',
    "'",
    '{"bbox": ',
    "[1,",
    "```json\n",
    "```",
    "<box>",
    "</box>",
    "<|box_start|>",
    "<|box_end|>",
    "x1=1, ",
    "x1=1,y1=1,x2=2,y2=2 ",
    "<box>1 2 3 4</box>",
    '{"bbox":[1,2,3,4]},',
    "bottom-right ",
    "- ",
    "1 ",
    "9" * 30,
    "1.1.1, ",
    '"label": ',
    "to ",
]
KINDS: list[dict[str, Any]] = [
    {},
    {"format": "polygon", "aggregate": "f"},
    {"format": "rotated", "measure": "giou"},
    {"by_class": True, "aggregate": "map"},
    {"scale": "thousand", "other_scales": ["pixel", "unit"], "size": [100, 100], "confidence_weight": 0.5},
    {"format": "xyzxyz", "measure": "l1", "l1_limit": 3},
]
REFERENCES: list[Any] = [
    [1, 2, 3, 4],
    [[1, 2, 3, 4, 5, 2]],
    [1, 2, 3, 4, 5],
    [{"bbox": [1, 2, 3, 4], "label": "a"}, {"bbox": [5, 6, 7, 8], "label": "b", "iscrowd": 1}],
    {"boxes": [[1, 2, 3, 4]]},
    [1, 2, 3, 4, 5, 6],
]
CHECKED = [PLANNER.bind(Use(name="box", params=kind)).params for kind in KINDS]
PREPARED = [prepare(reference, checked) for reference, checked in zip(REFERENCES, CHECKED, strict=True)]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_no_text_raises_and_every_outcome_is_a_finite_score(text: str) -> None:
    for gold, checked in zip(PREPARED, CHECKED, strict=True):
        outcome = box(text, gold, checked)
        assert outcome.score is not None
        assert 0.0 <= outcome.score <= 1.0
        json.dumps([outcome.extracted, dict(outcome.evidence)], allow_nan=False)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.sampled_from(["dog", "1", "[1,2,3,4]"]),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(
            st.sampled_from(["bbox", "label", "score", "x1", "boxes", "labels", "crowd"]), inner, max_size=4
        )
    ),
    max_leaves=15,
)


@given(json_values)
def test_no_json_raises(value: Any) -> None:
    text = json.dumps(value)
    for gold, checked in zip(PREPARED, CHECKED, strict=True):
        outcome = box(text, gold, checked)
        assert outcome.score is not None
        json.dumps([outcome.extracted, dict(outcome.evidence)], allow_nan=False)


@given(json_values)
def test_no_reference_raises_anything_but_that_it_is_bad(value: Any) -> None:
    if isinstance(value, (str, list, dict)):
        for checked in CHECKED:
            with contextlib.suppress(InvalidReference):
                box("[1, 2, 3, 4]", prepare(value, checked), checked)


@pytest.mark.parametrize("piece", PIECES)
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    def work(times: int) -> int:
        return steps(lambda: BoxReader("xyxy").read((piece * times)[:19_000]))

    work(3)
    small, middle, large = (work(max(1, size // len(piece))) for size in (300, 1500, 7500))
    assert middle <= 6 * small + 2000
    assert large <= 5.5 * middle + 2000


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("None.", True),
        ("**None.**", True),
        ("The answer is: none", True),
        ("No dogs.", True),
        ("There isn't a dog.", True),
        ("There are zero occurrences.", True),
        ("The door isn’t opened.", True),
        ("The described action does not take place.", True),
        ("从未发生", True),
        ("No idea.", False),
        ("I don’t know.", False),
        ("There is no doubt that the cat is here.", False),
        ("The cat at the left is not fully visible.", False),
        ("The button that does not open the menu is at the top.", False),
        ("Maybe there is none.", False),
        ("不知道", False),
    ],
)
def test_a_denial_is_tied_to_being_or_happening(text: str, denied: bool) -> None:
    assert denies(text) is denied


def test_an_answer_too_long_to_be_read_is_scored() -> None:
    outcome = judged("[10, 20, 110, 220] " * 2000)
    assert (outcome.score, outcome.reason) == (0.0, "too_expensive")


def test_one_box_needs_no_library() -> None:
    code = (
        "import sys\n"
        "for name in ('numpy', 'scipy', 'shapely'): sys.modules[name] = None\n"
        "from rewarden_verifiers.vision.box import box, prepare, BoxParams, warm\n"
        "warm()\n"
        "p = BoxParams(); assert box('[1, 2, 3, 4]', prepare([1, 2, 3, 4], p), p).score == 1.0\n"
        "p = BoxParams(aggregate='map'); assert box('[[1, 2, 3, 4]]', prepare([[1, 2, 3, 4]], p), p).score == 1.0\n"
        "from rewarden.errors import MissingDependency\n"
        "p = BoxParams(format='quad')\n"
        "try: prepare([0, 0, 1, 0, 1, 1, 0, 1], p)\n"
        "except MissingDependency as error: assert 'vision' in str(error)\n"
        "else: raise SystemExit(1)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


async def test_it_is_judged_from_a_request() -> None:
    from tests.verifiers.direct import outcome_of

    outcome = await outcome_of(PLANNER, Use(name="box"), Sample(response="[10, 20, 110, 220]", reference=GOLD))
    assert outcome.score == 1.0
