"""Nim: objects are taken from one heap at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import xor
from typing import Literal

from rewarden_verifiers.games.rules import Illegal, NotAMove, Winner, shown

_TAKE = re.compile(r"\(([0-9]{1,3})[ ]?,[ ]?([0-9]{1,9})\)|([0-9]{1,3}):([0-9]{1,9})", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Nim:
    """heaps: objects in each heap. last: whether the side that takes the last object wins or, in misère, loses."""

    heaps: tuple[int, ...]
    last: Literal["wins", "loses"] = "wins"

    def board(self) -> NimBoard:
        """The heaps. Raises ValueError."""
        if not 1 <= len(self.heaps) <= 100 or not all(0 <= heap <= 1000 for heap in self.heaps) or not any(self.heaps):
            raise ValueError("there must be 1 to 100 heaps of up to a thousand objects, not all empty")
        return NimBoard(list(self.heaps), self.last)


class NimBoard:
    """The heaps, and the side to move."""

    def __init__(self, heaps: list[int], last: Literal["wins", "loses"]) -> None:
        self._heaps, self._last = heaps, last
        self._turn: Literal["first", "second"] = "first"

    @property
    def turn(self) -> Literal["first", "second"]:
        """See `Board`."""
        return self._turn

    def read(self, text: str) -> str:
        """`heap:count` or `(heap, count)`, the heap from 1."""
        found = _TAKE.fullmatch(text)
        if found is None:
            raise NotAMove(f"{shown(text)} is not a heap and a number of objects, such as 2:3")
        heap, count = int(found[1] or found[3]), int(found[2] or found[4])
        if not 1 <= heap <= len(self._heaps):
            raise Illegal(f"there is no heap {heap}")
        if not 1 <= count <= self._heaps[heap - 1]:
            raise Illegal(f"heap {heap} has {self._heaps[heap - 1]} objects, and {count} cannot be taken")
        return f"{heap}:{count}"

    def play(self, move: str) -> None:
        """See `Board`."""
        heap, count = map(int, move.split(":"))
        self._heaps[heap - 1] -= count
        self._turn = "second" if self._turn == "first" else "first"

    def winner(self) -> Winner | None:
        """See `Board`."""
        if any(self._heaps):
            return None
        other: Winner = "second" if self._turn == "first" else "first"
        return other if self._last == "wins" else self._turn

    def moves(self) -> Sequence[str]:
        """See `Board`."""
        return [f"{at + 1}:{count}" for at, heap in enumerate(self._heaps) for count in range(1, heap + 1)]

    def shown(self) -> str:
        """A line for each heap."""
        return "\n".join(f"heap {at + 1}: {heap}" for at, heap in enumerate(self._heaps))

    def best(self) -> Sequence[str]:
        """The moves after which the other side loses; if there are none, all moves, as no one is better."""
        found = [
            f"{at + 1}:{heap - left}"
            for at, heap in enumerate(self._heaps)
            for left in self._left(at)
            if 0 <= left < heap
        ]
        return found or self.moves()

    def _left(self, at: int) -> list[int]:
        """The sizes of a heap after which the side to move loses."""
        others = [heap for other, heap in enumerate(self._heaps) if other != at]
        if self._last == "loses" and all(heap <= 1 for heap in others):
            # Misère: an odd number of single objects must be left.
            return [(sum(others) + 1) % 2]
        return [reduce(xor, others, 0)]
