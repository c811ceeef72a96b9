"""`n_queens`: n queens on an n by n board, none of which attacks another."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from rewarden_verifiers.puzzles import grids, literals
from rewarden_verifiers.puzzles.findings import RIGHT, Finding, Task, illegal, malformed, wrong

_QUEEN = frozenset({"Q", "q", "1", "♕", "♛", "👑"})
_BARE = re.compile(
    r"(\d{1,4}(?:\s{0,4},\s{0,4}\d{1,4}){1,250})|\((\d{1,4}(?:\s{0,4},\s{0,4}\d{1,4}){1,250})\)", re.ASCII
)
"""Columns without square brackets."""
_EMPTY = grids.BLANKS | {"□", "■", "·", "x", "X"}


@dataclass(frozen=True, kw_only=True)
class NQueens(Task):
    """The size, and the board if some queens are placed already (`Q`; anything else is empty)."""

    n: int | None = None
    board: grids.Rows | None = None
    task: Literal["n_queens"] = "n_queens"

    def checker(self) -> QueensChecker:
        """The puzzle. Raises ValueError."""
        rows = [] if self.board is None else grids.rows_of(self.board)
        size = self.n if self.n is not None else len(rows)
        if not 1 <= size <= grids.MAX_SIDE or (rows and (len(rows) != size or len(rows[0]) != size)):
            raise ValueError(f"n must be from 1 to {grids.MAX_SIDE}, and the board of that size")
        given = {row: column for row, cells in enumerate(rows) for column, cell in enumerate(cells) if cell in _QUEEN}
        return QueensChecker(size, given)


@dataclass(frozen=True, slots=True)
class QueensChecker:
    """The size, and the columns of the given queens by row."""

    size: int
    given: dict[int, int]

    def check(self, answer: str) -> Finding:
        """Accepts a board, or a list of the column in each row, counted from 0 or 1. Right for any solution that keeps
        the given queens.
        """
        placed = self._listed(answer)
        if placed is None:
            rows = grids.read(answer, self.size, self.size)
            if rows is None:
                return malformed(f"it is neither a board of {self.size} rows and columns nor a list of columns")
            placed = []
            for at, row in enumerate(rows):
                if any(cell not in _QUEEN and cell not in _EMPTY for cell in row):
                    return malformed(f"row {at + 1} holds more than queens and empty squares")
                columns = [column for column, cell in enumerate(row) if cell in _QUEEN]
                if len(columns) != 1:
                    return wrong(f"row {at + 1} holds {len(columns)} queens")
                placed += columns
        for place, given in self.given.items():
            if placed[place] != given:
                return illegal(f"the queen given in row {place + 1} has moved")
        for name, lines in (
            ("column", placed),
            ("diagonal", [at + column for at, column in enumerate(placed)]),
            ("diagonal", [at - column for at, column in enumerate(placed)]),
        ):
            if len(set(lines)) != self.size:
                return wrong(f"two queens share one {name}")
        return RIGHT

    def _listed(self, answer: str) -> list[int] | None:
        bare = _BARE.fullmatch(answer.strip())
        try:
            value: Any = literals.parse(answer if bare is None else f"[{bare.group(1) or bare.group(2)}]")
        except literals.NotRead:
            return None
        if not isinstance(value, list) or len(value) != self.size:
            return None
        if not all(isinstance(one, int) and not isinstance(one, bool) for one in value):
            return None
        # A solution has a queen in every column, so the smallest number shows whether counting starts at 0 or 1.
        first = min(value)
        return [one - first for one in value] if first in (0, 1) and max(value) < self.size + first else None
