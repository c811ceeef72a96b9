"""Pairs the answer's columns with those of the reference, if positions or names do not determine the pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from rewarden_verifiers.sql.comparison import matching
from rewarden_verifiers.sql.comparison.columns import Column, Pairs, agree, shaped_rows
from rewarden_verifiers.sql.comparison.matching import Work
from rewarden_verifiers.sql.comparison.settings import Comparison

_WORK = 4_000_000
"""The number of cells that `closest` examines."""


def by_name(expected: Sequence[Column], got: Sequence[Column]) -> Pairs:
    """Pairs each expected column with the column of the same name, ignoring case. Repeated names are paired in order.
    Missing columns are left out.
    """
    named: dict[str, list[Column]] = {}
    for column in reversed(got):
        named.setdefault(column.name.casefold(), []).append(column)
    return [(column, left.pop()) for column in expected if (left := named.get(column.name.casefold()))]


def likeliest(expected: Sequence[Column], got: Sequence[Column], how: Comparison) -> Pairs:
    """Pairs columns the way they are compared: by position, by name, or with the column that shares most values."""
    if how.columns == "position":
        return list(zip(expected, got, strict=True))
    return by_name(expected, got) if how.columns == "name" else [pair for pair, _ in closest(expected, got, how)]


def arrangement(expected: Sequence[Column], got: Sequence[Column], how: Comparison, work: Work) -> Pairs | None:
    """Pairs each expected column with a different one of the answer's so that the rows agree; None if no such pairing
    was found.

    Columns are first ruled out by their values alone. The remaining pairings are tried column by column, as long as the
    rows agree so far. Raises matching.Exhausted, although a pairing may exist.
    """
    twins = _twins(got)
    candidates = _candidates(expected, got, how, work)
    _narrow(candidates, expected, got, how, twins, work)
    if not all(candidates):
        return None
    # If order counts, rows agree exactly if their columns do; otherwise, entire rows must be compared.
    together = not (how.ordered and how.duplicates)
    order = sorted(range(len(expected)), key=lambda place: len(candidates[place]))
    chosen: list[int] = []
    trying: list[Iterator[int]] = [_choices(candidates[order[0]], (), twins)]
    while trying:
        depth = len(trying) - 1
        del chosen[depth:]
        choice = next(trying[-1], None)
        if choice is None:
            trying.pop()
            continue
        chosen.append(choice)
        pairs = [(expected[place], got[other]) for place, other in zip(order, chosen, strict=False)]
        last = len(chosen) == len(order)
        if together and (last or len(candidates[order[depth]]) > 1):
            work.spend(len(pairs) * len(expected[0].cells))
            if not agree(pairs, how, work):
                continue
        if last:
            return pairs
        trying.append(_choices(candidates[order[depth + 1]], chosen, twins))
    return None


def closest(
    expected: Sequence[Column], got: Sequence[Column], how: Comparison
) -> list[tuple[tuple[Column, Column], int]]:
    """Pairs columns greedily by the number of values in common, and returns that number for each pair, in the expected
    order. Pairs by position if that would be too much work.
    """
    if len(expected) * len(got) * max(len(expected[0].cells), len(got[0].cells)) > _WORK:
        return [(pair, common([pair], how)) for pair in zip(expected, got, strict=False)]
    found = sorted(
        (-common([(one, other)], how), abs(place - other_place), place, other_place)
        for place, one in enumerate(expected)
        for other_place, other in enumerate(got)
    )
    taken: set[int] = set()
    pairs: dict[int, tuple[tuple[Column, Column], int]] = {}
    for lacking, _, place, other_place in found:
        if place not in pairs and other_place not in taken:
            taken.add(other_place)
            pairs[place] = ((expected[place], got[other_place]), -lacking)
    return [pairs[place] for place in sorted(pairs)]


def common(pairs: Pairs, how: Comparison) -> int:
    """Returns the number of rows that the paired columns have in common, counting duplicates."""
    return matching.shared(*shaped_rows(pairs, how), how.tolerance)


def _choices(candidates: Sequence[int], taken: Sequence[int], twins: Sequence[int]) -> Iterator[int]:
    """Yields the free candidates, but only one of several equal columns: if one fails, they all fail."""
    used, seen = set(taken), set()
    for place in candidates:
        if place not in used and twins[place] not in seen:
            seen.add(twins[place])
            yield place


def _twins(columns: Sequence[Column]) -> list[int]:
    """Numbers the columns such that equal columns share a number."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(tuple(column.keys(column.dated)), len(numbers)) for column in columns]


