"""Rankings in Markdown tables: a column of ids, from top to bottom or by a column of ranks.

The heading selects the column of ids, never the reference: if columns have different orders, the best one must not be
picked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_RULE = re.compile(r"[ \t]{0,4}\|?(?:[ \t]{0,8}:?-{1,200}:?[ \t]{0,8}\|){0,100}(?:[ \t]{0,8}:?-{1,200}:?[ \t]{0,8})?")
"""The line between the headings and the rows."""
_BAR = re.compile(r"(?<!\\)\|")
_RANK = re.compile(r"\D{0,4}([0-9]{1,5})(?:\.|\)|st|nd|rd|th)?[\s*_]{0,4}")
_AROUND = " \t\r*_`#.:"
_RANKS = frozenset(("rank", "ranking", "position", "place", "no", "nr", "order", ""))  # "" is "#", or no heading at all
_IDS = (
    ("id", "doc id", "docid", "doc_id", "document id", "document_id", "passage id", "passage_id", "pid", "item id"),
    ("document", "doc", "passage", "identifier", "item", "candidate", "result", "source"),
    ("title", "name", "movie", "film", "book", "product", "song", "url"),
)
"""Headings of a column of ids: the first of these that a table has."""


class Table(NamedTuple):
    """A ranking: the ids in their order, the line after the table, and whether a column of ranks makes it one."""

    ids: Sequence[str]
    end: int
    ranked: bool


def last_table(lines: Sequence[str]) -> Table | None:
    """The last table among some lines; None if there is none with rows, or two columns have the same heading."""
    for place in range(len(lines) - 1, 0, -1):
        if "-" in lines[place] and "|" in lines[place] and "|" in lines[place - 1] and _RULE.fullmatch(lines[place]):
            return _table(lines, place)
    return None


def _table(lines: Sequence[str], rule: int) -> Table | None:
    headings = [cell.strip(_AROUND).casefold() for cell in _cells(lines[rule - 1])]
    end = rule + 1
    while end < len(lines) and "|" in lines[end]:
        end += 1
    rows = [_cells(line) for line in lines[rule + 1 : end]]
    if not rows or len(set(headings)) < len(headings) or len(headings) != len(_cells(lines[rule])):
        return None
    rank = next((column for column, heading in enumerate(headings) if heading in _RANKS), None)
    column = _id_column(headings, rank)
    if column is None:
        return None
    ids = [_cell(row, column) for row in rows]
    ranks = [_RANK.fullmatch(_cell(row, rank)) for row in rows] if rank is not None else []
    numbers = [int(found[1]) for found in ranks if found is not None]
    if numbers and len(numbers) == len(ids):
        ids = [ids[place] for place in sorted(range(len(ids)), key=numbers.__getitem__)]
    return Table(ids, end, rank is not None)


def _id_column(headings: Sequence[str], rank: int | None) -> int | None:
    for names in _IDS:
        found = [column for column, heading in enumerate(headings) if heading in names]
        if found:
            return found[0]
    return next((column for column in range(len(headings)) if column != rank), None)


def _cells(line: str) -> list[str]:
    return [cell.replace("\\|", "|").strip() for cell in _BAR.split(line.strip().removeprefix("|").removesuffix("|"))]


def _cell(row: Sequence[str], column: int) -> str:
    return row[column] if column < len(row) else ""
