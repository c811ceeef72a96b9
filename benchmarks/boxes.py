"""Boxes, points and intervals: verdicts per second on one core, next to the time of libraries for the arithmetic alone.

Load: responses with one answer each, 200 different ones in turn, references prepared once, functions called in this
process: no engine, no cache, no transport. "Simple pair": one box in pixels in an answer tag, one expected. The
libraries get bare numbers, which they need not find in a text: NumPy one pair per call, pycocotools' C code one pair
per call, and its evaluation of one image. The best of several short runs counts, to exclude the machine's other load.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.report import Report
from rewarden_verifiers.vision.box import box
from rewarden_verifiers.vision.box_gold import prepare
from rewarden_verifiers.vision.box_params import BoxParams
from rewarden_verifiers.vision.point import point
from rewarden_verifiers.vision.point_gold import prepare as prepare_point
from rewarden_verifiers.vision.point_params import PointParams
from rewarden_verifiers.vision.temporal import TemporalParams, temporal
from rewarden_verifiers.vision.temporal import prepare as prepare_temporal

_RUNS = 40


def _a_second(calls: Sequence[Callable[[], object]]) -> float:
    """Returns the number of calls per second: the best of several runs over all of them."""
    best = float("inf")
    for _ in range(_RUNS):
        start = time.perf_counter()
        for call in calls:
            call()
        best = min(best, time.perf_counter() - start)
    return len(calls) / best


def _boxes(rng: random.Random, count: int) -> list[list[int]]:
    found = []
    for _ in range(count):
        left, top = rng.randrange(500), rng.randrange(400)
        found.append([left, top, left + rng.randint(20, 140), top + rng.randint(20, 80)])
    return found


def _judging(texts: Sequence[str], reference: Any, **params: Any) -> list[Callable[[], object]]:
    checked = BoxParams(**params)
    gold = prepare(reference, checked)
    return [lambda text=text: box(text, gold, checked, None, None) for text in texts]  # type: ignore[misc]


def _numpy_iou(numpy: Any, a: Any, b: Any) -> Any:
    low, high = numpy.maximum(a[:2], b[:2]), numpy.minimum(a[2:], b[2:])
    shared = numpy.prod(numpy.clip(high - low, 0, None))
    return shared / (numpy.prod(a[2:] - a[:2]) + numpy.prod(b[2:] - b[:2]) - shared)


def _evaluation(golds: list[list[int]], found: list[list[int]]) -> Callable[[], object]:
    """Runs pycocotools' evaluation of one image."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    def shape(one: list[int]) -> list[int]:
        return [one[0], one[1], one[2] - one[0], one[3] - one[1]]

    def call() -> object:
        with contextlib.redirect_stdout(io.StringIO()):
            data = COCO()
            data.dataset = {
                "info": {},
                "images": [{"id": 1}],
                "categories": [{"id": 1}],
                "annotations": [
                    {"id": place, "image_id": 1, "category_id": 1, "bbox": shape(one), "area": 900, "iscrowd": 0}
                    for place, one in enumerate(golds, start=1)
                ],
            }
            data.createIndex()
            scored = [
                {"image_id": 1, "category_id": 1, "bbox": shape(one), "score": 1 / place}
                for place, one in enumerate(found, start=1)
            ]
            judged = COCOeval(data, data.loadRes(scored), "bbox")
            judged.evaluate()
            judged.accumulate()
            return judged.eval

    return call


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("boxes: verdicts per second on one core, on prepared references")
    rng = random.Random(5)
    expected, *others = _boxes(rng, 201)
    near = [[value + rng.randint(-9, 9) for value in expected] for _ in range(100)]
    answers = [json.dumps(one) for one in (*near, *others[:100])]
    simple = _a_second(_judging([f"<answer>{one}</answer>" for one in answers], expected))
    report.figure("box: simple pairs per second", simple, "/s", least=50_000)
    report.figure("box: simple pairs, bare lists", _a_second(_judging(answers, expected)), "/s", least=50_000)
    fenced = [f'```json\n[{{"bbox_2d": {one}, "label": "dog"}}]\n```' for one in answers]
    report.figure("box: one fenced JSON object", _a_second(_judging(fenced, expected)), "/s")
    thought = [f"The dog is on the left, beside the door. {'It is large. ' * 40}So {one}." for one in answers]
    report.figure("box: one in 600 characters of prose", _a_second(_judging(thought, expected)), "/s")

    golds = _boxes(rng, 10)
    sets = [[[value + rng.randint(-6, 6) for value in one] for one in golds] for _ in range(200)]
    many = [json.dumps([{"bbox": one, "score": 1 / place} for place, one in enumerate(row, 1)]) for row in sets]
    report.figure("box: ten against ten, Hungarian", _a_second(_judging(many[:50], golds)), "/s")
    precise = _a_second(_judging(many[:20], golds, aggregate="map"))
    report.figure("box: ten against ten, mAP", precise, "/s")

    import numpy
    from pycocotools import mask

    ours, theirs = [numpy.array(one, dtype=float) for one in near], numpy.array(expected, dtype=float)
    bound = _a_second([lambda one=one: _numpy_iou(numpy, one, theirs) for one in ours])  # type: ignore[misc]
    report.figure("   NumPy's IoU alone, one pair per call", bound, "/s")
    report.figure("   box by NumPy's IoU", simple / bound, "x")
    pairs = [[one[0], one[1], one[2] - one[0], one[3] - one[1]] for one in map(list, ours)]
    gold = [pairs[0]]
    bound = _a_second([lambda one=one: mask.iou([one], gold, [0]) for one in pairs])  # type: ignore[misc]
    report.figure("   pycocotools' IoU alone, one pair per call", bound, "/s")
    report.figure("   box by pycocotools' IoU", simple / bound, "x")
    bound = _a_second([_evaluation(golds, sets[0])] * 2)
    report.figure("   pycocotools' evaluation of one image", bound, "/s")
    report.figure("   mAP by pycocotools", precise / bound, "x", least=1)

    clicks = PointParams()
    target = prepare_point({"action": "click", "box": expected}, clicks)
    spots = [json.dumps({"action": "click", "coordinate": one[:2]}) for one in near]
    calls = [lambda text=text: point(text, target, clicks, None) for text in spots]  # type: ignore[misc]
    report.figure("point: a click as JSON", _a_second(calls), "/s")
    region = prepare_point(expected, clicks)
    bare = [f"<answer>{one[:2]}</answer>" for one in near]
    calls = [lambda text=text: point(text, region, clicks, None) for text in bare]  # type: ignore[misc]
    report.figure("point: in a box", _a_second(calls), "/s")
    options = TemporalParams()
    moment = prepare_temporal([12.5, 30.0], options)
    spans = [f"The event happens from {one[0] / 10} to {one[2] / 10} seconds." for one in near]
    calls = [lambda text=text: temporal(text, moment, options, None) for text in spans]  # type: ignore[misc]
    report.figure("temporal: a sentence", _a_second(calls), "/s")
    return report.broken


if __name__ == "__main__":
    print(run())
