"""The beginnings that rows of a batch have in common, as a tree: a piece is computed once for all below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rewarden_models.overhead import CPU

SHORTEST = 32
"""Tokens of a beginning that is worth a pass of its own."""

LEVELS = 3
"""Pieces behind one another: what a group shares, what choices of one of its rows share, and one more."""


@dataclass(slots=True)
class Piece:
    """Tokens `begin` to `end` of row `of`, which all rows below have too. rows: those that go on by themselves from
    `end`; parts: those that share more. A tree's root is empty where nothing is shared by all."""

    begin: int
    end: int
    of: int
    rows: list[int] = field(default_factory=list)
    parts: list[Piece] = field(default_factory=list)

    def below(self) -> list[int]:
        """All rows that begin so."""
        return self.rows + [row for part in self.parts for row in part.below()]

    def tokens(self, lengths: Sequence[int]) -> int:
        """Tokens that are computed, padding not included."""
        own = self.end - self.begin + sum(lengths[row] - self.end for row in self.rows)
        return own + sum(part.tokens(lengths) for part in self.parts)


def common(one: Sequence[int], other: Sequence[int], start: int = 0) -> int:
    """Returns how many first ids are the same; the first `start` are known to be. Compares slices, so that the work is
    in C.
    """
    low, high = start, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def plan(rows: Sequence[list[int]], overhead: int = CPU) -> Piece:
    """The tree of rows (token ids), pieces where they pay: where they save more tokens than the further pass costs
    (`overhead`). Sorting costs what comparing neighbours costs.
    """
    order = sorted(range(len(rows)), key=rows.__getitem__)
    shared = [common(rows[one], rows[other]) for one, other in pairwise(order)]
    root = Piece(0, 0, order[0] if order else 0)
    todo = [(0, len(order), root, 0)]
    while todo:
        first, last, above, level = todo.pop()
        if last - first < 2 or level == LEVELS:
            above.rows += order[first:last]
            continue
        depth = min(shared[first : last - 1])
        if depth - above.end >= SHORTEST and (depth - above.end) * (last - first - 1) >= overhead:
            piece = Piece(above.end, depth, order[first])
            above.parts.append(piece)
            above, level = piece, level + 1
        elif max(shared[first : last - 1]) - above.end < SHORTEST:
            above.rows += order[first:last]
            continue
        begin = first
        for place in [place for place in range(first, last - 1) if shared[place] == depth] + [last - 1]:
            todo.append((begin, place + 1, above, level))
            begin = place + 1
    return root
