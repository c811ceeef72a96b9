"""Tic-tac-toe: three in a row on nine squares."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rewarden_verifiers.games.rules import Illegal, NotAMove, Winner, shown

_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
_SQUARE = re.compile(r"([1-9])|\(([1-3])[ ]?,[ ]?([1-3])\)|([a-cA-C])([1-3])", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class TicTacToe:
    """squares: the position as nine characters by rows, `X`, `O` or `.`; by default empty. X begins."""

    squares: str = "........."

    def board(self) -> TicTacToeBoard:
        """The position. Raises ValueError."""
        squares = "".join(self.squares.split()).upper()
        x, o = squares.count("X"), squares.count("O")
        if len(squares) != 9 or set(squares) - set("XO.") or x - o not in (0, 1):
            raise ValueError("squares must be nine of X, O and '.', with as many X as O or one more")
        return TicTacToeBoard(squares)


class TicTacToeBoard:
    """A position; squares are numbered 1 to 9 by rows."""

    def __init__(self, squares: str) -> None:
        self._squares = squares

    @property
    def turn(self) -> Literal["first", "second"]:
        """X is the first."""
        return "first" if self._squares.count("X") == self._squares.count("O") else "second"

    def read(self, text: str) -> str:
        """A number from 1 to 9, `(row, column)`, or column and row as `b3`."""
        found = _SQUARE.fullmatch(text)
        if found is None:
            raise NotAMove(f"{shown(text)} is not a square")
        if found[1]:
            square = int(found[1])
        elif found[2]:
            square = 3 * (int(found[2]) - 1) + int(found[3])
        else:
            square = 3 * (int(found[5]) - 1) + "abc".index(found[4].lower()) + 1
        if self._squares[square - 1] != ".":
            raise Illegal(f"square {square} is taken")
        return str(square)

    def play(self, move: str) -> None:
        """See `Board`."""
        self._squares = _played(self._squares, int(move) - 1)

    def winner(self) -> Winner | None:
        """See `Board`."""
        return _winner(self._squares)

    def moves(self) -> Sequence[str]:
        """See `Board`."""
        return [str(square + 1) for square in range(9) if self._squares[square] == "."]

    def shown(self) -> str:
        """Three rows; free squares have their numbers."""
        cells = [mark if mark != "." else str(square + 1) for square, mark in enumerate(self._squares)]
        return "\n".join(" ".join(cells[row : row + 3]) for row in (0, 3, 6))

    def best(self) -> Sequence[str]:
        """See `Board`."""
        free = [square for square in range(9) if self._squares[square] == "."]
        values = {square: -_value(_played(self._squares, square)) for square in free}
        return [str(square + 1) for square in free if values[square] == max(values.values())]


def _played(squares: str, square: int) -> str:
    mark = "X" if squares.count("X") == squares.count("O") else "O"
    return squares[:square] + mark + squares[square + 1 :]


def _winner(squares: str) -> Winner | None:
    for a, b, c in _LINES:
        if squares[a] != "." and squares[a] == squares[b] == squares[c]:
            return "first" if squares[a] == "X" else "second"
    return "nobody" if "." not in squares else None


@lru_cache(maxsize=8192)
def _value(squares: str) -> int:
    """1, 0 or -1: the result that the side to move can force."""
    winner = _winner(squares)
    if winner is not None:
        return 0 if winner == "nobody" else -1
    return max(-_value(_played(squares, square)) for square in range(9) if squares[square] == ".")
