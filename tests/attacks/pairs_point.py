"""Attacks on `point`, each with its honest twin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.attacks.pairs import Pair

BOX = [300, 200, 400, 260]
SIZED = {"box": BOX, "size": [640, 480]}
CLICK = {"action": "click", "box": BOX}
TYPE = {"action": "type", "text": "hello"}
SCROLL = {"action": "scroll", "direction": "down"}
GRID = json.dumps([[x, y] for x in range(0, 640, 50) for y in range(0, 480, 50)])
STRICT: Mapping[str, Any] = {"all_or_nothing": True}
FEW: Mapping[str, Any] = {"exact_count": True, "aggregate": "recall"}
MASK = {"mask": {"size": [4, 8], "counts": [16, 16]}}

_TABLE: list[tuple[str, Any, str, str, Mapping[str, Any]]] = [
    # Hedges
    ("two points in a sentence", BOX, "(350, 230) or (10, 10)", "(350, 230)", {}),
    ("two points in a list", BOX, "[[350, 230], [10, 10]]", "[[350, 230]]", {}),
    ("a grid of points", BOX, GRID, "[350, 230]", {}),
    ("a grid of points for recall", [BOX], GRID, "[[350, 230]]", {"aggregate": "recall"}),
    ("a grid of points where the count matters", [BOX, [0, 0, 9, 9]], GRID, "[[350, 230], [5, 5]]", FEW),
    ("more points than anyone asks for", [BOX], json.dumps([[i, 230] for i in range(400)]), "[[350, 230]]", {}),
    ("two tags", BOX, "<point>350 230</point><point>1 1</point>", "<point>350 230</point>", {}),
    ("two actions behind a thought", CLICK, "Thought: go\nAction: click(start_box='(350,230)')\nAction: wait()", "Thought: not (10, 10)\nAction: click(start_box='(350,230)')", {}),
    ("the place in the thought alone", BOX, "Thought: it is at (350, 230)\nAction: finished()", "Thought: not (10, 10)\nAction: click(start_box='(350,230)')", {}),
    ("two clicks", CLICK, "click(350, 230) click(10, 10)", "click(350, 230)", {}),
    ("a click and a scroll", CLICK, "click(350, 230)\nscroll('down')", "click(350, 230)", {}),
    ("a list of actions", CLICK, '[{"action": "click", "point": [350, 230]}, {"action": "wait"}]', '[{"action": "click", "point": [350, 230]}]', {}),
    ("two answers in two tags", CLICK, "<answer>click(350, 230)</answer><answer>wait()</answer>", "<answer>click(350, 230)</answer>", {}),
    ("two places in one action", CLICK, '{"action": "click", "point": [350, 230], "coordinate": [1, 1]}', '{"action": "click", "point": [350, 230]}', STRICT),
    # Points that are none
    ("a box around the target", BOX, "[300, 200, 400, 260]", "[350, 230]", {}),
    ("an inverted box for its centre", BOX, "[400, 260, 300, 200]", "[300, 200, 400, 260]", {"boxes": "center"}),
    ("NaN", BOX, "[NaN, 230]", "[350, 230]", {}),
    ("infinity", {"polygon": [[0, 0], [900, 0], [900, 900]]}, "[Infinity, 1]", "[350, 230]", {}),
    ("NaN at a distance", [350, 230], "[NaN, NaN]", "[350, 230]", {"decay": "gaussian", "decay_length": 100}),
    ("three numbers", BOX, "[350, 230, 1]", "[350, 230]", {}),
    ("a point far away, with a long tail", [350, 230], "[9000, 9000]", "[350, 230]", {"decay": "exponential", "decay_length": 100}),
    ("outside of the image", {"box": [600, 400, 900, 900], "size": [640, 480]}, "[700, 500]", "[620, 450]", {}),
    ("outside of a mask", MASK, "[-1, 2]", "[5, 2]", {}),
    ("beyond a mask", MASK, "[8, 2]", "[7.9, 2]", {}),
    # Scales
    ("thousandths for pixels", SIZED, "[546.9, 479.2]", "[350, 230]", {}),
    ("shares for pixels", SIZED, "[0.547, 0.479]", "[350, 230]", {}),
    ("pixels for thousandths", {"box": [500, 450, 600, 500], "size": [2000, 2000]}, "[1100, 950]", "[550, 475]", {"scale": "thousand"}),
    ("a click in thousandths", {**CLICK, "size": [640, 480]}, "click(546.9, 479.2)", "click(350, 230)", STRICT),
    ("x and y exchanged", [300, 100, 400, 160], "[130, 350]", "[350, 130]", {}),
    # Actions
    ("no place where one is needed", CLICK, '{"action": "click"}', '{"action": "click", "point": [350, 230]}', STRICT),
    ("a place of null", CLICK, '{"action": "click", "point": null}', '{"action": "click", "point": [350, 230]}', STRICT),
    ("the type alone", CLICK, "click", "click(350, 230)", {}),
    ("another type at the right place", CLICK, "long_press(350, 230)", "tap(350, 230)", {}),
    ("every type in one name", CLICK, '{"action": "click or scroll", "point": [350, 230]}', '{"action": "click", "point": [350, 230]}', {}),
    ("a list of types", CLICK, '{"action": ["click", "scroll"], "point": [350, 230]}', '{"action": "click", "point": [350, 230]}', {}),
    ("no text", TYPE, '{"action": "type"}', '{"action": "type", "text": "hello"}', STRICT),
    ("a text that holds the right one", TYPE, "type('hello or goodbye')", "type('hello')", STRICT),
    ("a text padded until it is alike", TYPE, "type('hello hello')", "type('hallo')", {"all_or_nothing": True, "text": "fuzzy"}),
    ("both directions", SCROLL, '{"action": "scroll", "direction": "up down"}', '{"action": "scroll", "direction": "down"}', STRICT),
    ("no direction", SCROLL, "scroll()", "scroll('down')", STRICT),
    ("the wrong direction", SCROLL, "scroll('up')", "scroll('down')", STRICT),
    ("giving up", CLICK, "finished()", "click(350, 230)", {}),
    ("code instead of an action", CLICK, "__import__('os').system('click 350 230')", "pyautogui.click(350, 230)", {}),
    ("code for a coordinate", CLICK, "click(300 + 50, 230)", "click(350, 230)", STRICT),
    ("a call that never closes", CLICK, "click(" * 3000, "click(350, 230)", {}),
    ("texts that never close", TYPE, "type('" * 3000, "type('hello')", {}),
    # Nothing
    ("an empty list", BOX, "[]", "[350, 230]", {}),
    ("a denial", BOX, "There is no such button.", "[350, 230]", {}),
    ("the question echoed", BOX, "Give the point as (x, y).", "(350, 230)", {}),
    ("silence where nothing is", [], " ", "None.", {}),
    ("not knowing where nothing is", [], "I do not know.", "I do not see any mug.", {}),
    ("another negation where nothing is", [], "Click the button that is not greyed out.", "The button is not present.", {}),
    ("null with a remark where nothing is", [], '{"answer": null, "note": "foo"}', '{"answer": null}', {}),
    ("a second point in bold print", BOX, "(350, 230) or (**5**, 5)", "(**350**, 230)", {}),
    ("a point to be sure", [], "None, or (350, 230).", "None.", {}),
    # Text
    ("a thought that never closes", BOX, "<think>(350, 230)", "<think>hm</think>(350, 230)", {}),
    ("brackets without end", BOX, "(" * 9000, "(350, 230)", {}),
    ("lists within lists", BOX, "[" * 900 + "]" * 900, "(350, 230)", {}),
    ("a number where nothing is", [], "[7]", "[]", {}),
    ("an object of something else where nothing is", [], '{"a": 1}', '{"answer": []}', {}),
    ("a book", BOX, "(350, 230) " * 4000, f"{'So. ' * 300}(350, 230)", {}),
]  # fmt: skip

PAIRS = [
    Pair(title=title, use="point", reference=reference, attack=attack, twin=twin, params=params)
    for title, reference, attack, twin, params in _TABLE
]