def _candidates(expected: Sequence[Column], got: Sequence[Column], how: Comparison, work: Work) -> list[Sequence[int]]:
    """Returns, for each expected column, the columns whose values agree with it when compared alone."""
    if not how.duplicates:
        how = replace(how, ordered=False)  # which rows are duplicates depends on the other columns
    plain: dict[Hashable, list[int]] = {}
    special = []
    for place, column in enumerate(got):
        if _special(column):
            special.append(place)
        else:
            plain.setdefault(_signature(column, how), []).append(place)
    found: list[Sequence[int]] = []
    for column in expected:
        if _special(column):
            tried: Sequence[int] = range(len(got))
            sure: Sequence[int] = ()
        else:
            tried, sure = special, plain.get(_signature(column, how), ())
        near = []
        for place in tried:
            work.spend(len(column.cells))
            if agree([(column, got[place])], how, work):
                near.append(place)
        found.append(sorted((*sure, *near)))
    return found


def _narrow(
    candidates: list[Sequence[int]],
    expected: Sequence[Column],
    got: Sequence[Column],
    how: Comparison,
    twins: Sequence[int],
    work: Work,
) -> None:
    """Rules out candidates whose values disagree when compared together with the columns that are already settled,
    until nothing more is settled.
    """
    settled = 0
    while all(candidates):
        sure = [place for place, found in enumerate(candidates) if _settled(place, found, expected, got, twins)]
        open_ = [place for place, column in enumerate(expected) if place not in sure and not _special(column)]
        if len(sure) == settled or not open_:
            return
        settled = len(sure)
        rows = len(expected[0].cells) + len(got[0].cells)
        work.spend(rows * len(sure))
        numbers: dict[Hashable, int] = {}
        ours = _numbered([expected[place] for place in sure], numbers)
        theirs = _numbered([got[candidates[place][0]] for place in sure], numbers)
        signatures: dict[int, Hashable] = {}
        for place in open_:
            work.spend(len(ours))
            signature = _signature(expected[place], how, ours)
            kept = []
            for other in candidates[place]:
                if other not in signatures and not _special(got[other]):
                    work.spend(len(theirs))
                    signatures[other] = _signature(got[other], how, theirs)
                if signatures.get(other, signature) == signature:
                    kept.append(other)
            candidates[place] = kept


def _settled(
    place: int, found: Sequence[int], expected: Sequence[Column], got: Sequence[Column], twins: Sequence[int]
) -> bool:
    """Returns whether a column has only one candidate, or several equal ones, and all of them are compared exactly."""
    return len({twins[other] for other in found}) == 1 and not any(map(_special, (expected[place], got[found[0]])))


def _numbered(columns: Sequence[Column], numbers: dict[Hashable, int]) -> list[int]:
    """Numbers the rows such that rows with the same values in these columns share a number."""
    rows = zip(*(column.keys(False) for column in columns), strict=True)
    return [numbers.setdefault(row, len(numbers)) for row in rows]


def _special(column: Column) -> bool:
    """Returns whether a column may agree with one of different values: within a tolerance, or as dates."""
    return column.fractions or column.dated


def _signature(column: Column, how: Comparison, beside: Sequence[int] | None = None) -> Hashable:
    """Returns a key that is equal for two columns if and only if they agree, either alone or together with the numbers
    of their rows.
    """
    keys: Sequence[Hashable] = column.keys(False)
    if beside is not None:
        keys = list(zip(beside, keys, strict=True))
    if not how.duplicates:
        return frozenset(keys)
    return tuple(keys) if how.ordered else frozenset(Counter(keys).items())
