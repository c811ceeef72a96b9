"""Decides whether two results agree."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Literal

from rewarden_verifiers.sql.comparison.arrangement import arrangement, by_name
from rewarden_verifiers.sql.comparison.columns import Column, Pairs, agree, columns_of
from rewarden_verifiers.sql.comparison.matching import Exhausted, Work
from rewarden_verifiers.sql.comparison.settings import Comparison
from rewarden_verifiers.sql.engines.engine import ResultSet

Difference = Literal["column_count", "column_names", "row_count", "values", "order", "duplicates"]

WORK = 20_000_000
"""The number of cells that one comparison examines beyond the first pass: about two seconds."""

_ALIKE = 16


def difference(expected: ResultSet, got: ResultSet, how: Comparison) -> Difference | None:
    """Returns the difference between two results, or None if they agree.

    `order` and `duplicates` mean that the rows are otherwise the same; else the first difference in the order of
    `Difference` is returned. If results are so similar that a bounded search cannot match them (thousands of rows that
    are all close to each other, dozens of columns with the same values), they count as different, never as equal. Never
    raises.
    """
    if not how.fits(len(expected.columns), len(got.columns)):
        return "column_count"
    if _identical(expected, got, how):
        return None
    ours, theirs = columns_of(expected, how.folded), columns_of(got, how.folded)
    chosen: Pairs | None = None
    if how.columns == "name":
        chosen = by_name(ours, theirs)
        if len(chosen) < len(ours):
            return "column_names"
    elif how.columns == "position":
        chosen = list(zip(ours, theirs, strict=True))
    rows = len(expected.rows), len(got.rows)

    def agreed(how: Comparison) -> bool:
        if (rows[0] != rows[1] and how.duplicates) or (rows[0] == 0) != (rows[1] == 0):
            return False
        return _agreed(ours, theirs, chosen, how)

    if agreed(how):
        return None
    if how.ordered and agreed(replace(how, ordered=False)):
        return None if _tied(chosen, how) else "order"
    if how.duplicates and agreed(replace(how, ordered=False, duplicates=False)):
        return "duplicates"
    return "row_count" if how.duplicates and rows[0] != rows[1] else "values"


def _identical(expected: ResultSet, got: ResultSet, how: Comparison) -> bool:
    """Returns whether the rows are equal in Python, which implies that they agree: a shortcut for the most common case.
    It is skipped for rows whose hashes were made to collide (multiples of 2^61 - 1), because counting them would be
    slow.
    """
    if how.columns == "name" or len(expected.columns) != len(got.columns):
        return False
    try:
        if expected.rows == got.rows:
            return True
        if how.ordered or len(expected.rows) != len(got.rows):
            return False
        hashes = Counter(map(hash, got.rows))
        return (
            max(hashes.values()) <= _ALIKE
            and Counter(map(hash, expected.rows)) == hashes
            and Counter(expected.rows) == Counter(got.rows)
        )
    except (ArithmeticError, RecursionError, TypeError):  # a signalling NaN; a list, or one nested too deeply
        return False


def _tied(chosen: Pairs | None, how: Comparison) -> bool:
    """Returns whether results with the same rows differ only in an order that the reference leaves open."""
    if chosen is None or not how.keys or not how.duplicates or max(how.keys) >= len(chosen):
        return False
    return agree([chosen[place] for place in how.keys], how, Work(WORK))


def _agreed(ours: list[Column], theirs: list[Column], chosen: Pairs | None, how: Comparison) -> bool:
    work = Work(WORK)
    try:
        if chosen is not None:
            return agree(chosen, how, work)
        if agree(list(zip(ours, theirs, strict=False)), how, work):
            return True
        return bool(ours) and arrangement(ours, theirs, how, work) is not None
    except Exhausted:
        return False
