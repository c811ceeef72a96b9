"""Connect four: discs fall into columns, and four in a row win."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.games.rules import Illegal, NotAMove, Winner, shown

_COLUMN = re.compile(r"[0-9]{1,2}", re.ASCII)
_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


@dataclass(frozen=True, kw_only=True)
class ConnectFour:
    """columns, rows: the size. Columns are numbered from 1; the first side begins."""

    columns: int = 7
    rows: int = 6

    def board(self) -> ConnectFourBoard:
        """The empty board. Raises ValueError."""
        if not (4 <= self.columns <= 20 and 4 <= self.rows <= 20):
            raise ValueError("columns and rows must be 4 to 20")
        return ConnectFourBoard(self.columns, self.rows)


class ConnectFourBoard:
    """A position: the discs of each column, from the bottom."""

    def __init__(self, columns: int, rows: int) -> None:
        self._columns: list[list[str]] = [[] for _ in range(columns)]
        self._rows = rows
        self._count = 0
        self._won: Winner | None = None

    @property
    def turn(self) -> Literal["first", "second"]:
        """See `Board`."""
        return "first" if self._count % 2 == 0 else "second"

    def read(self, text: str) -> str:
        """The number of a column."""
        if _COLUMN.fullmatch(text) is None:
            raise NotAMove(f"{shown(text)} is not a column")
        column = int(text)
        if not 1 <= column <= len(self._columns):
            raise Illegal(f"there is no column {column}")
        if len(self._columns[column - 1]) >= self._rows:
            raise Illegal(f"column {column} is full")
        return str(column)

    def play(self, move: str) -> None:
        """See `Board`."""
        side, at = self.turn, int(move) - 1
        self._columns[at].append(side)
        self._count += 1
        if any(self._length(at, direction) >= 4 for direction in _DIRECTIONS):
            self._won = side
        elif self._count == len(self._columns) * self._rows:
            self._won = "nobody"

    def _length(self, column: int, direction: tuple[int, int]) -> int:
        """The discs of one side in a row through the top of a column."""
        row = len(self._columns[column]) - 1
        side, length = self._columns[column][row], 1
        for sign in (1, -1):
            across, up = column + sign * direction[0], row + sign * direction[1]
            while 0 <= across < len(self._columns) and 0 <= up < len(self._columns[across]):
                if self._columns[across][up] != side:
                    break
                length += 1
                across, up = across + sign * direction[0], up + sign * direction[1]
        return length

    def winner(self) -> Winner | None:
        """See `Board`."""
        return self._won

    def moves(self) -> Sequence[str]:
        """See `Board`."""
        return [str(at + 1) for at, column in enumerate(self._columns) if len(column) < self._rows]

    def shown(self) -> str:
        """Rows from the top, `X` for the first side's discs and `O` for the second's, above the columns' numbers."""
        marks = {"first": "X", "second": "O"}
        rows = [
            " ".join(marks[column[row]] if row < len(column) else "." for column in self._columns)
            for row in reversed(range(self._rows))
        ]
        return "\n".join([*rows, " ".join(str((at + 1) % 10) for at in range(len(self._columns)))])

    def best(self) -> Sequence[str]:
        """Raises ValueError: the search is too large."""
        raise ValueError("the best moves of connect_four are not computed; give `best` or `replies`")
