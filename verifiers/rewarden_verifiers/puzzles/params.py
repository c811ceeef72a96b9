"""The parameters of `puzzle`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rewarden_verifiers.extraction import Rule, rules_of

Extraction = str | tuple[str | dict[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """The worth of each end: the table of a published reward, such as Logic-RL's 2, -1.5 and -2.

    right: the puzzle is solved. wrong: the answer is in order, but solves nothing. illegal: it breaks a rule of the
    puzzle (numbers that were not given, a given that is changed, a wall). malformed: it cannot be read. no_answer: the
    response holds none; nothing may be worth less, and an answer that hedges or exhausts a limit is worth this too.
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
    """Options of `puzzle_rules`, and of `puzzle` beside its own; see there."""

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

    task: which puzzle the references are, where they do not say so themselves.
    extraction: where the answer stands; see `rewarden_verifiers.extraction`. `strict`: a box or an answer tag.
    credit: `full`: only a solution earns. `partial`: for grids, tables and roles with a known solution also the share
        of cells that are right, without those given, rescaled so that the best answer that is the same everywhere
        earns nothing; for some generators what their own scorer gives for solutions that are longer than need be.
    outcomes: what each end is worth, if not 1 and 0; partial credit lies between `wrong` (or `illegal`) and `right`.
    """

    outcomes: Outcomes = Outcomes()
