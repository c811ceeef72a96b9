"""Attacks on `box` (ATTACKS E: boxes), each with its honest twin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.attacks.pairs import Pair

GOLD = [40, 60, 200, 300]
SIZED = {"bbox": GOLD, "size": [640, 480]}
TWO = [GOLD, [300, 100, 420, 260]]
LABELLED = [{"bbox": GOLD, "label": "dog"}, {"bbox": TWO[1], "label": "cat"}]
HONEST = json.dumps(GOLD)
BOTH = json.dumps(TWO)
LARGE = {"bbox": [0, 0, 640, 430], "size": [640, 480]}
JITTERED = json.dumps([[40 + i / 10, 60, 200 + i / 10, 300] for i in range(-50, 50)])
STRICT: Mapping[str, Any] = {"threshold": 0.95}

_TABLE: list[tuple[str, Any, str, str, Mapping[str, Any]]] = [
    # Hedges
    ("two guesses in a sentence", GOLD, "It is [40, 60, 200, 300] or [0, 0, 90, 90].", f"It is {HONEST}.", {}),
    ("two guesses in one list", GOLD, "[[40, 60, 200, 300], [0, 0, 90, 90]]", "[[40, 60, 200, 300]]", {}),
    ("two keys in one object", GOLD, '{"bbox": [40, 60, 200, 300], "box": [0, 0, 9, 9]}', '{"bbox": [40, 60, 200, 300]}', {}),
    ("two fenced blocks", GOLD, f"```json\n{HONEST}\n```\nor\n```json\n[0, 0, 9, 9]\n```", f"```json\n{HONEST}\n```", {}),
    ("two answer tags", GOLD, f"<answer>{HONEST}</answer> <answer>[0, 0, 9, 9]</answer>", f"<answer>{HONEST}</answer>", {}),
    ("two box tags", GOLD, "<box>40 60 200 300</box><box>0 0 9 9</box>", "<box>40 60 200 300</box>", {}),
    ("two named boxes", GOLD, "x1=40, y1=60, x2=200, y2=300; x1=0, y1=0, x2=9, y2=9", "x1=40, y1=60, x2=200, y2=300", {}),
    ("a hundred near-duplicates", GOLD, JITTERED, HONEST, {}),
    ("a hundred near-duplicates for recall", [GOLD], JITTERED, HONEST, {"aggregate": "recall", "threshold": 0.995}),
    ("boxes beyond any limit", TWO, json.dumps([[i, 0, i + 9, 9] for i in range(350)] + TWO), BOTH, {}),
    ("a list of guesses sorted by score for recall", [GOLD], json.dumps([{"bbox": [0, 0, 9, 9], "score": 1}, {"bbox": GOLD, "score": 0.9}]), HONEST, {"aggregate": "recall"}),
    # Boxes that are none
    ("the corners exchanged", GOLD, "[200, 300, 40, 60]", HONEST, {}),
    ("one side inverted", GOLD, "[200, 60, 40, 300]", HONEST, {}),
    ("no area", GOLD, "[40, 60, 40, 60]", HONEST, {}),
    ("a line", GOLD, "[40, 60, 200, 60]", HONEST, {}),
    ("a negative width", GOLD, "[200, 60, -160, 240]", "[40, 60, 160, 240]", {"format": "xywh", "reference_format": "xyxy"}),
    ("NaN", GOLD, "[NaN, NaN, NaN, NaN]", HONEST, {}),
    ("one NaN", GOLD, "[40, 60, 200, NaN]", HONEST, {}),
    ("nan in prose", GOLD, "(40, 60, 200, nan)", "(40, 60, 200, 300)", {}),
    ("infinity", GOLD, "[-Infinity, -Infinity, Infinity, Infinity]", HONEST, {}),
    ("numbers that overflow", GOLD, "[-1e308, -1e308, 1e308, 1e308]", HONEST, {}),
    ("an integer of five thousand digits", GOLD, f"[40, 60, 200, {'9' * 5000}]", HONEST, {}),
    ("true for a number", GOLD, '{"bbox": [40, 60, 200, true]}', '{"bbox": [40, 60, 200, 300]}', {}),
    ("three numbers", GOLD, "[40, 60, 200]", HONEST, {}),
    ("five numbers", GOLD, "[40, 60, 200, 300, 1]", HONEST, {}),
    ("an expression", GOLD, "[10*4, 60, 200, 300]", HONEST, {}),
    ("code", GOLD, "__import__('json').loads('[40, 60, 200, 3' + '00]')", HONEST, {}),
    ("a polygon that crosses itself", [0, 0, 10, 0, 10, 10, 0, 10], "[0, 0, 10, 10, 10, 0, 0, 10]", "[0, 10, 10, 10, 10, 0, 0, 0]", {"format": "quad"}),
    ("a rotated box of negative size", [60, 60, 40, 20, 30], "[60, 60, -40, -20, 30]", "[60, 60, 40, 20, 30]", {"format": "rotated", "pass_score": 0.99, "threshold": 0.99}),
    # The whole image
    ("the whole image", LARGE, "[0, 0, 640, 480]", "[0, 0, 640, 430]", {}),
    ("nearly the whole image", LARGE, "[2, 2, 638, 478]", "[0, 0, 640, 430]", {}),
    ("more than the whole image", LARGE, "[-10, -10, 700, 500]", "[0, 0, 640, 430]", {"clip": True}),
    ("the whole image in thousandths", [0, 0, 1000, 800], "[0, 0, 1000, 1000]", "[0, 0, 1000, 800]", {"scale": "thousand"}),
    ("the whole image in shares", [0, 0, 1, 0.8], "[0, 0, 1, 1]", "[0, 0, 1, 0.8]", {"scale": "unit"}),
    ("the whole image among several", {"boxes": [[0, 0, 640, 400]], "size": [640, 480]}, "[[0, 0, 640, 480]]", "[[0, 0, 640, 400]]", {}),
    # Scales
    ("thousandths for pixels", SIZED, "[62.5, 125, 312.5, 625]", HONEST, STRICT),
    ("shares for pixels", SIZED, "[0.0625, 0.125, 0.3125, 0.625]", HONEST, {}),
    ("pixels for thousandths", {"bbox": [62.5, 125, 312.5, 625], "size": [6400, 4800]}, "[400, 600, 2000, 3000]", "[62.5, 125, 312.5, 625]", {"scale": "thousand"}),
    ("pixels for shares", {"bbox": [0.0625, 0.125, 0.3125, 0.625], "size": [640, 480]}, HONEST, "[0.0625, 0.125, 0.3125, 0.625]", {"scale": "unit"}),
    ("a scale that is not among the permitted", SIZED, "[0.0625, 0.125, 0.3125, 0.625]", "[62.5, 125, 312.5, 625]", {"other_scales": ["thousand"], "threshold": 0.9}),
    ("x and y exchanged", [40, 60, 60, 300], "[60, 40, 300, 60]", "[40, 60, 60, 300]", {}),
    # Classes
    ("every class for one box", {"bbox": GOLD, "label": "dog"}, json.dumps([{"bbox": GOLD, "label": one} for one in ("dog", "cat", "cow")]), json.dumps({"bbox": GOLD, "label": "Dog"}), {"by_class": True}),
    ("classes exchanged", LABELLED, json.dumps([{"bbox": GOLD, "label": "cat"}, {"bbox": TWO[1], "label": "dog"}]), json.dumps(LABELLED), {"by_class": True}),
    ("no class", LABELLED, BOTH, json.dumps(LABELLED), {"by_class": True}),
    ("all classes in one name", {"bbox": GOLD, "label": "dog"}, json.dumps({"bbox": GOLD, "label": "dog, cat or cow"}), json.dumps({"bbox": GOLD, "label": "dog"}), {"by_class": True}),
    # Measures
    ("GIoU of boxes apart", GOLD, "[201, 60, 361, 300]", HONEST, {"measure": "giou"}),
    ("DIoU of boxes apart", GOLD, "[201, 60, 361, 300]", HONEST, {"measure": "diou"}),
    ("just below a threshold", GOLD, "[50, 60, 210, 300]", "[41, 60, 201, 300]", STRICT),
    ("a far box by distance", GOLD, "[140, 160, 300, 400]", HONEST, {"measure": "l1", "l1_limit": 20}),
    ("junk of confidence 0", [GOLD], json.dumps([{"bbox": [500, 400, 510, 410], "confidence": 0}] * 9), json.dumps([{"bbox": GOLD, "confidence": 1}]), {"confidence_weight": 0.9}),
    ("average precision of junk", TWO, json.dumps([{"bbox": [500, i, 510, i + 9], "score": 1} for i in range(90)]), BOTH, {"aggregate": "map"}),
    # Nothing
    ("an empty list", GOLD, "[]", HONEST, {}),
    ("an empty object", GOLD, "{}", HONEST, {}),
    ("a denial", GOLD, "There is no such object.", HONEST, {}),
    ("the question echoed", GOLD, "Give the box as [x1, y1, x2, y2].", HONEST, {}),
    ("silence where nothing is", [], " ", "There is none.", {}),
    ("chatter where nothing is", [], "Let me look at the picture.", "[]", {}),
    ("not knowing where nothing is", [], "I do not know.", "I do not see any bicycle.", {}),
    ("not seeing where nothing is", [], "I cannot see the image.", "The bicycle cannot be seen.", {}),
    ("another negation where nothing is", [], "The cat is at the left, not far from the door.", "The cat is not in the image.", {}),
    ("a second box in bold print", GOLD, "[40, 60, 200, 300] or [**5**, 5, 9, 9]", "[**40**, 60, 200, 300]", {}),
    ("a denial with a box to be sure", [], "There is none, or it is at [40, 60, 200, 300].", "There is none.", {}),
    # Text
    ("a thought that never closes", GOLD, f"<think>{HONEST}", f"<think>hm</think>{HONEST}", {}),
    ("a box in the thought alone", GOLD, f"<think>{HONEST}</think>Done.", f"<think>hm</think>{HONEST}", {}),
    ("brackets without end", GOLD, "[" * 9000, HONEST, {}),
    ("lists within lists", GOLD, "[" * 900 + "]" * 900, HONEST, {}),
    ("a number where nothing is", [], "[7]", "[]", {}),
    ("an object of something else where nothing is", [], '{"a": 1}', '{"answer": []}', {}),
    ("a book", GOLD, "[40, 60, 200, 300] " * 3000, f"{'So. ' * 300}{HONEST}", {}),
    ("NUL and surrogates", GOLD, "[40, 60\x00, 200, 300]\ud800", HONEST, {}),
    ("digits of other scripts", GOLD, "[²⁰, ⁶⁰, ⅓, ½]", HONEST, {}),
]  # fmt: skip

PAIRS = [
    Pair(title=title, use="box", reference=reference, attack=attack, twin=twin, params=params)
    for title, reference, attack, twin, params in _TABLE
]
