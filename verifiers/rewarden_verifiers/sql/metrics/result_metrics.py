"""Partial credit from the agreement of two results.

Every measure counts with multiplicity, so repeating a right cell a thousand times, dumping the whole database or adding
a thousand columns earns nothing beyond the cells that the reference has.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from rewarden_verifiers.sql.comparison.arrangement import by_name, closest, common, likeliest
from rewarden_verifiers.sql.comparison.columns import Column, columns_of, key_rows
from rewarden_verifiers.sql.comparison.values import Key
from rewarden_verifiers.sql.engines.engine import ResultSet

if TYPE_CHECKING:
    from rewarden_verifiers.sql.comparison.settings import Comparison

_LOOK = 4


class Overlap:
    """The agreement of two results."""

    def __init__(self, expected: ResultSet, got: ResultSet, how: Comparison) -> None:
        self._how = how
        self._expected, self._got = expected, got
        if not how.duplicates:
            self._expected, self._got = _distinct(expected, how), _distinct(got, how)

    def cells(self) -> tuple[float, float]:
        """Precision and recall of cells, regardless of their position: the share of the answer's cells that are
        expected, and the share of expected cells in the answer.

        QATCH (Papicchio et al., NeurIPS 2023) and Think2SQL (arXiv 2504.15077) use sets of values: a value that is
        right once is right everywhere, and dumping the whole database gets a recall of 1 without a penalty for
        repetitions. Here each cell is used once. Not rounded to three places.
        """
        ours, theirs = self._cells()
        if not ours.cells or not theirs.cells:
            return (1.0, 1.0) if not ours.cells and not theirs.cells else (0.0, 0.0)
        shared = common([(ours, theirs)], self._how)
        return shared / len(theirs.cells), shared / len(ours.cells)

    def rows(self) -> float:
        """F1 of rows, counting duplicates, in any order.

        Columns are paired according to the option `columns`; under `any` and `subset`, each with the one that shares
        most values. A row is either right as a whole or wrong, so with too few or too many columns no row is right
        (under `subset`: too few, or far too many).
        """
        if not self._expected.rows or not self._got.rows:
            return float(not self._expected.rows and not self._got.rows)
        if (bare := self._without_columns()) is not None:
            return bare
        width = len(self._expected.columns)
        if not self._how.fits(width, len(self._got.columns)):
            return 0.0
        ours, theirs = columns_of(self._expected, self._how.folded), columns_of(self._got, self._how.folded)
        pairs = likeliest(ours, theirs, self._how)
        if len(pairs) < width:
            return 0.0
        return _f1(common(pairs, self._how), len(self._got.rows), len(self._expected.rows))

    def columns(self) -> float:
        """F1 of columns. Each counts by how far its values agree with those of its counterpart, in any order (shared
        values divided by the larger number of rows). Columns are paired by name under `name`, else by best fit.
        """
        if not self._expected.rows or not self._got.rows:
            return float(not self._expected.rows and not self._got.rows)
        if (bare := self._without_columns()) is not None:
            return bare
        ours, theirs = columns_of(self._expected, self._how.folded), columns_of(self._got, self._how.folded)
        if self._how.columns == "name":
            found = [common([pair], self._how) for pair in by_name(ours, theirs)]
        else:
            found = [shared for _, shared in closest(ours, theirs, self._how)]
        most = max(len(self._expected.rows), len(self._got.rows))
        return _f1(sum(found) / most, len(theirs), len(ours))

    def soft(self) -> float:
        """Soft F1 of BIRD's mini-dev (bird-bench/mini_dev, evaluation_f1.py). Rows are compared in pairs by the cells
        that they share, in any column. Each pair contributes its shares of matched, surplus and missing cells (relative
        to the number of expected columns); a row without a partner counts fully as surplus or missing.

        There are three differences. A cell of a row matches only once (in the original, `SELECT a, a, a` matches three
        times, and a thousand repetitions push the score to 1). Duplicate rows are dropped only under
        `duplicates=False`. And rows are paired by position only if their order counts; otherwise equal rows are paired
        first, then rows that share rare cells, so that the score does not depend on the order in which an engine
        happens to return rows.
        """
        if not self._expected.rows or not self._got.rows:
            return float(not self._expected.rows and not self._got.rows)
        if (bare := self._without_columns()) is not None:
            return bare
        ours, theirs = self._comparable_rows()
        width = len(self._expected.columns)
        paired = list(zip(ours, theirs, strict=False)) if self._how.ordered else _paired(ours, theirs)
        matched = surplus = missing = 0.0
        for one, other in paired:
            shared = _common_cells(one, other)
            matched += shared / width
            surplus += (len(other) - shared) / width
            missing += (width - shared) / width
        surplus += len(theirs) - len(paired)
        missing += len(ours) - len(paired)
        return 2 * matched / (2 * matched + surplus + missing)

    def sizes(self) -> float:
        """QATCH's tuple cardinality: the smaller number of rows divided by the larger. It ignores their content."""
        sizes = sorted((len(self._expected.rows), len(self._got.rows)))
        return sizes[0] / sizes[1] if sizes[1] else 1.0

    def _without_columns(self) -> float | None:
        """The score if a side has no columns (PostgreSQL: `SELECT FROM t`): such rows differ only in number. None if
        both sides have columns.
        """
        if self._expected.columns and self._got.columns:
            return None
        return float(len(self._expected.columns) == len(self._got.columns) and self.sizes() == 1.0)

    def _cells(self) -> tuple[Column, Column]:
        """All cells of each side as a single column."""
        ours, theirs = (tuple(chain.from_iterable(side.rows)) for side in (self._expected, self._got))
        return Column(ours, self._how.folded), Column(theirs, self._how.folded)

    def _comparable_rows(self) -> tuple[list[tuple[Key, ...]], list[tuple[Key, ...]]]:
        """The rows of both sides as keys. The answer's numbers that are close to an expected one are replaced by it."""
        left, right = ([row[0] for row in rows] for rows in key_rows([self._cells()]))
        known = {key for key in left if isinstance(key, (int, float))}
        numbers = sorted(known)
        tolerance = self._how.tolerance

        def settled(key: Key) -> Key:
            if not isinstance(key, (int, float)) or key in known or not tolerance:
                return key
            place = bisect_left(numbers, key)
            near = (one for one in numbers[max(0, place - 1) : place + 1] if tolerance.near(one, key))
            return min(near, key=lambda one: abs(one - key), default=key)

        return (
            _cut(left, len(self._expected.columns)),
            _cut([settled(key) for key in right], len(self._got.columns)),
        )


