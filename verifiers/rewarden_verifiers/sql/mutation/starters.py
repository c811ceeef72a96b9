"""Rows for empty tables, so that databases can be generated from a schema alone."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any

from rewarden_verifiers.sql.databases import EngineName
from rewarden_verifiers.sql.engines.engine import Column

_TEXTS = ("Amber", "blue", "GREY", "two words", "Rome 3", "x-1", "Delta", "echo 9", "Z", "Hotel Room", "india", "J.K.")
"""Texts of many shapes, lengths and cases, so that no rule is inferred from them."""
_PERIODS = (5, 7, 9)
_FIRST = datetime.datetime(2020, 1, 28, 9, 30)
_STEP = datetime.timedelta(days=97, hours=5)
_LENGTH = re.compile(r"CHAR[^(]*\(\s*(\d+)")
_DATED = re.compile(r"(.*_)?(date|day|birthday|dob)|.*(Date|Day)", re.IGNORECASE)


def starters(columns: Sequence[Column], engine: EngineName) -> list[tuple[Any, ...]]:
    """Returns twelve rows. Values of the same type are the same in every table, so that foreign keys find their
    parents.

    Unless a column is a key or the first one, its values repeat, with a different period in each column, so that a
    foreign key is not mistaken for a key.
    """
    rows = []
    for number in range(len(_TEXTS)):
        places = [
            number if place == 0 or column.primary_key or column.unique else number % _PERIODS[place % len(_PERIODS)]
            for place, column in enumerate(columns)
        ]
        rows.append(tuple(_value(column, at, engine) for column, at in zip(columns, places, strict=True)))
    return rows


def _value(column: Column, number: int, engine: EngineName) -> Any:
    declared = column.type.upper()
    moment = _FIRST + number * _STEP
    if "INT" in declared or declared.startswith("SERIAL"):
        return number + 1
    if "BOOL" in declared:
        return number % 2 if engine == "sqlite" else number % 2 == 1
    if re.search("REAL|FLOA|DOUB|NUM|DEC", declared):
        return number + 0.5
    if "TIMESTAMP" in declared or "DATETIME" in declared:
        return moment.strftime("%Y-%m-%d %H:%M:%S") if engine == "sqlite" else moment
    if "DATE" in declared:
        return moment.strftime("%Y-%m-%d") if engine == "sqlite" else moment.date()
    if _DATED.fullmatch(column.name):
        return moment.strftime("%Y-%m-%d")
    length = _LENGTH.search(declared)
    return _TEXTS[number] if length is None else _TEXTS[number][: int(length[1])]
