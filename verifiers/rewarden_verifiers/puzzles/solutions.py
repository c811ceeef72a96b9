"""`grid` and `assignment`: puzzles of any kind with a single solution, compared cell by cell."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from rewarden_verifiers.puzzles import grids, literals
from rewarden_verifiers.puzzles.findings import RIGHT, Finding, Task, illegal, malformed, share_of, wrong

_ENTRY = re.compile(r"(?:[-*]\s+)?(.{1,200}?)\s{0,20}(?::|=|->|→)\s{0,20}(.{1,500})")

_SPACE = re.compile(r"\\[,;:! ]|\\q?quad(?![A-Za-z])")
_DRESS = "\"'`*$ "


@dataclass(frozen=True, kw_only=True)
class Grid(Task):
    """solution: the full grid. puzzle: the grid with blanks; its givens must be kept, and earn no `partial` credit."""

    solution: grids.Rows
    puzzle: grids.Rows | None = None
    task: Literal["grid"] = "grid"

    def checker(self) -> GridChecker:
        """The puzzle. Raises ValueError."""
        solution = grids.rows_of(self.solution)
        puzzle = [["_"] * len(row) for row in solution] if self.puzzle is None else grids.rows_of(self.puzzle)
        if len(puzzle) != len(solution) or len(puzzle[0]) != len(solution[0]):
            raise ValueError("puzzle and solution differ in size")
        free = [[cell.casefold() in grids.BLANKS for cell in row] for row in puzzle]
        return GridChecker(solution, free)


@dataclass(frozen=True, slots=True)
class GridChecker:
    """The solution, and the positions of the cells that were not given."""

    solution: list[list[str]]
    free: list[list[bool]]

    def check(self, answer: str) -> Finding:
        """Compares the cells, ignoring case."""
        rows = grids.read(answer, len(self.solution), len(self.solution[0]))
        if rows is None:
            return malformed(f"it is not a grid of {len(self.solution)} rows and {len(self.solution[0])} columns")
        cells: list[str] = []
        right = 0
        for at, (row, solved, free) in enumerate(zip(rows, self.solution, self.free, strict=True)):
            for column, (cell, wanted, blank) in enumerate(zip(row, solved, free, strict=True)):
                same = cell.casefold() == wanted.casefold()
                if blank:
                    cells.append(wanted.casefold())
                    right += same
                elif not same:
                    return illegal(f"row {at + 1}, column {column + 1} was given, and is changed")
        total = len(cells)
        if right == total:
            return RIGHT
        share = share_of(right, total, grids.best_constant(cells))
        return wrong(f"{total - right} of {total} cells are wrong", share, cells=total, cells_right=right)


@dataclass(frozen=True, kw_only=True)
class Assignment(Task):
    """solution: maps names to values, such as `{"A": 1, "B": 7}`."""

    solution: dict[str, int | str | bool]
    task: Literal["assignment"] = "assignment"

    def checker(self) -> AssignmentChecker:
        """The puzzle. Raises ValueError."""
        if not self.solution:
            raise ValueError("solution is empty")
        return AssignmentChecker({_word(name): _word(value) for name, value in self.solution.items()})


def _word(value: Any) -> str:
    text = " ".join(str(value).casefold().replace("\u2212", "-").split())
    return text.strip(_DRESS).removesuffix(".").strip(_DRESS) or text


@dataclass(frozen=True, slots=True)
class AssignmentChecker:
    """Maps names to values, in lower case."""

    solution: dict[str, str]

    def check(self, answer: str) -> Finding:
        """Reads a JSON object, or entries such as `A = 1`, one per line or separated by commas."""
        try:
            value = literals.parse(answer) if answer.lstrip().startswith("{") else None
        except literals.NotRead as error:
            return malformed(str(error))
        pairs: list[tuple[str, Any]] = []
        if isinstance(value, dict):
            pairs = list(value.items())
        else:
            for part in re.split(r"[\n,;]", _SPACE.sub(" ", answer)):
                if part.strip():
                    entry = _ENTRY.fullmatch(part.strip())
                    if entry is None:
                        return malformed(f"{part.strip()[:40]!r} gives nothing a value")
                    pairs.append((entry.group(1), entry.group(2)))
        told: dict[str, str] = {}
        for name, one in pairs:
            if told.setdefault(_word(name), _word(one)) != _word(one):
                return illegal(f"{str(name)[:40]!r} is given two values")
        if stranger := next((name for name in told if name not in self.solution), None):
            return illegal(f"{stranger[:40]!r} does not occur")
        total = len(self.solution)
        right = sum(told.get(name) == one for name, one in self.solution.items())
        if right == total:
            return RIGHT
        share = share_of(right, total, grids.best_constant(self.solution.values()))
        evidence = {"cells": total, "cells_right": right}
        if len(told) < total:
            return illegal(f"{total - len(told)} values are missing", share, **evidence)
        return wrong(f"{total - right} of {total} values are wrong", share, **evidence)
