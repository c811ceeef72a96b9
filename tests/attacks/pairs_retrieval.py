"""Attacks on `retrieval`, each with its honest twin."""

from __future__ import annotations

import json
from typing import Any

from tests.attacks.pairs import Pair

QRELS = {"d3": 3, "d1": 1, "d7": 1}
TWIN = '["d3", "d1", "d7"]'
CATALOGUE = ["d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8"]
ORDER = ["d3", "d1", "d7"]
SCORES = {"metrics": "tau", "answers": "scores"}
EXACT = {"metrics": "exact", "answers": "scores"}
ALL = {"qrels": QRELS, "catalogue": CATALOGUE}


def pair(title: str, attack: str, params: Any = None, reference: Any = None, twin: str = TWIN) -> Pair:
    wanted = QRELS if reference is None else reference
    return Pair(title=title, use="retrieval", attack=attack, twin=twin, reference=wanted, params=params or {})


PAIRS = [
    pair("silence", ""),
    pair(
        "two columns of ids",
        "| Document | Document |\n|---|---|\n| d3 | d7 |\n| d1 | d1 |\n| d7 | d3 |",
        twin="| Rank | Document |\n|---|---|\n| 1 | d3 |\n| 2 | d1 |\n| 3 | d7 |",
    ),
    pair("an empty list", "[]"),
    pair("a list of nothing", '["", " ", "[]"]'),
    pair("prose", "The passages about the river seem best to me."),
    pair("ids that nobody knows", '["d100", "d101"]'),
    pair("the best id again and again", json.dumps(["d3"] * 10), {"duplicates": "refuse"}),
    pair("the same id in other dress", '["d3", "[d3]", " d3 "]', {"duplicates": "refuse"}),
    pair("the same id in other letters", '["d3", "D3"]', {"duplicates": "refuse", "ignore_case": True}),
    pair(
        "the catalogue twice over",
        json.dumps(CATALOGUE * 2),
        {"complete": True},
        ALL,
        json.dumps(["d3", "d1", "d7", "d2", "d4", "d5", "d6", "d8"]),
    ),
    pair("invented ids between", '["d3", "x", "d1"]', {"unknown": "refuse"}, ALL),
    pair(
        "candidates left out",
        '["d3"]',
        {"complete": True},
        ALL,
        json.dumps(["d3", "d1", "d7", "d2", "d4", "d5", "d6", "d8"]),
    ),
    pair("more ids than asked for", json.dumps(CATALOGUE), {"length": 3, "metrics": "recall@10"}),
    pair("fewer ids than asked for", '["d3"]', {"length": 3, "metrics": "precision@1"}),
    pair(
        "everything, the relevant last",
        json.dumps([f"x{n}" for n in range(10)] + list(QRELS)),
        {"metrics": "recall@10"},
    ),
    pair(
        "two lists, one in each tag",
        '<answer>["d3"]</answer> or <answer>["d1"]</answer>',
        twin=f"<answer>{TWIN}</answer>",
    ),
    pair("two lists in boxes", r"\boxed{d3, d1} or \boxed{d1, d3}", twin=r"\boxed{d3, d1, d7}"),
    pair("ten thousand ids and more", json.dumps(list(range(10_001)))),
    pair("a list without end", "[3] > " * 50_000),
    pair("brackets without end", "[" * 100_000),
    pair("objects without end", '{"a":' * 50_000),
    pair("numbers that are no numbers", "[NaN, Infinity]"),
    pair("an open thought", "<think>" + TWIN),
    pair("a list in the thought alone", f"<think>{TWIN}</think>"),
    pair("the query for the list", '{"query": "river"}'),
    pair("graded off: a good list is not the best", '["d1", "d3", "d7"]', {"graded": False, "threshold": 0.95}),
    pair("the best id alone", '["d3"]', {"metrics": "tau"}, ORDER, '["d3", "d1", "d7"]'),
    pair("every order one after another", json.dumps([*ORDER[::-1], *ORDER]), {"metrics": "tau"}, ORDER),
    pair("one score for all", '{"d3": 1, "d1": 1, "d7": 1}', SCORES, ORDER, '{"d3": 3, "d1": 2, "d7": 1}'),
    pair(
        "scores that no number bounds", '{"d3": 1e999, "d1": 5, "d7": 1}', SCORES, ORDER, '{"d3": 9, "d1": 5, "d7": 1}'
    ),
    pair(
        "an integer of thousands of digits",
        f'{{"d3": {"9" * 4000}, "d1": 2, "d7": 1}}',
        SCORES,
        ORDER,
        '{"d3": 9, "d1": 2, "d7": 1}',
    ),
    pair("scores of ids in brackets", '{"[d3": 3, "d1": 2, "d7": 1}', EXACT, ORDER, '{"[d3]": 3, "d1": 2, "d7": 1}'),
    pair("several ids at each rank", "1. d1 d3 d7\n2. d3 d7 d1", {"metrics": "exact"}, ORDER, "d3 d1 d7"),
    pair("ids in the words of a sentence", "perhaps d3 d1 d7", {"metrics": "exact"}, ORDER, "d3, d1 and d7"),
    pair(
        "an id with the word of another",
        "doc d3x, doc d1, doc d7",
        {"metrics": "exact"},
        ORDER,
        "doc d3, doc d1, doc d7",
    ),
    pair("a rank for an id", "[3] x\n[1] y\n[7] z", {"metrics": "exact"}, ORDER, "[1] d3\n[2] d1\n[3] d7"),
    pair("words without end", "d100 " * 39_000),
    pair("ranks without end", "#1 " * 60_000),
]
