"""TextArena's single-player games that need no network (extra `textarena`)."""

from __future__ import annotations

import copy
import importlib
import random
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rewarden.errors import MissingDependency, near
from rewarden_verifiers.environments.contract import (
    BadOptions,
    Corpora,
    Environment,
    Illegal,
    NotAMove,
    Observation,
    Tool,
    Turn,
)
from rewarden_verifiers.games.rules import shown

_TOOLS = (Tool(name="act", argument="action", meaning="An action in square brackets, such as [1 2].", bare=True),)
_ACTION = re.compile(r"\[[A-Za-z0-9 ]{1,40}\]", re.ASCII)
_CONGRATULATED = "Congratulations"
GAMES: Mapping[str, str] = {
    "2048-v0-ultra-easy": _CONGRATULATED,
    "2048-v0-mega-easy": _CONGRATULATED,
    "2048-v0-super-easy": _CONGRATULATED,
    "2048-v0-very-easy": _CONGRATULATED,
    "2048-v0-easy": _CONGRATULATED,
    "GuessTheNumber-v0": _CONGRATULATED,
    "GuessTheNumber-v0-hardcore": _CONGRATULATED,
    "LightsOut-v0": _CONGRATULATED,
    "Mastermind-v0": "You have cracked the code",
    "Mastermind-v0-hard": "You have cracked the code",
    "Mastermind-v0-extreme": "You have cracked the code",
    "PegJump-v0": "Solved",
    "TowerOfHanoi-v0": _CONGRATULATED,
    "TowerOfHanoi-v0-medium": _CONGRATULATED,
    "TowerOfHanoi-v0-hard": _CONGRATULATED,
    "TowerOfHanoi-v0-hardcore": _CONGRATULATED,
    "TowerOfHanoi-v0-extreme": _CONGRATULATED,
}
"""The games on offer, and the beginning of the library's message for a win. The reward does not suffice: a lost game of
2048 can have that of a won one.

Excluded are games that download words or call a model; games that let a wrong move be repeated, so that answers can be
tried out (Sudoku, Minesweeper); games that may be unsolvable (the 15-puzzle, 2048 beyond a thousand moves); and games
for several players.
"""


@dataclass(frozen=True, kw_only=True)
class TextArenaOptions:
    """Options of `textarena`. id: of a game of the library."""

    id: str = "Mastermind-v0"


class TextArena(Environment):
    """A single-player game. An action is in square brackets, such as [1 2]."""

    options = TextArenaOptions
    tools = _TOOLS
    max_steps = 1000

    @classmethod
    def load(cls, options: TextArenaOptions, corpora: Corpora) -> None:
        """Imports the library. Raises MissingDependency."""
        _registry()

    def reset(self, seed: int, options: TextArenaOptions) -> Observation:
        """See `Environment`."""
        if options.id not in GAMES:
            raise BadOptions(f"there is no {shown(options.id)}{near(options.id, GAMES)}", "id")
        specification = _registry()[options.id]
        module, _, name = specification.entry_point.partition(":")
        # Use the class itself: the wrappers put brackets around whatever the policy wrote.
        self._game = getattr(importlib.import_module(module), name)(**specification.kwargs)
        self._random, self._won = random.Random(seed).getstate(), GAMES[options.id]
        try:
            with self._chance():
                self._game.reset(num_players=1, seed=seed)
        except ZeroDivisionError:
            raise BadOptions("by this seed the lights are out already", "id") from None
        return Observation(self._told())

    def step(self, action: str) -> Turn:
        """See `Environment`."""
        if _ACTION.fullmatch(action.strip()) is None:
            # Attack: several moves in one action; some games make all of them.
            raise NotAMove("an action is in square brackets, such as [1 2]")
        before = copy.deepcopy(self._game), self._random
        with self._chance():
            done, _ = self._game.step(action.strip())
        text = self._told()
        if self._game.state.error_count:
            self._game, self._random = before
            raise Illegal(text)
        if not done:
            return Turn(observation=Observation(text))
        reason = str(self._game.state.game_info[0]["reason"])
        success = reason.startswith(self._won)
        return Turn(
            observation=Observation(reason),
            reward=float(self._game.state.rewards[0]),
            done=True,
            success=success,
            why=None if success else "loss",
        )

    @contextmanager
    def _chance(self) -> Iterator[None]:
        """Lets the game draw from Python's global generator in the state that the episode left it in, and restores the
        generator afterwards.
        """
        others = random.getstate()
        random.setstate(self._random)
        try:
            yield
        finally:
            self._random = random.getstate()
            random.setstate(others)

    def _told(self) -> str:
        """The game's messages since the last action, without the policy's own."""
        echoed = importlib.import_module("textarena").ObservationType.PLAYER_ACTION
        messages = self._game.state.get_current_player_observation()
        self._game.state.logs.clear()
        return "\n".join(message for _, message, kind in messages if kind != echoed)


def _registry() -> Any:
    """The library's games. Raises MissingDependency."""
    try:
        return importlib.import_module("textarena.envs.registration").ENV_REGISTRY
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"the environment 'textarena' needs the package {error.name!r}: pip install 'rewarden-server[textarena]'"
        ) from error
