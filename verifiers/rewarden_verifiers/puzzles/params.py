"""Parameters of `puzzle`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rewarden_verifiers.extraction import Rule, rules_of

Extraction = str | tuple[str | dict[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """The score of each ending, like the table of a published reward, such as Logic-RL's 2, -1.5 and -2.

    right: the puzzle is solved. wrong: the answer is valid, but not a solution. illegal: it breaks a rule of the puzzle
    (numbers that were not given, a changed given, a step through a wall). malformed: it cannot be parsed. no_answer:
    the response has none. No other ending can score less. An answer that hedges or exceeds a limit gets this score as
    well.
    """

    right: float = 1.0
    wrong: float = 0.0
    illegal: float = 0.0
    malformed: float = 0.0
    no_answer: float = 0.0

    def __post_init__(self) -> None:
        others = (self.wrong, self.illegal, self.malformed, self.no_answer)
        if not all(map(math.isfinite, (self.right, *others))):
            raise ValueError("outcomes must be finite numbers")
        if self.right <= max(others):
            raise ValueError("outcomes.right must be worth more than the others")
        if self.no_answer > min(others):
            raise ValueError("outcomes.no_answer must not be worth more than another end: not answering must not pay")


@dataclass(frozen=True, kw_only=True)
class RulesParams:
    """Options of `puzzle_rules`, and of `puzzle` beside its own.

    task: Kind of puzzle, if the references do not name it.
    extraction: Rules that find the answer; see docs/extraction.md. `strict`: a box or an answer tag.
    credit: `full`: only a solution earns credit. `partial`: grids, tables and roles with a known solution also earn the
        share of right cells, not counting the givens, rescaled so that the best constant answer earns 0. For some
        generators, solutions that are longer than necessary earn what the generator's own scorer gives.
    """

    task: str | None = None
    extraction: Extraction = "strict"
    credit: Literal["full", "partial"] = "full"

    def __post_init__(self) -> None:
        self.rules  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of extraction."""
        return rules_of(self.extraction)


@dataclass(frozen=True, kw_only=True)
class PuzzleParams(RulesParams):
    """Options of `puzzle`.

    outcomes: Score of each ending, if not 1 and 0. Partial credit lies between `wrong` (or `illegal`) and `right`.
    """

    outcomes: Outcomes = Outcomes()
