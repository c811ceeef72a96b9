"""The results of a group's comparisons so far, text by text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rewarden.errors import SampleError
from rewarden_verifiers.judges.ranking import Match


@dataclass
class Tally:
    """By player: comparisons that were to be made (`planned`), those that nobody could read (`lost`) or for which no
    judge could be reached (`unreached`, counted in `lost` too), and those that its own text spoiled (`forfeits`).
    flips: comparisons whose orders disagree, of so many (`checked`). failure: the last error."""

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
        """A comparison of these is to be made."""
        for player in players:
            self.planned[player] += 1

    def note(self, player: int, opponent: int, text: str) -> None:
        """Note what the judge said of it against an opponent (or in a list, by number)."""
        self._notes[player].append((opponent, text))

    def notes(self, player: int) -> list[str]:
        """Returns what the judge said of it, in an order that does not hang on which reply came first."""
        return [text for _, text in sorted(self._notes[player])]

    def settled(self) -> list[Match]:
        """The matches, in such an order too: sums of floats depend on it."""
        return sorted(self.matches, key=lambda one: (one.first, -1 if one.second is None else one.second, one.score))

    def lose(self, players: Iterable[int], problem: str) -> None:
        """It could not be read, by no fault of theirs."""
        self.problems.add(problem)
        for player in players:
            self.lost[player] += 1

    def fail(self, players: Sequence[int], error: SampleError) -> None:
        """No judge could be reached for it."""
        self.failure = error
        self.lose(players, error.reason)
        for player in players:
            self.unreached[player] += 1

    def forfeit(self, player: int, opponents: Sequence[int], copies: Sequence[int], problem: str) -> None:
        """Its own text made the comparison with these unreadable: as if lost to each, and they have won nothing."""
        self.problems.add(problem)
        self.forfeits[player] += 1
        weight = copies[player] * sum(copies[other] for other in opponents)
        self.matches.append(Match(player, None, 0.0, float(weight)))
