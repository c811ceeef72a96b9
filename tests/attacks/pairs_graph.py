"""Attacks on `graph`, each with its honest twin."""

from __future__ import annotations

import json
from typing import Any

from tests.attacks.pairs import Pair

EDGES = [["a", "b", 4], ["a", "c", 1], ["c", "b", 2], ["b", "d", 5]]
PATH = {"problem": "shortest_path", "edges": EDGES, "source": "a", "target": "d"}
SHAPE = {"edges": [["a", "b"], ["b", "c"], ["c", "a"], ["c", "d"]]}
NET = {
    "problem": "flow",
    "edges": [["s", "a", 3], ["s", "b", 2], ["a", "t", 2], ["b", "t", 3], ["a", "b", 1]],
    "directed": True,
    "source": "s",
    "target": "t",
}
FLOW = [["s", "a", 3], ["s", "b", 2], ["a", "t", 2], ["b", "t", 3], ["a", "b", 1]]


def answer(value: Any) -> str:
    return f"<answer>{value if isinstance(value, str) else json.dumps(value)}</answer>"


def pair(title: str, attack: Any, twin: Any, reference: Any, **params: Any) -> Pair:
    return Pair(title=title, use="graph", attack=answer(attack), twin=answer(twin), reference=reference, params=params)


def path(title: str, attack: Any, **params: Any) -> Pair:
    return pair(title, attack, "a -> c -> b -> d", PATH, **params)


def sets(title: str, problem: str, attack: Any, twin: Any, **params: Any) -> Pair:
    return pair(title, attack, twin, {"problem": problem, **SHAPE}, **params)


PAIRS = [
    path("silence", ""),
    path("a shrug", "I do not know."),
    path("the ends alone", "a, d"),
    path("every node", "a, b, c, d"),
    path("a claim that nothing leads there", "none"),
    path("a path and a denial", "a -> c -> b -> d or none"),
    path("the ends joined by an invented edge", [["a", "d"]]),
    path("two paths in one list", [["a", "c", "b", "d"], ["a", "b", "d"]]),
    path("brackets without end", "[" * 19_000),
    path("a node of another script that looks alike", "\u0430 -> c -> b -> d"),
    path("a node that holds a NUL", "a\0 -> c -> b -> d"),
    path("a walk that returns", "a -> c -> a -> c -> b -> d"),
    path("the start again and again", "a -> " * 4_000 + "d"),
    pair("a number near enough", "8.0001", "8", PATH, answer="value"),
    pair("two numbers", "8 or 9", "8", PATH, answer="value"),
    pair("infinity as a length", "1e999", "8.0", PATH, answer="value"),
    pair("not a number", "nan", "8", PATH, answer="value"),
    pair("digits of another script", "\u0668", "8", PATH, answer="value"),
    sets("a node twice, so that the set is larger", "independent_set", ["a", "a", "d"], ["a", "d"]),
    sets("the same node in two notations", "independent_set", "a, 'a', d", "a, 'd'"),
    sets("nothing as a cover", "vertex_cover", "[]", ["a", "c"]),
    sets("all nodes as a cover", "vertex_cover", "a, b, c, d", "c, b", scoring="share"),
    sets("nothing as a matching", "matching", "[]", "a-b, c-d", scoring="share"),
    sets("one edge in both directions", "matching", "a-b, b-a", "b-a, d-c"),
    sets("edges that share a node", "matching", "a-c, c-d", "a-b, c-d"),
    sets("a tree with a cycle beside a node", "spanning_tree", "a-b, b-c, c-a", "a-b, b-c, c-d"),
    sets("one node as a clique", "clique", "a", "a, b, c", scoring="share"),
    sets("a colour for each node", "colouring", "a:1, b:2, c:3, d:4", "a:1, b:2, c:3, d:1", scoring="share"),
    sets("one colour in two notations", "colouring", 'a: "1", b: 1, c: 2, d: 1', "a: 1, b: 2, c: 3, d: 1"),
    sets("a node without a colour", "colouring", "a: 1, b: 2, c: 3", "a: 1, b: 2, c: 3, d: 2"),
    sets("a colour for a node that is not there", "colouring", "a:1, b:2, c:3, d:1, e:2", "a:1, b:2, c:3, d:2"),
    sets("one group with everything in it twice", "components", [["a", "b", "c", "d", "a"]], [["a", "b", "c", "d"]]),
    sets("every edge as a bridge", "bridges", "a-b, b-c, c-a, c-d", "c-d", scoring="share"),
    pair("nothing as a flow", "[]", FLOW, NET, scoring="share"),
    pair("a flow out of nothing", [["a", "t", 2], ["b", "t", 3]], FLOW, NET),
    pair("a flow against an edge", [["t", "a", 2]], FLOW, NET, scoring="share"),
    pair("an edge used twice", [*FLOW, ["a", "t", 2]], FLOW, NET),
    pair("a flow that is no number", '[["s", "a", NaN], ["a", "t", NaN]]', FLOW, NET),
    pair("the target on the source's side", "s, a, b, t", "s", {**NET, "problem": "cut"}),
    pair(
        "half of a mapping",
        "1: x",
        "1: x, 2: y",
        {"problem": "isomorphism", "edges": [[1, 2]], "other": {"edges": [["x", "y"]]}},
    ),
    pair(
        "one image for two nodes",
        "1: x, 2: x",
        "1: y, 2: x",
        {"problem": "isomorphism", "edges": [[1, 2]], "other": {"edges": [["x", "y"]]}},
    ),
]
