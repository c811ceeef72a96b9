"""JSON within text: what stands in fences, and values that stand in prose."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 24
"""Brackets within brackets beyond which a value is not read: no list of boxes is that deep."""

_FENCE = re.compile(r"```[ \t]{0,4}[\w+-]{0,16}[ \t]{0,4}\n?")
_TOKEN = re.compile(r'["\[\]{}\n]|\\.')
_TRAILING_COMMA = re.compile(r",(\s{0,200}[\]}])")
_WORDS = re.compile(r"\b(?:None|True|False)\b")
_AS_JSON = {"None": "null", "True": "true", "False": "false"}


def fenced(text: str) -> list[str]:
    """The contents of the fenced blocks, in order; one that never closes ends with the text."""
    if "```" not in text:
        return []
    marks = list(_FENCE.finditer(text))
    found = []
    for place in range(0, len(marks), 2):
        end = marks[place + 1].start() if place + 1 < len(marks) else len(text)
        found.append(text[marks[place].end() : end])
    return found


def values_in(text: str) -> list[Any]:
    """Every outermost list or object that is JSON, or Python's spelling of it."""
    return [value for _, value in placed_values(text)]


def placed_values(text: str) -> list[tuple[int, Any]]:
    """The same, with the places where they begin. One pass, each part parsed at most twice."""
    if "[" not in text and "{" not in text:
        return []
    return [(start, value) for start, end in _spans(text) if (value := _parsed(text[start:end])) is not None]


def says_nothing(value: Any) -> bool:
    """Whether a JSON value is an answer that nothing is there: `[]`, `{}`, `{"boxes": []}`, `[[]]`."""
    if isinstance(value, (list, dict)) and not value:
        return True
    if isinstance(value, list):
        return all(says_nothing(item) for item in value)
    return isinstance(value, dict) and any(item is None or says_nothing(item) for item in value.values())


def _spans(text: str) -> list[tuple[int, int]]:
    """Where outermost brackets open and close, as far as they balance."""
    found: list[tuple[int, int]] = []
    opened: list[str] = []
    start = deepest = 0
    quoted = False
    for match in _TOKEN.finditer(text):
        token = match.group()
        if quoted:
            quoted = token not in '"\n'  # no string of JSON goes over a line's end: a stray quote spoils one line
        elif token == '"':
            quoted = bool(opened)
        elif token in "[{":
            if not opened:
                start, deepest = match.start(), 0
            opened.append(token)
            deepest = max(deepest, len(opened))
        elif token in "]}":
            if not opened or (opened[-1] == "[") != (token == "]"):
                opened.clear()
                continue
            opened.pop()
            if not opened and deepest <= MAX_DEPTH:
                found.append((start, match.end()))
    return found


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    plain = _TRAILING_COMMA.sub(r"\1", text.replace("'", '"').replace("(", "[").replace(")", "]"))
    try:
        return json.loads(_WORDS.sub(lambda match: _AS_JSON[match.group()], plain))
    except ValueError:
        return None
