"""The rules of a game: which moves there are, what they do, and when the game ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

Winner = Literal["first", "second", "nobody"]
SHOWN = 40
"""Characters of a move that feedback repeats."""


class NotAMove(Exception):
    """A text that does not have the form of a move."""


class Illegal(Exception):
    """A move that the rules forbid now."""


class Board(Protocol):
    """A position. Moves are named by their canonical texts, so that two ways to write a move are one."""

    @property
    def turn(self) -> Literal["first", "second"]:
        """The side to move; in a game for one, always the first."""

    def read(self, text: str) -> str:
        """The move that a text means. Raises NotAMove or Illegal."""

    def play(self, move: str) -> None:
        """Makes a move that `read` returned."""

    def winner(self) -> Winner | None:
        """The side that has won, or nobody; None while the game goes on."""

    def moves(self) -> Sequence[str]:
        """The moves that the rules allow now, always in the same order."""

    def shown(self) -> str:
        """The position as text, for who is to move."""

    def best(self) -> Sequence[str]:
        """The moves that keep the best result that can be forced. Raises ValueError if that is too much work."""


def shown(text: str) -> str:
    """A move as feedback repeats it: short, and without control or look-alike characters."""
    return ascii(text[:SHOWN])
