"""Parses JSON, and lists as Python prints them, without evaluating anything."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

MAX_DEPTH = 12
MAX_DIGITS = 400
_BRACKETS = re.compile(r"[\[\]{}]")


class NotRead(Exception):
    """The text is not JSON within the limits."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):  # duplicate keys hedge: {"A": 1, "A": 2}
        raise NotRead("a key occurs twice")
    return found


def _constant(word: str) -> NoReturn:
    raise NotRead(f"{word} is not a value")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise NotRead("a number is too long")
    return int(digits)


def _real(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise NotRead("a number is too large")
    return value


def parse(text: str) -> Any:
    """Parses a JSON text. Single quotes are accepted if there are no double quotes, as Python prints lists.

    Raises NotRead for anything else, for duplicate keys, NaN, infinities, and values that are nested too deeply.
    """
    depth = deepest = 0
    for bracket in _BRACKETS.finditer(text):
        depth += 1 if bracket.group() in "[{" else -1
        deepest = max(deepest, depth)
    if deepest > MAX_DEPTH:
        raise NotRead("it is too deep")
    if "'" in text and '"' not in text:
        text = text.replace("'", '"')
    try:
        return json.loads(
            text, object_pairs_hook=_pairs, parse_constant=_constant, parse_int=_integer, parse_float=_real
        )
    except (ValueError, RecursionError) as error:
        raise NotRead(str(error)) from None
