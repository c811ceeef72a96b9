"""Minigrid's rooms, described in words (extra `minigrid`)."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rewarden.errors import MissingDependency, near
from rewarden_verifiers.environments.contract import BadOptions, Corpora, Environment, NotAMove, Observation, Tool, Turn
from rewarden_verifiers.games.rules import shown

_WORDS = ("left", "right", "forward", "pickup", "drop", "toggle", "done")
"""Actions in the library's order."""
_TOOLS = (Tool(name="act", argument="action", meaning=f"One of {', '.join(_WORDS)}.", bare=True),)
_DIRECTIONS = ("east", "south", "west", "north")
_PLAIN = {"unseen": "?", "empty": ".", "wall": "#"}
_STATES = ("open", "closed", "locked")


@dataclass(frozen=True, kw_only=True)
class MinigridOptions:
    """Options of `minigrid`. id: one of the library's environments whose names start with `MiniGrid-`."""

    id: str = "MiniGrid-DoorKey-5x5-v0"


class Minigrid(Environment):
    """Rooms with doors, keys and a goal. The policy sees what is in front of it."""

    options = MinigridOptions
    tools = _TOOLS
    max_steps = 1000

    @classmethod
    def load(cls, options: MinigridOptions, corpora: Corpora) -> None:
        """Imports the library. Raises MissingDependency."""
        ids()

    def reset(self, seed: int, options: MinigridOptions) -> Observation:
        """See `Environment`."""
        if options.id not in ids():
            raise BadOptions(f"there is no {shown(options.id)}{near(options.id, ids())}", "id")
        specification = _registry()[options.id]
        module, _, name = specification.entry_point.partition(":")
        # Use the class itself: the wrappers of `gymnasium.make` check types and print warnings.
        self._grid = getattr(importlib.import_module(module), name)(**specification.kwargs)
        seen, _ = self._grid.reset(seed=seed)
        return self._seen(seen)

    def step(self, action: str) -> Turn:
        """See `Environment`. Walking into a wall changes nothing and costs as much as any other step."""
        word = action.strip().lower()
        if word not in _WORDS:
            raise NotAMove(f"{shown(word)} is not one of {', '.join(_WORDS)}")
        seen, reward, ended, late, _ = self._grid.step(_WORDS.index(word))
        success = bool(ended) and float(reward) > 0
        return Turn(
            observation=self._seen(seen),
            reward=float(reward),
            done=bool(ended or late),
            success=success,
            why=None if success or not (ended or late) else "loss" if ended else "too_many_steps",
        )

    def _seen(self, seen: Any) -> Observation:
        rows, things = _drawn(seen["image"].tolist())
        carried = self._grid.carrying
        lines = [f"Mission: {seen['mission']}.", f"You are ^ and face {_DIRECTIONS[int(seen['direction'])]}. You see:"]
        lines += [*rows, *things]
        lines += [f"You carry a {carried.color} {carried.type}."] if carried is not None else []
        lines.append(f"Actions: {', '.join(_WORDS)}. ?: not seen, .: empty, #: wall.")
        fields = {
            "mission": str(seen["mission"]),
            "direction": int(seen["direction"]),
            "image": seen["image"].tolist(),
        }
        return Observation("\n".join(lines), fields)


def _drawn(image: Sequence[Sequence[Sequence[int]]]) -> tuple[list[str], list[str]]:
    """The view as rows, farthest first, and a legend of its letters. The policy is at the bottom, in the middle."""
    constants = importlib.import_module("minigrid.core.constants")
    size = len(image)
    rows, things = [["."] * size for _ in range(size)], list[str]()
    for down in range(size):
        for across in range(size):
            if (across, down) == (size // 2, size - 1):
                rows[down][across] = "^"
                continue
            kind, colour, state = image[across][down]
            name = constants.IDX_TO_OBJECT[kind]
            letter = _PLAIN.get(name)
            if letter is None:
                letter = chr(ord("a") + len(things) % 26)
                of = f"{_STATES[state]} " if name == "door" else ""
                things.append(f"{letter}: {of}{constants.IDX_TO_COLOR[colour]} {name}, {_where(across, down, size)}")
            rows[down][across] = letter
    return ["".join(row) for row in rows], things


def _where(across: int, down: int, size: int) -> str:
    ahead, aside = size - 1 - down, across - size // 2
    parts = [f"{ahead} ahead"] if ahead else []
    parts += [f"{abs(aside)} to the {'left' if aside < 0 else 'right'}"] if aside else []
    return ", ".join(parts)


def _registry() -> Any:
    """The library's environments. Raises MissingDependency."""
    # Importing it prints a greeting to standard output.
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        importlib.import_module("minigrid")
        return importlib.import_module("gymnasium.envs.registration").registry
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "the environment 'minigrid' needs the package 'minigrid': pip install 'rewarden-server[minigrid]'"
        ) from error


@lru_cache(maxsize=1)
def ids() -> tuple[str, ...]:
    """The ids on offer. Raises MissingDependency. Excluded are the playground, which has no goal; rooms made by wave
    function collapse, which need further packages; and versions that a later one replaces, because the first mazes have
    no solution.
    """
    found = [id for id in _registry() if id.startswith("MiniGrid-") and not id.startswith("MiniGrid-WFC-")]
    last: dict[str, int] = {}
    for id in found:
        name, _, version = id.rpartition("-v")
        last[name] = max(last.get(name, 0), int(version))
    return tuple(f"{name}-v{version}" for name, version in last.items() if name != "MiniGrid-Playground")
