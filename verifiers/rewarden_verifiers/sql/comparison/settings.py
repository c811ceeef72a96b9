"""The settings of a comparison: which differences between two results count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.sql.comparison.values import Tolerance

SURPLUS = 16
"""The maximum number of surplus columns under `subset`: a row of two thousand guesses (`count(*) * 0 + 1`, `count(*) *
0 + 2`, …) contains any number that is asked for.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The rules by which results are compared; see `SqlParams`.

    ordered: rows are compared position by position. keys: the columns that the reference sorts by, if known: rows that
    are equal in these can be in any order (under `position` and `name`, with duplicates). duplicates: equal rows are
    counted; otherwise each result is a set of rows (ordered by first occurrence, if order counts). abs, rel: two
    numbers agree if they differ by at most `abs`, or by `rel` times the greater of the two, unless both are whole and
    of an exact integer type. folded: ignores the case of texts and white space at their ends.
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
        """The tolerance for numbers."""
        return Tolerance(self.abs, self.rel)

    def fits(self, expected: int, got: int) -> bool:
        """Returns whether an answer with this many columns can agree with the expected number."""
        if self.columns == "subset":
            return expected <= got <= expected + SURPLUS
        return expected == got
