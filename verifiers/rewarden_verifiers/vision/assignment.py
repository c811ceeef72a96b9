"""Assigns predictions to expected items, each of which is used once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rewarden.errors import MissingDependency

Matching = Literal["hungarian", "greedy_score", "greedy_value"]
Pairs = list[tuple[int, int]]
Gains = Sequence[Sequence[float]]


def assign(gains: Gains, matching: Matching, order: Sequence[int]) -> Pairs:
    """Returns pairs (row, column) with a positive gain, ordered by row. Each row and each column occurs at most once.

    hungarian: maximises the sum. greedy_score: the rows choose in the given order. greedy_value: takes the greatest
    gain first. Ties go to the earlier row and column. Raises MissingDependency if a conflict needs SciPy and it is not
    installed.
    """
    if not gains or not gains[0]:
        return []
    if matching == "greedy_score":
        return _by_rows(gains, order)
    if matching == "greedy_value":
        return _by_value(gains)
    return _hungarian(gains)


def _by_rows(gains: Gains, order: Sequence[int]) -> Pairs:
    taken: set[int] = set()
    pairs: Pairs = []
    for row in order:
        best, chosen = 0.0, -1
        for column, gain in enumerate(gains[row]):
            if gain > best and column not in taken:
                best, chosen = gain, column
        if chosen >= 0:
            taken.add(chosen)
            pairs.append((row, chosen))
    return sorted(pairs)


def _by_value(gains: Gains) -> Pairs:
    ranked = sorted(
        (-gain, row, column) for row, line in enumerate(gains) for column, gain in enumerate(line) if gain > 0
    )
    rows: set[int] = set()
    columns: set[int] = set()
    pairs: Pairs = []
    for _, row, column in ranked:
        if row not in rows and column not in columns:
            rows.add(row)
            columns.add(column)
            pairs.append((row, column))
    return sorted(pairs)


def _hungarian(gains: Gains) -> Pairs:
    # No optimisation is needed if every row prefers a different column, or all rows prefer the same one.
    favourites = [max(range(len(line)), key=line.__getitem__) for line in gains]
    wanted = [(row, column) for row, column in enumerate(favourites) if gains[row][column] > 0]
    if len({column for _, column in wanted}) == len(wanted):
        return wanted
    if len(gains[0]) == 1:
        row = max(range(len(gains)), key=lambda row: gains[row][0])
        return [(row, 0)]
    try:
        from scipy.optimize import linear_sum_assignment
    except ModuleNotFoundError:
        raise MissingDependency(
            "matching several answers with each other needs SciPy: pip install 'rewarden-server[vision]'"
        ) from None
    rows, columns = linear_sum_assignment(gains, maximize=True)
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True) if gains[row][column] > 0]


def warm() -> None:
    """Imports what matching needs, if it is installed."""
    try:
        import scipy.optimize  # noqa: F401
    except ModuleNotFoundError:
        return
