"""Pairs two lists optimally, given a table of gains: the Hungarian method (Kuhn 1955) with shortest augmenting
paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

MAX_SIDE = 64
"""The maximum length of the longer list, because the time is cubic."""


def best_pairs(gains: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Returns the pairs (row, column) with the greatest total gain. Each row and column occurs at most once; pairs
    without gain are left out.

    `gains` is a rectangle of non-negative numbers, with no side longer than MAX_SIDE.
    """
    rows = len(gains)
    columns = len(gains[0]) if rows else 0
    if rows == 0 or columns == 0:
        return []
    if rows == 1:
        best = max(range(columns), key=gains[0].__getitem__)
        return [(0, best)] if gains[0][best] > 0 else []
    if rows > columns:
        turned = best_pairs([[row[column] for row in gains] for column in range(columns)])
        return sorted((row, column) for column, row in turned)
    of_column = _assigned(gains, rows, columns)
    return sorted((row, column) for column, row in of_column.items() if gains[row][column] > 0)


def _assigned(gains: Sequence[Sequence[float]], rows: int, columns: int) -> dict[int, int]:
    """Maps each assigned column to its row. `rows` is at most `columns`."""
    row_price = [0.0] * rows
    column_price = [0.0] * (columns + 1)
    taken = [-1] * (columns + 1)  # the row of each column; the extra last column holds the row being assigned
    for row in range(rows):
        taken[columns] = row
        column = columns
        least = [inf] * columns
        before = [columns] * columns
        seen = [False] * (columns + 1)
        while taken[column] >= 0:
            seen[column] = True
            here, step, following = taken[column], inf, -1
            line, price = gains[here], row_price[here]
            for other in range(columns):
                if not seen[other]:
                    cost = -line[other] - price - column_price[other]
                    if cost < least[other]:
                        least[other], before[other] = cost, column
                    if least[other] < step:
                        step, following = least[other], other
            for other in range(columns + 1):
                if seen[other]:
                    row_price[taken[other]] += step
                    column_price[other] -= step
                elif other < columns:
                    least[other] -= step
            column = following
        while column != columns:
            taken[column] = taken[before[column]]
            column = before[column]
        taken[columns] = -1
    return {column: row for column, row in enumerate(taken[:columns]) if row >= 0}
