"""The settings of a comparison: what counts as a difference between two results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.sql.comparison.values import Tolerance

SURPLUS = 16
"""Columns that an answer may have beside the reference's under `subset`: a row of two thousand guesses (`count(*) * 0 +
1`, `count(*) * 0 + 2`, …) holds whatever number is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The rules by which results are compared; see `SqlParams`.

    ordered: rows are compared place by place. keys: the columns that the reference puts its rows in order by, where
    they are known: rows that are equal in these may be in any order (under `position` and `name`, with duplicates).
    duplicates: equal rows are counted; else each result is the set of its rows (ordered: by where each stands first).
    abs, rel: two numbers agree that differ by at most `abs`, or `rel` times the greater of the two, unless both are
    whole and of a type that holds whole numbers exactly. folded: texts without case and white space at the ends.
    """

    ordered: bool = False
    keys: tuple[int, ...] = ()
    duplicates: bool = True
    columns: Literal["position", "any", "name", "subset"] = "position"
    abs: float = 1e-9
    rel: float = 1e-6
    folded: bool = False

    @property
    def tolerance(self) -> Tolerance:
        """The distance by which numbers may lie apart."""
        return Tolerance(self.abs, self.rel)

    def fits(self, expected: int, got: int) -> bool:
        """Returns True if an answer of so many columns can agree with so many expected ones."""
        if self.columns == "subset":
            return expected <= got <= expected + SURPLUS
        return expected == got
