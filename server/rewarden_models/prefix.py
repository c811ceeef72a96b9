"""The prefixes that the rows of a batch share, as a tree: each piece is computed once for all rows below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rewarden_models.overhead import CPU

SHORTEST = 32
"""The shortest prefix, in tokens, that is worth a pass of its own."""

LEVELS = 3
"""Nested pieces: the prefix of a group, that of the choices of one of its rows, and one more."""


@dataclass(slots=True)
class Piece:
    """Tokens `begin` to `end` of row `of`, which all rows below share. rows: those that continue alone from `end`;
    parts: pieces that share more. The root of a tree is empty if not all rows share a prefix."""

    begin: int
    end: int
    of: int
    rows: list[int] = field(default_factory=list)
    parts: list[Piece] = field(default_factory=list)

    def below(self) -> list[int]:
        """All rows that begin with this piece."""
        return self.rows + [row for part in self.parts for row in part.below()]

    def tokens(self, lengths: Sequence[int]) -> int:
        """The number of tokens computed, not counting padding."""
        own = self.end - self.begin + sum(lengths[row] - self.end for row in self.rows)
        return own + sum(part.tokens(lengths) for part in self.parts)


def common(one: Sequence[int], other: Sequence[int], start: int = 0) -> int:
    """The number of leading ids that are equal; the first `start` are known to be. Compares slices, so the work is done
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
    """The tree of rows (token ids), with pieces where they save more tokens than another pass costs (`overhead`). Rows
    are sorted first, so comparing neighbours is enough.
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
