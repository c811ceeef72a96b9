"""Attacks on `temporal`, each with its honest twin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.attacks.pairs import Pair

GOLD = [20, 35]
LONG = {"interval": [10, 95], "duration": 100}
TWO = [[20, 35], [60, 70]]

_TABLE: list[tuple[str, Any, str, str, Mapping[str, Any]]] = [
    # Hedges
    ("two guesses in a sentence", GOLD, "from 20 to 35 s or from 60 to 70 s", "from 20 to 35 s", {}),
    ("two guesses in a list", GOLD, "[[20, 35], [60, 70]]", "[[20, 35]]", {}),
    ("two tags", GOLD, "<time>20 - 35</time><time>60 - 70</time>", "<time>20 - 35</time>", {}),
    ("two answer tags", GOLD, "<answer>[20, 35]</answer><answer>[60, 70]</answer>", "<answer>[20, 35]</answer>", {}),
    ("a hundred guesses for recall", [GOLD], json.dumps([[i, i + 15] for i in range(90)]), "[[20, 35]]", {"aggregate": "recall", "thresholds": [0.9]}),
    ("more guesses than anyone asks for", [GOLD], json.dumps([[20, 35]] * 200), "[[20, 35]]", {}),
    ("jittered guesses", GOLD, json.dumps([[20 + i / 10, 35] for i in range(-9, 9)]), "[20, 35]", {}),
    # The whole video
    ("the whole video", LONG, "[0, 100]", "[10, 95]", {}),
    ("nearly the whole video", LONG, "from 0.5 to 99.5 seconds", "from 10 to 95 seconds", {}),
    ("more than the whole video", LONG, "[-5, 100000]", "[10, 95]", {}),
    ("the whole video in frames", {**LONG, "fps": 10}, "frames 0 to 1000", "frames 100 to 950", {}),
    ("the whole video in a time code", LONG, "00:00 - 01:40", "00:10 - 01:35", {}),
    ("the whole video among several", {"intervals": [[0, 40], [50, 95]], "duration": 100}, "[[0, 100]]", "[[0, 40], [50, 95]]", {}),
    # Intervals that are none
    ("inverted", GOLD, "[35, 20]", "[20, 35]", {}),
    ("inverted in words", GOLD, "from 35 to 20 seconds", "from 20 to 35 seconds", {}),
    ("without length", GOLD, "[25, 25]", "[20, 35]", {}),
    ("one end", GOLD, "[20]", "[20, 35]", {}),
    ("three ends", GOLD, "[20, 30, 35]", "[20, 35]", {}),
    ("NaN", GOLD, "[NaN, NaN]", "[20, 35]", {}),
    ("infinity", GOLD, "[-Infinity, Infinity]", "[20, 35]", {}),
    ("null", GOLD, '{"start": null, "end": 35}', '{"start": 20, "end": 35}', {}),
    ("true and false", GOLD, '{"start": false, "end": true}', '{"start": 20, "end": 35}', {}),
    ("a time that is none", GOLD, "00:20 - 00:95", "00:20 - 00:35", {}),
    ("numbers that overflow", GOLD, "[-1e308, 1e308]", "[20, 35]", {}),
    ("before the video", {"interval": [0, 35], "duration": 100}, "[-50, -10]", "[-50, 35]", {}),
    ("after the video", {"interval": [60, 100], "duration": 100}, "[120, 150]", "[60, 150]", {}),
    # Units
    ("minutes for seconds", GOLD, "20 to 35 minutes", "20 to 35 seconds", {}),
    ("frames for seconds", {"interval": GOLD, "fps": 10}, "frames 20 to 35", "frames 200 to 350", {}),
    ("milliseconds for seconds", GOLD, "20 ms to 35 ms", "20000 ms to 35000 ms", {}),
    # Thresholds
    ("just below a threshold", GOLD, "[20, 27]", "[20, 28]", {"thresholds": [0.5]}),
    ("a moment within", GOLD, "[27, 28]", "[20, 35]", {"thresholds": [0.3, 0.5, 0.7]}),
    # Nothing
    ("an empty list", GOLD, "[]", "[20, 35]", {}),
    ("a denial", GOLD, "It never happens.", "It happens from 20 to 35 seconds.", {}),
    ("the question echoed", GOLD, "Give start and end in seconds.", "start 20, end 35: [20, 35]", {}),
    ("silence where nothing happens", [], " ", "It never happens.", {}),
    ("not knowing where nothing happens", [], "Not sure, but I think it happens.", "It did not happen.", {}),
    ("another negation where nothing happens", [], "The man, who is not tall, walks in.", "The man doesn’t appear.", {}),
    ("null with a remark where nothing happens", [], '{"answer": null, "note": "foo"}', '{"answer": null}', {}),
    ("a second interval in bold print", GOLD, "20 to 35 s or **60** to **70** s", "**20** to **35** s", {}),
    ("the whole video in halves", {"intervals": [[10, 50], [60, 95]], "duration": 100}, "[[0, 50], [50, 100]]", "[[10, 50], [60, 95]]", {}),
    ("an interval to be sure", [], "It never happens, or from 20 to 35 seconds.", "It never happens.", {}),
    ("one of two, with a threshold", TWO, "[[0, 9], [80, 90]]", "[[60, 70], [20, 35]]", {"aggregate": "f"}),
    # Text
    ("a thought that never closes", GOLD, "<think>[20, 35]", "<think>hm</think>[20, 35]", {}),
    ("brackets without end", GOLD, "[" * 9000, "[20, 35]", {}),
    ("lists within lists", GOLD, "[" * 900 + "]" * 900, "[20, 35]", {}),
    ("a number where nothing is", [], "[7]", "[]", {}),
    ("an object of something else where nothing is", [], '{"a": 1}', '{"answer": []}', {}),
    ("a book", GOLD, "20 to 35 s. " * 4000, f"{'So. ' * 300}20 to 35 s.", {}),
]  # fmt: skip

PAIRS = [
    Pair(title=title, use="temporal", reference=reference, attack=attack, twin=twin, params=params)
    for title, reference, attack, twin, params in _TABLE
]
