"""`sudoku` and `futoshiki`: each symbol occurs once in every row and column, and each puzzle adds its own rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.puzzles import grids
from rewarden_verifiers.puzzles.findings import RIGHT, Finding, Task, illegal, malformed, share_of, wrong

Inequality = tuple[int, int, int, int, Literal["<", ">"]]
MAX_SIZE = 100


@dataclass(frozen=True, kw_only=True)
class Sudoku(Task):
    """A grid with blanks (0, null, `_` or `.`), of any size.

    box: the rows and columns of a box that is not square, such as `[2, 3]` for a 6 by 6 grid. solution: the basis of
    `partial` credit; any valid completion is right nevertheless.
    """

    puzzle: grids.Rows
    solution: grids.Rows | None = None
    box: tuple[int, int] | None = None
    task: Literal["sudoku"] = "sudoku"

    def checker(self) -> LatinChecker:
        """The puzzle. Raises ValueError."""
        givens = _square(self.puzzle, "puzzle")
        size = len(givens)
        side = math.isqrt(size)
        box = self.box or (side, side)
        if box[0] < 1 or box[0] * box[1] != size:
            raise ValueError(f"box: a grid of {size} rows needs the rows and columns of its boxes, whose product it is")
        return LatinChecker(givens, _solution(self.solution, givens), box, ())


@dataclass(frozen=True, kw_only=True)
class Futoshiki(Task):
    """A grid with blanks and inequalities.

    constraints: `[row, column, row, column, "<" or ">"]`, counted from 0. solution: see `sudoku`.
    """

    puzzle: grids.Rows
    constraints: tuple[Inequality, ...]
    solution: grids.Rows | None = None
    task: Literal["futoshiki"] = "futoshiki"

    def checker(self) -> LatinChecker:
        """The puzzle. Raises ValueError."""
        givens = _square(self.puzzle, "puzzle")
        if any(not 0 <= place < len(givens) for one in self.constraints for place in one[:4]):
            raise ValueError("constraints: a cell is outside the grid")
        return LatinChecker(givens, _solution(self.solution, givens), None, self.constraints)


Numbers = list[list[int]]


def _square(grid: grids.Rows, name: str) -> Numbers:
    rows = grids.rows_of(grid)
    size = len(rows)
    if len(rows[0]) != size or size > MAX_SIZE:
        raise ValueError(f"{name} must have as many columns as rows, at most {MAX_SIZE}")
    numbers = [[0 if cell in grids.BLANKS else _number(cell, size) for cell in row] for row in rows]
    if any(number < 0 for row in numbers for number in row):
        raise ValueError(f"{name} contains something that is neither a number from 1 to {size} nor a blank")
    return numbers


def _solution(grid: grids.Rows | None, givens: Numbers) -> Numbers | None:
    if grid is None:
        return None
    solution = _square(grid, "solution")
    if len(solution) != len(givens) or any(not number for row in solution for number in row):
        raise ValueError("solution must be a full grid of the puzzle's size")
    return solution


def _number(cell: str, size: int) -> int:
    if cell.isascii() and cell.isdigit() and len(cell) <= grids.MAX_NUMBER and 1 <= int(cell) <= size:
        return int(cell)
    return -1


@dataclass(frozen=True, slots=True)
class LatinChecker:
    """The givens (0 for a blank), the solution if known, the box size if there are boxes, and the inequalities."""

    givens: Numbers
    solution: Numbers | None
    box: tuple[int, int] | None
    inequalities: Sequence[Inequality]

    def check(self, answer: str) -> Finding:
        """`illegal` if a given is changed or a cell is not a number of the grid; `wrong` if a rule is broken."""
        size = len(self.givens)
        if self.inequalities or self.box is None:
            answer = answer.translate(_SIGNS)
        rows = grids.read(answer, size, size)
        if rows is None:
            return malformed(f"it is not a grid of {size} rows and columns")
        cells = [[_number(cell, size) for cell in row] for row in rows]
        for at, (row, given) in enumerate(zip(cells, self.givens, strict=True)):
            for column, (cell, fixed) in enumerate(zip(row, given, strict=True)):
                if cell < 0:
                    return illegal(f"row {at + 1}, column {column + 1} holds {rows[at][column][:8]!r}")
                if fixed and cell != fixed:
                    return illegal(f"the {fixed} in row {at + 1}, column {column + 1} is changed")
        broken = self._broken(cells)
        return RIGHT if broken is None else wrong(broken, self._share(cells))

    def _broken(self, cells: Numbers) -> str | None:
        """The first broken rule, or None."""
        size = len(cells)
        for at in range(size):
            if len(set(cells[at])) != size:
                return f"row {at + 1} contains a number twice"
            if len({row[at] for row in cells}) != size:
                return f"column {at + 1} contains a number twice"
        if self.box is not None:
            high, wide = self.box
            for top in range(0, size, high):
                for left in range(0, size, wide):
                    held = {cell for row in cells[top : top + high] for cell in row[left : left + wide]}
                    if len(held) != size:
                        return f"the box at row {top + 1}, column {left + 1} contains a number twice"
        for row, column, other_row, other_column, sign in self.inequalities:
            first, second = cells[row][column], cells[other_row][other_column]
            if not (first < second if sign == "<" else first > second):
                return f"{first} {sign} {second} does not hold at row {row + 1}, column {column + 1}"
        return None

    def _share(self, cells: Numbers) -> float:
        if self.solution is None:
            return 0.0
        blanks = [
            (cell, solved)
            for row, given, solution in zip(cells, self.givens, self.solution, strict=True)
            for cell, fixed, solved in zip(row, given, solution, strict=True)
            if not fixed
        ]
        right = sum(cell == solved for cell, solved in blanks)
        return share_of(right, len(blanks), grids.best_constant([solved for _, solved in blanks]))


# Puzzles are printed with inequality signs between the cells, and so are answers.
_SIGNS = str.maketrans(dict.fromkeys("<>\u2227\u2228^\u2228\u2039\u203a", " ") | {"v": " ", "V": " "})
