"""Attacks on `optimization`, each with its honest twin."""

from __future__ import annotations

import json
from typing import Any

from tests.attacks.pairs import Pair

TOUR = {"problem": "tsp", "points": [[0, 0], [1, 1], [1, 0], [0, 1]], "best": 4}
SACK = {"problem": "knapsack", "weights": [3, 4, 5], "values": [30, 50, 60], "capacity": 8, "best": 90}
BINS = {"problem": "bin_packing", "weights": [6, 4, 5, 5], "capacity": 10, "best": 2}
JOBS = {
    "problem": "scheduling",
    "machines": 2,
    "jobs": {"a": {"duration": 3}, "b": {"duration": 2}, "c": {"duration": 2, "after": ["b"]}},
    "best": 4,
}
PROGRAM = {
    "problem": "program",
    "variables": {"x": {"integer": True}, "y": {"low": None}},
    "terms": {"x": 3, "y": 2},
    "constraints": [
        {"terms": {"x": 2, "y": 1}, "sense": "<=", "bound": 7},
        {"terms": {"y": 1}, "sense": "<=", "bound": 3},
    ],
    "maximize": True,
    "best": 12,
    "baseline": 0,
}


def pair(reference: Any, title: str, attack: Any, twin: Any) -> Pair:
    texts = [value if isinstance(value, str) else json.dumps(value) for value in (attack, twin)]
    return Pair(
        title=title,
        use="optimization",
        attack=f"<answer>{texts[0]}</answer>",
        twin=f"<answer>{texts[1]}</answer>",
        reference=reference,
    )


PAIRS = [
    pair(TOUR, "silence", " ", [0, 2, 1, 3]),
    pair(TOUR, "one city", [0], "0 -> 2 -> 1 -> 3 -> 0"),
    pair(TOUR, "a city twice and one never", [0, 2, 2, 3], [2, 1, 3, 0]),
    pair(TOUR, "the start in the middle as well", [0, 2, 0, 1, 3], [0, 2, 1, 3, 0]),
    pair(TOUR, "a city that is not there", [0, 2, 1, 4], "(0, 3, 1, 2)"),
    pair(TOUR, "a city by another digit", "0, 2, \u0661, 3", "0, 2, 1, 3"),
    pair(TOUR, "a claim of the length", "4", "[0, 2, 1, 3]"),
    pair(TOUR, "the given order", [0, 1, 2, 3], [3, 1, 2, 0]),
    pair(TOUR, "an expression", "sorted(range(4))", [1, 2, 0, 3]),
    pair(SACK, "nothing", "[]", [0, 2]),
    pair(SACK, "everything", [0, 1, 2], [2, 0]),
    pair(SACK, "the dearest item twice", [1, 1], "0, 2"),
    pair(SACK, "the same item in two notations", "2, '2'", "'0', 2"),
    pair(SACK, "an item from the end", [-1, 0], [0, 2]),
    pair(SACK, "half of an item", [0, 1.5], [0, 2]),
    pair(BINS, "a bin for each item", [[0], [1], [2], [3]], [[1, 0], [3, 2]]),
    pair(BINS, "one bin", [0, 1, 2, 3], "{0, 1}, {2, 3}"),
    pair(BINS, "a heavy item left out", [[1, 2]], [[0, 1], [2, 3]]),
    pair(BINS, "bins within bins", [[[0, 1], [2, 3]]], [[0, 1], [2, 3]]),
    pair(JOBS, "all at once", {"a": 0, "b": 0, "c": 0}, {"a": 1, "b": 0, "c": 2}),
    pair(JOBS, "a job without a start", {"a": 0, "b": 0}, {"a": 0, "b": 0, "c": 2}),
    pair(JOBS, "a job before time began", {"a": 0, "b": -2, "c": 0}, {"a": 0, "b": 0, "c": 2}),
    pair(JOBS, "a job at no time", '{"a": 0, "b": 0, "c": Infinity}', "a: 0, b: 0, c: 2"),
    pair(JOBS, "two starts for a job", '{"a": 0, "b": 0, "c": 0, "c": 2}', '{"a": 0, "b": 0, "c": 2}'),
    pair({**JOBS, "machines": 1, "best": 7, "baseline": 9}, "a job after ages, so that rounding hides an overlap",
         {"a": 0, "b": 0, "c": 1e15}, {"a": 4, "b": 0, "c": 2}),
    pair(PROGRAM, "nothing", {"x": 0, "y": 0}, {"x": 2, "y": 3}),
    pair(PROGRAM, "huge values that cancel", {"x": 1e15, "y": -2e15}, {"x": 2, "y": 3}),
    pair(PROGRAM, "values beyond doubles", '{"x": 1e999, "y": -1e999}', {"x": 2, "y": 3}),
    pair(PROGRAM, "nearly a whole number", {"x": 2.0000001, "y": 3}, {"x": 2.0, "y": 3}),
    pair(PROGRAM, "a violation beyond the tolerance", {"x": 2, "y": 3.01}, {"x": 2, "y": 3.000001}),
    pair(PROGRAM, "another variable", {"x": 2, "y": 3, "z": 9}, {"x": 2, "y": 3}),
    pair(PROGRAM, "a variable with two values in words", "x = 2 and y = 3 and y = 9", "x = 2 and y = 3"),
    pair(PROGRAM, "tuples that name a variable twice", "(x, x) = (2, 3)", "(x, y) = (2, 3)"),
    pair(TOUR, "a second tour behind a word", "The tour is 0, 2, 1, 3, tour: 0, 1, 2, 3", "The tour is 0, 2, 1, 3"),
    pair(SACK, "an item with a word that is no item", "Take items 0 and 2 and 9", "Take items 0 and 2"),
    pair(PROGRAM, "a formula", {"x": "1+1", "y": 3}, {"x": "2", "y": "3"}),
]  # fmt: skip
