"""Attacks on `json`, each with its honest twin."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair


def _fenced(text: str) -> str:
    return f"Here it is:\n```json\n{text}\n```\n"


_OBJECT: dict[str, Any] = {"schema": {"type": "object"}}
_LAX: dict[str, Any] = {"extraction": "lax"}

# title, attack, twin, reference, parameters
_ROWS: list[tuple[str, str, str, Any, dict[str, Any]]] = [
    # Saying nothing
    ("an empty object where nothing is required", "{}", '{"a": 1}', None, _OBJECT),
    ("an empty object in a fence", _fenced("{}"), _fenced('{"a": 1}'), None, _OBJECT),
    ("an empty list where nothing is required", "[]", "[1]", None, {"schema": {"type": "array"}}),
    ("an empty object for the credit of form", "{}", '{"a": 1}', {"a": 1}, {"levels": {"parses": 1, "format": 1}}),
    ("nothing, where it is not the answer", "{}", '{"a": null}', {"a": None}, {}),
    ("all fields null", '{"a": null, "b": null}', '{"a": 1}', {"a": 1, "b": None}, {"blank": "absent"}),
    ("blanks", " \n\t", "{}", {}, {}),
    ("I do not know", "I do not know.", '"I do not know."', "I do not know.", {}),
    ("the question echoed", 'Return {"a": number} as JSON.', '{"a": 1}', {"a": 1}, _LAX),
    # Two readers, two values
    ("a duplicate key", '{"a": 2, "a": 1}', '{"a": 1}', {"a": 1}, {}),
    ("a duplicate key, escaped", '{"\\u0061": 2, "a": 1}', '{"\\u0061": 1}', {"a": 1}, {}),
    ("a duplicate key, deep within", '{"x": [{"a": 1, "a": 1}]}', '{"x": [{"a": 1}]}', {"x": [{"a": 1}]}, {}),
    ("a comment with another value", '{"a": 1 /* or 2 */}', '{"a": 1 }', {"a": 1}, {}),
    ("single quotes", "{'a': 1}", '{"a": 1}', {"a": 1}, {}),
    ("a trailing comma", '{"a": [1,]}', '{"a": [1]}', {"a": [1]}, {}),
    ("a byte order mark", '\ufeff{"a": 1}', ' {"a": 1}', {"a": 1}, {}),
    ("half of a surrogate pair", '{"a": "x\\ud800"}', '{"a": "x\\ud83d\\ude00"}', {"a": "x😀"}, {}),
    ("a half that the schema does not look at", '{"a": "\\ud800"}', '{"a": "\\ud83d\\ude00"}', None, _OBJECT),
    # Numbers
    ("NaN", '{"a": NaN}', '{"a": 1}', None, {"schema": {"required": ["a"]}}),
    (
        "Infinity above a minimum",
        '{"a": Infinity}',
        '{"a": 11}',
        None,
        {"schema": {"properties": {"a": {"minimum": 10}}}},
    ),
    ("infinity by overflow", '{"a": 1e999}', '{"a": 1e99}', None, {"schema": {"properties": {"a": {"minimum": 10}}}}),
    ("an endless integer", '{"a": ' + "9" * 5000 + "}", '{"a": ' + "9" * 50 + "}", None, _OBJECT),
    ("a huge number within a tolerance", '{"a": 1e999}', '{"a": 10.4}', {"a": 10}, {"rel_tol": 0.05}),
    ("true for 1", '{"a": true}', '{"a": 1.0}', {"a": 1}, {}),
    ("0 for false", '{"a": 0}', '{"a": false}', {"a": False}, {}),
    ("0 for null", '{"a": 0}', '{"a": null}', {"a": None}, {}),
    ("a neighbour beyond 2^53", '{"a": 9007199254740992}', '{"a": 9007199254740993}', {"a": 9007199254740993}, {}),
    (
        "1.5 as 15 in a similar text",
        '{"a": "15 mg daily"}',
        '{"a": "1.5 mg  daily"}',
        {"a": "1.5 mg daily"},
        {"text": "fuzzy", "threshold": 0.5},
    ),
    (
        "-5 as 5 in a similar text",
        '{"a": "it is 5 degrees"}',
        '{"a": "It is -5 degrees"}',
        {"a": "it is -5 degrees"},
        {"text": "fuzzy", "threshold": 0.5},
    ),
    # Extra keys and items
    ("an extra key", '{"a": 1, "b": 2}', '{"a": 1}', {"a": 1}, {}),
    ("a key for every guess", '{"a": 1, "b": 2, "c": 3, "d": 4}', '{"a": 1}', {"a": 1}, {}),
    (
        "an extra key that hides in a closed schema",
        '{"a": 1, "b": 2}',
        '{"a": 1}',
        None,
        {"schema": {"additionalProperties": False, "properties": {"a": True}}},
    ),
    ("every item that might be right", "[1, 2, 3, 4, 5, 6, 7, 8]", "[2]", [2], {"lists": "set"}),
    ("the right item again and again", "[2, 2, 2, 2]", "[2, 3, 5, 4]", [2, 3, 4, 5], {"lists": "multiset"}),
    ("a list of two answers for one", '[{"a": 1}, {"a": 2}]', '{"a": 1}', {"a": 1}, {}),
    (
        "a value for a missing one",
        '{"a": 1, "b": "x", "c": "y", "d": "z"}',
        '{"a": 1}',
        {"a": 1, "b": None},
        {"blank": "absent"},
    ),
    # Several answers
    ("two fences", _fenced('{"a": 1}') + _fenced('{"a": 2}'), _fenced('{"a": 1}') * 2, {"a": 1}, {}),
    ("two tags", '<answer>{"a": 1}</answer> <answer>{"a": 2}</answer>', '<answer>{"a": 1}</answer>', {"a": 1}, {}),
    ("two objects amid prose", 'Either {"a": 1} or {"a": 2}.', 'It is {"a": 1}.', {"a": 1}, _LAX),
    ("two objects in a row", '{"a": 1}{"a": 2}', '{"a": 1}\n', {"a": 1}, {}),
    ("JSON lines", '{"a": 2}\n{"a": 1}', '\n{"a": 1}', {"a": 1}, {}),
    ("the right object within a broken one", '{"x": oops, "y": {"a": 1}}', 'oops, {"a": 1}', {"a": 1}, _LAX),
    ("the right object in a text of another", '{"t": "{\\"a\\": 1}"}', '{"a": 1}', {"a": 1}, _LAX),
    # Where it stands
    ("the answer in the thought", '<think>{"a": 1}</think>Done.', '<think>x</think>{"a": 1}', {"a": 1}, {}),
    ("a thought without end", '<think>{"a": 1}', '<think></think>{"a": 1}', {"a": 1}, {}),
    ("a fence without end", '```json\n{"a": 1}', '```json\n{"a": 1}\n```', {"a": 1}, {}),
    ("a fence where none may stand", '```json\n{"a": 1}\n```', '{"a": 1}', {"a": 1}, {"extraction": "strict"}),
    ("a fence of Python", '```python\n{"a": 1}\n```', '```\n{"a": 1}\n```', {"a": 1}, {}),
    ("amid prose where none may stand", 'It is {"a": 1}.', '{"a": 1}', {"a": 1}, {}),
    # Cost
    ("deep nesting", '{"a":' * 20_000 + "1" + "}" * 20_000, '{"a":' * 60 + "1" + "}" * 60, None, _OBJECT),
    ("deep nesting, never closed", "[" * 200_000, "[[1]]", None, {"schema": {"type": "array"}}),
    (
        "a catastrophic pattern",
        '{"a": "' + "a" * 5000 + '!"}',
        '{"a": "aaa"}',
        None,
        {"schema": {"properties": {"a": {"pattern": "^(a|a|aa)+$"}}}},
    ),
    ("a million values", "[" + "1," * 200_000 + "1]", "[1, 1]", None, {"schema": {"type": "array"}}),
]

PAIRS: list[Pair] = [
    Pair(title=title, use="json", attack=attack, twin=twin, reference=reference, params=params)
    for title, attack, twin, reference, params in _ROWS
]
