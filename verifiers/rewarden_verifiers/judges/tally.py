"""The results of a group's comparisons so far, text by text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rewarden.errors import SampleError
from rewarden_verifiers.judges.ranking import Match


@dataclass
class Tally:
    """Counts by player: planned comparisons (`planned`), those that were unreadable (`lost`) or for which no judge
    could be reached (`unreached`, included in `lost`), and those that the player's own text spoiled (`forfeits`).
    flips: comparisons whose orders disagree, out of `checked`. failure: the last error.
    """

    players: int
    matches: list[Match] = field(default_factory=list)
    flips: int = 0
    checked: int = 0
    problems: set[str] = field(default_factory=set)
    failure: SampleError | None = None

    def __post_init__(self) -> None:
        self.planned = [0] * self.players
        self.lost = [0] * self.players
        self.unreached = [0] * self.players
        self.forfeits = [0] * self.players
        self._notes: list[list[tuple[int, str]]] = [[] for _ in range(self.players)]

    def plan(self, players: Iterable[int]) -> None:
        """Plans a comparison between these players."""
        for player in players:
            self.planned[player] += 1

    def note(self, player: int, opponent: int, text: str) -> None:
        """Notes the judge's reason about a player against an opponent (or, in a list, by its index)."""
        self._notes[player].append((opponent, text))

    def notes(self, player: int) -> list[str]:
        """Returns the judge's reasons about a player, in an order that does not depend on which reply came first."""
        return [text for _, text in sorted(self._notes[player])]

    def settled(self) -> list[Match]:
        """The matches, in a deterministic order too: sums of floats depend on it."""
        return sorted(self.matches, key=lambda one: (one.first, -1 if one.second is None else one.second, one.score))

    def lose(self, players: Iterable[int], problem: str) -> None:
        """Records a comparison that was unreadable through no fault of the players."""
        self.problems.add(problem)
        for player in players:
            self.lost[player] += 1

    def fail(self, players: Sequence[int], error: SampleError) -> None:
        """Records a comparison for which no judge could be reached."""
        self.failure = error
        self.lose(players, error.reason)
        for player in players:
            self.unreached[player] += 1

    def forfeit(self, player: int, opponents: Sequence[int], copies: Sequence[int], problem: str) -> None:
        """Records that the player's own text made a comparison unreadable: it loses to each opponent, but they gain no
        win.
        """
        self.problems.add(problem)
        self.forfeits[player] += 1
        weight = copies[player] * sum(copies[other] for other in opponents)
        self.matches.append(Match(player, None, 0.0, float(weight)))
