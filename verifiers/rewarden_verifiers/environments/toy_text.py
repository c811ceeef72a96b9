"""Gymnasium's toy text environments, in words (extra `environments`)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from rewarden.errors import MissingDependency
from rewarden_verifiers.environments.contract import BadOptions, Corpora, Environment, NotAMove, Observation, Tool, Turn
from rewarden_verifiers.games.rules import shown

_TOOLS = (Tool(name="act", argument="action", meaning="Do one of the actions that the observation names.", bare=True),)


def _kind(module: str, name: str) -> Any:
    """A class of the library. Only its module is imported, not `gymnasium.make` with its plug-ins."""
    try:
        found = importlib.import_module(f"gymnasium.envs.toy_text.{module}")
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "toy text needs the package 'gymnasium': pip install 'rewarden-server[environments]'"
        ) from error
    return getattr(found, name)


class ToyText(Environment):
    """An environment of the library. words: its actions, in the library's order."""

    tools = _TOOLS
    source: ClassVar[tuple[str, str]]
    words: ClassVar[tuple[str, ...]]

    @classmethod
    def load(cls, options: Any, corpora: Corpora) -> None:
        """Imports the library. Raises MissingDependency."""
        _kind(*cls.source)

    def reset(self, seed: int, options: Any) -> Observation:
        """See `Environment`."""
        self._toy = _kind(*self.source)(**self.settings(options))
        # The library accepts seeds of any size, and seeds its own generator with all of it.
        self._state, _ = self._toy.reset(seed=seed)
        return self._seen()

    def step(self, action: str) -> Turn:
        """See `Environment`."""
        word = action.strip().lower()
        if word not in self.words:
            raise NotAMove(f"{shown(word)} is not one of {', '.join(self.words)}")
        self._state, reward, done, _, _ = self._toy.step(self.words.index(word))
        success = bool(done) and self.reached(float(reward))
        return Turn(
            observation=self._seen(),
            reward=float(reward),
            done=bool(done),
            success=success,
            why=None if success or not done else self.lost(float(reward)),
        )

    def _seen(self) -> Observation:
        return Observation(f"{self.drawn()}\nActions: {', '.join(self.words)}.", self.state())

    def settings(self, options: Any) -> Mapping[str, Any]:
        """The arguments of the library's class. Raises BadOptions."""
        return {}

    def reached(self, reward: float) -> bool:
        """True if the episode's last reward means that the goal was reached."""
        return reward > 0

    def lost(self, reward: float) -> str:
        """The reason of an episode that ended without reaching its goal."""
        return "loss"

    def drawn(self) -> str:
        """The state as text."""
        raise NotImplementedError

    def state(self) -> Mapping[str, Any]:
        """The state in fields."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class FrozenLakeOptions:
    """Options of `frozen_lake`.

    map: rows of `S` start, `F` ice, `H` holes and `G` the goal; by default the library's of that size. size: 4 or 8.
    slippery: an action goes astray two times out of three.
    """

    map: tuple[str, ...] | None = None
    size: Literal[4, 8] = 4
    slippery: bool = True


class FrozenLake(ToyText):
    """A path across the ice to the goal, past the holes."""

    source = ("frozen_lake", "FrozenLakeEnv")
    options = FrozenLakeOptions
    words = ("left", "down", "right", "up")

    def settings(self, options: FrozenLakeOptions) -> Mapping[str, Any]:
        """See `ToyText`."""
        given: dict[str, Any] = {"is_slippery": options.slippery}
        if options.map is None:
            return {**given, "map_name": f"{options.size}x{options.size}"}
        wide = {len(row) for row in options.map}
        cells = "".join(options.map)
        if len(wide) != 1 or not 4 <= len(cells) <= 1024 or set(cells) - set("SFHG"):
            raise BadOptions("must be rows of S, F, H and G of one length, up to 1024 in all", "map")
        if cells.count("S") != 1 or "G" not in cells:
            raise BadOptions("must have one start and a goal", "map")
        if not _crossed(options.map):
            raise BadOptions("no way over the ice leads to the goal", "map")
        return {**given, "desc": list(options.map)}

    def _place(self) -> tuple[int, int]:
        row, column = divmod(int(self._state), self._toy.ncol)
        return row, column

    def drawn(self) -> str:
        """See `ToyText`."""
        rows = [[cell.decode() for cell in row] for row in self._toy.desc]
        row, column = self._place()
        rows[row][column] = f"[{rows[row][column]}]"
        lines = ["".join(cell if len(cell) > 1 else f" {cell} " for cell in each) for each in rows]
        return "\n".join([*lines, f"You are at row {row}, column {column}."])

    def state(self) -> Mapping[str, Any]:
        """See `ToyText`."""
        row, column = self._place()
        return {"row": row, "column": column}


def _crossed(rows: Sequence[str]) -> bool:
    """Returns whether the start connects to the goal. On slippery ice, any such path can succeed."""
    cells = {(row, column): cell for row, line in enumerate(rows) for column, cell in enumerate(line)}
    waiting = [place for place, cell in cells.items() if cell == "S"]
    seen = set(waiting)
    while waiting:
        row, column = waiting.pop()
        for place in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            if cells.get(place, "H") == "G":
                return True
            if cells.get(place, "H") != "H" and place not in seen:
                seen.add(place)
                waiting.append(place)
    return False


@dataclass(frozen=True, kw_only=True)
class TaxiOptions:
    """Options of `taxi`. rainy: a move goes astray one time out of five."""

    rainy: bool = False


class Taxi(ToyText):
    """A taxi that fetches a passenger and brings them to their destination."""

    source = ("taxi", "TaxiEnv")
    options = TaxiOptions
    words = ("south", "north", "east", "west", "pickup", "dropoff")
    max_steps = 200
    returns = (-200.0, 20.0)

    _STANDS = ("R", "G", "Y", "B")

    def settings(self, options: TaxiOptions) -> Mapping[str, Any]:
        """See `ToyText`."""
        return {"is_rainy": options.rainy}

    def state(self) -> Mapping[str, Any]:
        """See `ToyText`."""
        row, column, passenger, destination = (int(part) for part in self._toy.decode(int(self._state)))
        at = self._STANDS[passenger] if passenger < len(self._STANDS) else "taxi"
        return {"row": row, "column": column, "passenger": at, "destination": self._STANDS[destination]}

    def drawn(self) -> str:
        """See `ToyText`."""
        lines = "\n".join("".join(cell.decode() for cell in row) for row in self._toy.desc)
        seen = self.state()
        return (
            f"{lines}\nThe taxi is at row {seen['row']}, column {seen['column']}; the passenger is at "
            f"{seen['passenger']} and goes to {seen['destination']}. A bar is a wall."
        )


@dataclass(frozen=True, kw_only=True)
class CliffWalkingOptions:
    """Options of `cliff_walking`. slippery: an action goes astray two times out of three."""

    slippery: bool = False


class CliffWalking(ToyText):
    """A path along a cliff; falling leads back to the start."""

    source = ("cliffwalking", "CliffWalkingEnv")
    options = CliffWalkingOptions
    words = ("up", "right", "down", "left")
    max_steps = 200
    returns = (-200.0, -13.0)

    def settings(self, options: CliffWalkingOptions) -> Mapping[str, Any]:
        """See `ToyText`."""
        return {"is_slippery": options.slippery}

    def reached(self, reward: float) -> bool:
        """Only reaching the goal ends the episode."""
        return True

    def state(self) -> Mapping[str, Any]:
        """See `ToyText`."""
        row, column = divmod(int(self._state), 12)
        return {"row": row, "column": column}

    def drawn(self) -> str:
        """See `ToyText`."""
        seen = self.state()
        rows = [["o"] * 12 for _ in range(4)]
        rows[3] = ["o", *["C"] * 10, "T"]
        rows[seen["row"]][seen["column"]] = "x"
        lines = "\n".join(" ".join(row) for row in rows)
        return f"{lines}\nYou are x. Reach T; C is the cliff."


@dataclass(frozen=True, kw_only=True)
class BlackjackOptions:
    """Options of `blackjack`. natural: a natural win has the reward 1.5. sab: the rules of the book."""

    natural: bool = False
    sab: bool = False


class Blackjack(ToyText):
    """Blackjack against the dealer."""

    source = ("blackjack", "BlackjackEnv")
    options = BlackjackOptions
    words = ("stick", "hit")
    max_steps = 25
    returns = (-1.0, 1.0)

    def settings(self, options: BlackjackOptions) -> Mapping[str, Any]:
        """See `ToyText`."""
        return {"natural": options.natural, "sab": options.sab}

    def lost(self, reward: float) -> str:
        """See `ToyText`."""
        return "draw" if reward == 0 else "loss"

    def state(self) -> Mapping[str, Any]:
        """See `ToyText`."""
        own, dealer, ace = self._state
        return {"sum": int(own), "dealer": int(dealer), "usable_ace": bool(ace)}

    def drawn(self) -> str:
        """See `ToyText`."""
        seen = self.state()
        ace = ", with a usable ace" if seen["usable_ace"] else ""
        return f"Your cards are worth {seen['sum']}{ace}. The dealer shows {seen['dealer']}."