def f1(precision: float, recall: float) -> float:
    """The harmonic mean."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _f1(shared: float, got: int, expected: int) -> float:
    return 2 * shared / (got + expected)


def _cut(keys: list[Key], width: int) -> list[tuple[Key, ...]]:
    return [tuple(keys[start : start + width]) for start in range(0, len(keys), width)] if width else []


def _distinct(result: ResultSet, how: Comparison) -> ResultSet:
    columns = columns_of(result, how.folded)
    if not columns or not result.rows:
        return ResultSet(result.columns, result.rows[:1], result.cost)
    keys = zip(*(column.keys(column.dated) for column in columns), strict=True)
    firsts = dict(zip(reversed(list(keys)), reversed(result.rows), strict=True))
    return ResultSet(result.columns, list(reversed(firsts.values())), result.cost)


def _common_cells(one: tuple[Key, ...], other: tuple[Key, ...]) -> int:
    if one == other:
        return len(one)
    return sum((Counter(one) & Counter(other)).values())


def _paired(left: list[tuple[Key, ...]], right: list[tuple[Key, ...]]) -> list[tuple[tuple[Key, ...], tuple[Key, ...]]]:
    """Pairs equal rows, then each remaining row with one of a few that share its rarest cells. The input order does not
    matter.
    """
    counts = Counter(left), Counter(right)
    equal = counts[0] & counts[1]
    pairs = [(row, row) for row in equal.elements()]
    ours = sorted((counts[0] - equal).elements(), key=repr)
    holders: dict[Key, list[int]] = {}
    for place in reversed(range(len(ours))):
        for cell in dict.fromkeys(ours[place]):
            holders.setdefault(cell, []).append(place)
    used: set[int] = set()
    for row in sorted((counts[1] - equal).elements(), key=repr):
        cells = sorted(
            (cell for cell in dict.fromkeys(row) if cell in holders), key=lambda cell: (len(holders[cell]), repr(cell))
        )
        best = None
        for cell in cells[:_LOOK]:
            found = holders[cell]
            while found and found[-1] in used:
                found.pop()
            for place in found[-1 : -_LOOK - 1 : -1]:
                shared = 0 if place in used else _common_cells(ours[place], row)
                if shared and (best is None or (shared, -place) > best):
                    best = (shared, -place)
        if best is not None:
            used.add(-best[1])
            pairs.append((ours[-best[1]], row))
    return pairs
