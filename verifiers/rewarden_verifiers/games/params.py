"""Parameters of `game`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rewarden_verifiers.extraction import Rule, rules_of


@dataclass(frozen=True, kw_only=True)
class GameParams:
    """Options of `game`.

    game: Game, if the references do not name it: `chess`, `tic_tac_toe`, `connect_four`, `nim` or `sokoban`.
    written: Moves in the answer: the policy's `own`, or `all`, the other side's between them, which must be those that
        the reference gives.
    draw: Score of a draw if a win is asked for.
    credit: `full`: only the whole line earns credit. `line`: its first moves earn their share.
    extraction: Rules that find the answer; see docs/extraction.md. `strict`: a box or an answer tag.
    """

    game: str | None = None
    written: Literal["own", "all"] = "own"
    draw: float = 0.0
    credit: Literal["full", "line"] = "full"
    extraction: str | tuple[str | dict[str, str], ...] = "strict"

    def __post_init__(self) -> None:
        if not 0 <= self.draw <= 1:
            raise ValueError("draw must be 0 to 1")
        self.rules  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of extraction."""
        return rules_of(self.extraction)
