"""`zebra`: a table of houses and their attributes, with one solution."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rewarden_verifiers.puzzles import grids, literals
from rewarden_verifiers.puzzles.findings import RIGHT, Finding, Task, illegal, malformed, share_of, wrong

Table = dict[tuple[str, str], str]
"""Maps (house, attribute) to a value, all in canonical form."""

MAX_CELLS = 10_000


@dataclass(frozen=True, kw_only=True)
class Zebra(Task):
    """solution: `{"House 1": {"Name": "Arnold", …}, …}`, or as ZebraLogic stores it: `{"header": ["House", "Name", …],
    "rows": [["1", "Arnold", …], …]}`.
    """

    solution: dict[str, Any]
    task: Literal["zebra"] = "zebra"

    def checker(self) -> ZebraChecker:
        """The puzzle. Raises ValueError."""
        table = _table(self.solution)
        if not table or len(table) > MAX_CELLS:
            raise ValueError("solution must give each house its attributes, or a header and rows")
        columns: defaultdict[str, list[str]] = defaultdict(list)
        for (_, attribute), value in table.items():
            columns[attribute].append(value)
        return ZebraChecker(table, sum(map(grids.best_constant, columns.values())))


def _key(text: Any) -> str:
    return " ".join(str(text).casefold().replace("_", " ").split())


def _house(text: Any) -> str:
    """The number of a house: "House 1", "1" and 1 are the same."""
    key = _key(text)
    digits = "".join(char for char in key if char.isdigit())
    return digits if digits and key.strip("0123456789 .:#") in ("", "house", "person", "position") else key


def _table(value: Any) -> Table | None:
    """Parses a JSON value as a table; None if it is not one. A house or attribute that occurs twice with different
    values makes it invalid.
    """
    if isinstance(value, Mapping) and set(value) == {"header", "rows"}:
        header, rows = value["header"], value["rows"]
        if not isinstance(header, (list, tuple)) or not header or not isinstance(rows, (list, tuple)):
            return None
        if any(not isinstance(row, (list, tuple)) or len(row) != len(header) for row in rows):
            return None
        return _cells([(row[0], zip(header[1:], row[1:], strict=True)) for row in rows])
    if isinstance(value, (list, tuple)):
        if not all(isinstance(row, Mapping) and row for row in value):
            return None
        named = [list(row.items()) for row in value]
        return _cells([(items[0][1], items[1:]) for items in named])
    if isinstance(value, Mapping) and all(isinstance(row, Mapping) for row in value.values()):
        return _cells([(house, row.items()) for house, row in value.items()])
    return None


def _cells(rows: list[tuple[Any, Any]]) -> Table | None:
    table: Table = {}
    for house, cells in rows:
        for attribute, cell in cells:
            place = (_house(house), _key(attribute))
            if isinstance(cell, (list, tuple, Mapping)) or place in table:
                return None
            table[place] = _key(cell)
    return table


def _markdown(text: str) -> Table | None:
    lines = [line for line in text.strip().split("\n") if line.strip() and grids.RULE.fullmatch(line) is None]
    rows = [[cell.strip(" *`") for cell in line.strip().strip("|").split("|")] for line in lines]
    return _table({"header": rows[0], "rows": rows[1:]}) if len(rows) > 1 and len(rows[0]) > 1 else None


@dataclass(frozen=True, slots=True)
class ZebraChecker:
    """The solution, and how many of its cells the best constant answer gets right."""

    table: Table
    constant: int

    def check(self, answer: str) -> Finding:
        """Reads all cells, as JSON in one of the solution's forms (also under `solution`), or as a Markdown table."""
        found: Table | None = None
        if answer.lstrip().startswith(("{", "[")):
            try:
                value = literals.parse(answer)
            except literals.NotRead as error:
                return malformed(str(error))
            if isinstance(value, Mapping) and isinstance(value.get("solution"), (Mapping, list)):
                value = value["solution"]
            found = _table(value)
        elif "|" in answer:
            found = _markdown(answer)
        if not found:
            return malformed("it is not a table of houses and attributes")
        if stranger := next((place for place in found if place not in self.table), None):
            return illegal(f"the puzzle has no {stranger[1][:40]!r} of {stranger[0][:40]!r}")
        right = sum(found.get(place) == value for place, value in self.table.items())
        total = len(self.table)
        if right == total:
            return RIGHT
        share = share_of(right, total, self.constant)
        evidence = {"cells": total, "cells_right": right}
        if len(found) < total:
            return illegal(f"{total - len(found)} cells are missing", share, **evidence)
        return wrong(f"{total - right} cells are wrong", share, **evidence)
