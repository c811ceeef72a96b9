"""The columns of a result, and whether the rows that they form agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

from rewarden_verifiers.sql.comparison import matching
from rewarden_verifiers.sql.comparison.matching import Numbers, Row, Work
from rewarden_verifiers.sql.comparison.settings import Comparison
from rewarden_verifiers.sql.comparison.values import (
    NUMBER,
    Key,
    Number,
    Reading,
    holds_dates,
    holds_fractions,
    kinds_of,
)
from rewarden_verifiers.sql.engines.engine import ResultSet


class Column:
    """A column. Its cells are converted on first use and cached."""

    def __init__(self, cells: Sequence[Any], folded: bool, name: str = "") -> None:
        self.name = name
        self.cells = cells
        self._folded = folded
        self._kinds = kinds_of(cells)
        self.dated = holds_dates(self._kinds)
        self.fractions = holds_fractions(self._kinds)
        self._keys: dict[bool, Sequence[Key]] = {}
        self._shapes: dict[bool, tuple[Sequence[Key] | None, Sequence[Any]]] = {}

    def keys(self, dated: bool) -> Sequence[Key]:
        """The cells as keys. dated: see `Reading`."""
        if dated not in self._keys:
            self._keys[dated] = Reading(self._folded, dated).keys(self.cells, self._kinds)
        return self._keys[dated]

    def shapes(self, dated: bool) -> tuple[Sequence[Key] | None, Sequence[Any]]:
        """The cells' keys without their numbers, and the numbers; see `Reading.shapes`."""
        if dated not in self._shapes:
            self._shapes[dated] = Reading(self._folded, dated).shapes(self.cells, self._kinds)
        return self._shapes[dated]


Pairs = Sequence[tuple[Column, Column]]
"""Columns of one result, each with the column of the other that it is compared with."""


def columns_of(result: ResultSet, folded: bool) -> list[Column]:
    """The columns of a result."""
    if not result.rows:
        return [Column((), folded, name) for name in result.columns]
    cells = zip(*result.rows, strict=True)
    return [Column(those, folded, name) for name, those in zip(result.columns, cells, strict=True)]


def agree(pairs: Pairs, how: Comparison, work: Work) -> bool:
    """Returns whether the rows formed by the paired columns agree. Raises matching.Exhausted."""
    if not pairs:
        return True
    exact = not any(_inexact(pair, how) for pair in pairs)
    if how.ordered and how.duplicates and exact:
        return all(list(one.keys(dated)) == list(other.keys(dated)) for one, other, dated in _read(pairs))
    left, right = keys = key_rows(pairs)
    if not how.duplicates:
        left, right = list(dict.fromkeys(left)), list(dict.fromkeys(right))
    if left == right if how.ordered else Counter(left) == Counter(right):
        return True
    if exact:
        return False
    shaped = shaped_rows(pairs, how)
    if how.ordered:
        if not how.duplicates:
            shaped = (_firsts(keys[0], shaped[0]), _firsts(keys[1], shaped[1]))
        return matching.in_order(*shaped, how.tolerance)
    return (matching.one_to_one if how.duplicates else matching.covered)(*shaped, how.tolerance, work)


def key_rows(pairs: Pairs) -> tuple[list[tuple[Key, ...]], list[tuple[Key, ...]]]:
    """The rows of both sides as keys."""
    read = _read(pairs)
    left = list(zip(*(one.keys(dated) for one, _, dated in read), strict=True))
    right = list(zip(*(other.keys(dated) for _, other, dated in read), strict=True))
    return left, right


def shaped_rows(pairs: Pairs, how: Comparison) -> tuple[list[Row], list[Row]]:
    """The rows of both sides, with the numbers that have a tolerance separated out."""
    sides = _Rows(len(pairs[0][0].cells)), _Rows(len(pairs[0][1].cells))
    for pair, (one, other, dated) in zip(pairs, _read(pairs), strict=True):
        if not _inexact(pair, how):
            sides[0].keys.append(one.keys(dated))
            sides[1].keys.append(other.keys(dated))
            continue
        found = one.shapes(dated), other.shapes(dated)
        if found[0][0] is None and found[1][0] is None:
            sides[0].numbers.append(found[0][1])
            sides[1].numbers.append(found[1][1])
            continue
        for side, (shapes, numbers) in zip(sides, found, strict=True):
            side.keys.append([NUMBER] * len(numbers) if shapes is None else shapes)
            side.several.append([(number,) for number in numbers] if shapes is None else numbers)
    return sides[0].rows(), sides[1].rows()


class _Rows:
    """Rows under construction: columns of keys, of numbers, and of several numbers per cell."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.keys: list[Sequence[Key]] = []
        self.numbers: list[Sequence[Number]] = []
        self.several: list[Sequence[Numbers]] = []

    def rows(self) -> list[Row]:
        keys = list(zip(*self.keys, strict=True)) if self.keys else [()] * self._size
        numbers = list(zip(*self.numbers, strict=True)) if self.numbers else [()] * self._size
        if self.several:
            more = zip(*self.several, strict=True)
            numbers = [(*row, *chain.from_iterable(cells)) for row, cells in zip(numbers, more, strict=True)]
        return list(zip(keys, numbers, strict=True))


def _read(pairs: Pairs) -> list[tuple[Column, Column, bool]]:
    return [(one, other, one.dated or other.dated) for one, other in pairs]


def _inexact(pair: tuple[Column, Column], how: Comparison) -> bool:
    return bool(how.tolerance) and (pair[0].fractions or pair[1].fractions)


def _firsts(keys: Sequence[Key], rows: Sequence[Row]) -> list[Row]:
    seen: dict[Key, Row] = {}
    for key, row in zip(keys, rows, strict=True):
        seen.setdefault(key, row)
    return list(seen.values())
