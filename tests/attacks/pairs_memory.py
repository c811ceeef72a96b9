"""Attacks on `memory`, each with its honest twin."""

from __future__ import annotations

import json
from typing import Any

from tests.attacks.pairs import Pair

_FACT = "In spring Mia moved to Rome with her dog Bruno"
_FACTS = {"facts": [_FACT]}
_BANK = {"memory": {"1": "Mia lives in Rome", "2": "Mia likes jazz"}}
_DELETED = {**_BANK, "operations": [{"event": "DELETE", "id": "2"}]}
_NOTHING = {**_BANK, "operations": [{"event": "NOOP"}]}
_DONE = [{"event": "DELETE", "id": "2"}]

# title, reference, attack, twin
_TABLE: list[tuple[str, Any, Any, Any]] = [
    ("another city", _FACTS, [_FACT.replace("Rome", "Paris")], [_FACT]),
    ("a look-alike of another city", _FACTS, [_FACT.replace("Rome", "Rоmа")], [_FACT.replace("o", "о")]),
    ("a denial", _FACTS, [_FACT.replace("moved", "never moved")], [_FACT.lower()]),
    ("a number that is not there", _FACTS, [f"{_FACT} in 2021"], [_FACT]),
    ("the words alone", _FACTS, ["Bruno Mia Rome dog her in moved spring to with"], [_FACT]),
    ("a statement of everything", _FACTS, [f"{_FACT}, jazz, chess, go, tennis, judo, ballet, hockey, fencing"], [_FACT]),
    ("the word list within a list", _FACTS, [[_FACT]], [_FACT]),
    ("an empty list", _FACTS, [], [_FACT]),
    ("an object without a list", _FACTS, {"text": _FACT}, {"facts": [_FACT]}),
    ("prose", _FACTS, _FACT, json.dumps([_FACT])),
    ("a list in the thought", _FACTS, f"<think>{json.dumps([_FACT])}</think>Done.", json.dumps([_FACT])),
    ("two lists", _FACTS, f'{json.dumps([_FACT])} or ["no"]', json.dumps([_FACT])),
    ("a key twice", _FACTS, f'{{"facts": ["x"], "facts": {json.dumps([_FACT])}}}', json.dumps({"facts": [_FACT]})),
    ("facts without end", _FACTS, [_FACT] * 2_000, [_FACT]),
    ("brackets without end", _FACTS, "[" * 100_000, json.dumps([_FACT])),
    ("nothing to recall", {"facts": []}, ["Mia is tall"], []),
    ("a NOOP", _DELETED, [{"event": "NOOP"}], _DONE),
    ("another entry", _DELETED, [{"event": "DELETE", "id": "1"}], _DONE),
    ("an entry that is not there", _DELETED, [{"event": "DELETE", "id": "02"}], _DONE),
    ("deleted and stored again", _DELETED, [*_DONE, {"event": "ADD", "id": "2", "text": "Mia likes jazz"}], _DONE),
    ("an unknown event beside it", _DELETED, [*_DONE, {"event": "MERGE"}], [*_DONE, {"event": "NONE"}]),
    ("operations where none is expected", _NOTHING, [{"event": "ADD", "text": "Mia lives in Rome"}], [{"event": "NOOP"}]),
    ("an entry that is blank", _NOTHING, [{"event": "UPDATE", "id": "1", "text": " "}], [{"event": "NOOP"}]),
]  # fmt: skip


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


PAIRS = [
    Pair(title=title, use="memory", reference=reference, attack=_text(attack), twin=_text(twin))
    for title, reference, attack, twin in _TABLE
]
