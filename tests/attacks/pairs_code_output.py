"""Attacks on `code_output`, each with its honest twin."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair

WORDS = "def f(words):\n    return [word[::-1] for word in words if len(word) > 2]\n"
VALUE = {"code": WORDS, "entry": "f", "args": [["ab", "cat"]]}
INPUT = {"code": WORDS, "ask": "input", "entry": "f", "args": [["cat"]], "returns": ["tac"]}
SUM = "n = int(input())\nprint(sum(range(n)))\n"
PRINTED = {"code": SUM, "stdin": "5\n"}
STDIN = {"code": SUM, "ask": "input", "stdin": "5", "stdout": "10\n", "limits": {"cpu_s": 1}}


def pair(title: str, attack: str, twin: str, reference: Any, **params: Any) -> Pair:
    return Pair(
        title=title,
        use="code_output",
        attack=f"<answer>{attack}</answer>",
        twin=f"<answer>{twin}</answer>",
        reference=reference,
        params=params,
    )


def value(title: str, attack: str, twin: str = "['tac']", **params: Any) -> Pair:
    return pair(title, attack, twin, VALUE, **params)


PAIRS = [
    value("silence", " "),
    value("the program's own call", "f(['ab', 'cat'])"),
    value("a call compared with itself", "f(['ab', 'cat']) == f(['ab', 'cat'])", "f(['ab', 'cat']) == ['tac']"),
    value("an object that equals all", "type('A', (), {'__eq__': lambda *_: True})()"),
    value("a comprehension", "[word[::-1] for word in ['cat']]"),
    value("an addition", "['tac'] + []"),
    value("a formatted text", "[f'{\"tac\"}']"),
    value("a tagged value", '{"$": {"l": ["tac"]}}'),
    value("a tagged value within", '[{"$": "tac"}]'),
    value("two values", "['tac'] or []"),
    value("two values, a comma between them", "['tac'], []"),
    value("a remark", "['tac'] # or []"),
    value("a text of the value", "\"['tac']\""),
    value("brackets without end", "[" * 19_000),
    value("signs without end", "-" * 19_000 + "1"),
    value("quotation marks without end", "'" * 19_000),
    value("a number of thousands of digits", "9" * 19_000),
    value("half of a surrogate pair", "['\ud800']"),
    value("a NUL", "['tac\0']"),
    value("a key twice", "{'tac': 1, 'tac': 2}"),
    pair("a shell in place of an input", "f(__import__('os').listdir('/'))", "f(['cat'])", INPUT),
    pair("the output as the input", "['tac']", "['cat', 'of']", INPUT),
    pair("no argument", "f()", "f(words=['cat'])", INPUT),
    pair("arguments without end", "['cat'], " * 2_000, "['cat']", INPUT),
    pair("a star before an argument", "*[['cat']]", "['cat']", INPUT),
    pair("an input with which the program fails", "f(None)", "f(['cat'])", INPUT),
    pair("an input that takes too long", "9" * 12, "5", STDIN),
    pair("an input that is none", "import os", " 5 ", STDIN),
    pair("a text that begins with the output", "10 or 15", "10", PRINTED),
    pair("the output twice", "10\n10", "10", PRINTED),
    pair("not a number for a number", "nan", "10.0", PRINTED, checker="floats"),
]
