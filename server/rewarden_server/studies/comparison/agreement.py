"""The agreement of two judges: plain statistics of two lists."""

from __future__ import annotations

import math
from collections.abc import Sequence


def kappa(both: int, first: int, second: int, neither: int) -> tuple[float, float, float] | None:
    """Cohen's kappa of a two by two table, with its 95 % interval (Fleiss, Cohen and Everitt 1969).

    both: passed by both judges; first, second: by one alone; neither: by none. None where chance alone explains all:
    a table without rows, or one in which both judges always say the same one thing.
    """
    n = both + first + second + neither
    if not n:
        return None
    cells = ((both / n, first / n), (second / n, neither / n))
    rows = [sum(row) for row in cells]
    columns = [cells[0][place] + cells[1][place] for place in (0, 1)]
    observed = cells[0][0] + cells[1][1]
    chance = rows[0] * columns[0] + rows[1] * columns[1]
    if chance >= 1.0:
        return None
    value = (observed - chance) / (1 - chance)
    diagonal = sum(cells[i][i] * ((1 - chance) - (columns[i] + rows[i]) * (1 - observed)) ** 2 for i in (0, 1))
    off = (1 - observed) ** 2 * sum(cells[i][1 - i] * (columns[i] + rows[1 - i]) ** 2 for i in (0, 1))
    variance = (diagonal + off - (observed * chance - 2 * chance + observed) ** 2) / (n * (1 - chance) ** 4)
    spread = 1.959964 * math.sqrt(max(0.0, variance))
    return value, max(-1.0, value - spread), min(1.0, value + spread)


def mcnemar(first: int, second: int) -> float:
    """The two-sided exact p-value that two judges pass equally many, given on how many each alone passed.

    McNemar 1947, by the binomial distribution; 1.0 if they never differ.
    """
    n, few = first + second, min(first, second)
    if n == 0:
        return 1.0
    logs = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2) for k in range(few + 1)]
    return min(1.0, 2 * math.fsum(math.exp(log) for log in logs))


def pearson(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """The linear correlation of two lists of equal length; None if one of them is constant."""
    n = len(xs)
    if n < 2:
        return None
    mean_x, mean_y = math.fsum(xs) / n, math.fsum(ys) / n
    spread_x = math.fsum((x - mean_x) ** 2 for x in xs)
    spread_y = math.fsum((y - mean_y) ** 2 for y in ys)
    if spread_x <= 0 or spread_y <= 0:
        return None
    shared = math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return max(-1.0, min(1.0, shared / math.sqrt(spread_x * spread_y)))


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value from 1; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            found[place] = (start + end) / 2 + 1
        start = end + 1
    return found


def spearman(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """The rank correlation, ties sharing their ranks; None if one of the lists is constant."""
    return pearson(ranks(xs), ranks(ys))
