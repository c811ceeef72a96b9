"""Parses scores of ids, from which a ranking follows: JSON, or lines such as "d3: 0.9"."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rewarden_verifiers.retrieval.lists import clean

_FENCE = re.compile(r"```[A-Za-z]{0,12}\n?|~~~[A-Za-z]{0,12}\n?")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,15}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})(?:[eE][+-]?[0-9]{1,2})?")
_LINE = re.compile(
    r"[ \t]{0,16}(?:[-*•+][ \t]{1,16}|[0-9]{1,5}[.)][ \t]{1,16})?(\S.*?)[ \t]{0,16}[:=|][ \t]{0,16}(\S+)"
)
_ID_KEYS = ("id", "doc_id", "docid", "document_id", "passage_id", "pid", "item_id", "item", "title", "name")
_SCORE_KEYS = ("score", "relevance", "rating", "value")
_LIST_KEYS = ("scores", "relevance", "ratings", "ranking", "results", "items", "answer")


class Pairs(list[tuple[str, Any]]):
    """A JSON object with its keys in order, repeated ones included."""


def scores(text: str) -> list[tuple[str | None, float]] | None:
    """The ids and their scores, as written; None if there are none, or one is no finite number.

    Scores without ids have None. Never raises; linear.
    """
    body = _FENCE.sub("", text).strip() if "`" in text or "~" in text else text.strip()
    if body[:1] in ("{", "["):
        try:
            found = _of_json(json.loads(body, object_pairs_hook=Pairs))
        except (ValueError, RecursionError):
            return None
        return found or None
    return _of_lines(body)


def _of_json(value: Any) -> list[tuple[str | None, float]] | None:
    if isinstance(value, Pairs):
        inner = next((item for key, item in value if key in _LIST_KEYS and isinstance(item, list)), None)
        if inner is not None:
            return _of_json(inner)
        return _numbers([(clean(key), item) for key, item in value])
    if not isinstance(value, list):
        return None
    entries: list[tuple[str | None, Any]] = []
    for item in value:
        if isinstance(item, Pairs):
            fields = dict(item)
            one = _first(fields, _ID_KEYS)
            if isinstance(one, bool) or not isinstance(one, (str, int)):
                return None
            entries.append((clean(str(one)), _first(fields, _SCORE_KEYS)))
        elif isinstance(item, list) and len(item) == 2 and isinstance(item[0], (str, int)):
            entries.append((clean(str(item[0])), item[1]))
        else:
            entries.append((None, item))
    if len({one is None for one, _ in entries}) > 1:
        return None
    return _numbers(entries)


def _first(fields: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((fields[key] for key in keys if key in fields), None)


def _numbers(entries: Sequence[tuple[str | None, Any]]) -> list[tuple[str | None, float]] | None:
    found: list[tuple[str | None, float]] = []
    for one, value in entries:
        number = _number(value)
        if number is None or one == "":
            return None
        found.append((one, number))
    return found


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else None
    try:
        number = float(value)
    except OverflowError:  # attack: an integer of thousands of digits
        return None
    return number if math.isfinite(number) else None


def _of_lines(text: str) -> list[tuple[str | None, float]] | None:
    """The last run of lines that end with a number after a colon, an equals sign or a bar."""
    run: list[tuple[str | None, float]] = []
    open_run = False
    for line in text.split("\n"):
        match = _LINE.fullmatch(line.strip().strip("|").strip()) if len(line) <= 1000 else None
        number = _number(match[2].strip("*_`")) if match is not None else None
        if match is None or number is None:
            open_run = open_run and not line.strip()
            continue
        if not open_run:
            run = []
        open_run = True
        run.append((clean(match[1]), number))
    return run or None
