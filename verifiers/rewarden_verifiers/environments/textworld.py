"""TextWorld's generated games (extra `textworld`). The library generates a game and keeps its state; the texts are
ours, because the library's texts need a compiled game.
"""

from __future__ import annotations

import importlib
import random
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal

from rewarden.errors import MissingDependency
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

Game = Literal["coin_collector", "treasure_hunter", "cooking"]
Rooms = Literal[1, 6, 9, 12]

_TOOLS = (Tool(name="act", argument="command", meaning="A command of the game, such as `go north`.", bare=True),)
_MODULES: Mapping[Game, str] = {
    "coin_collector": "textworld.challenges.tw_coin_collector.coin_collector",
    "treasure_hunter": "textworld.challenges.tw_treasure_hunter.treasure_hunter",
    "cooking": "textworld.challenges.tw_cooking.cooking",
}
LEVELS: Mapping[Game, Sequence[int]] = {
    "coin_collector": (*range(1, 41), *range(101, 121), *range(201, 214)),
    "treasure_hunter": (*range(1, 19), *range(21, 25)),
}
"""The levels on offer: those with at most 40 rooms that are generated within seconds."""

_TRIES = 4
"""The number of maps to draw before a seed is rejected: not every map has room for a quest of the level's length."""

_COMMAND = re.compile(r"[A-Za-z][A-Za-z0-9' -]{0,99}", re.ASCII)
_DIRECTIONS = ("north", "east", "south", "west")
_STATES: Mapping[str, str] = {
    **{state: state for state in ("open", "closed", "locked", "burned", "fried", "roasted", "grilled", "raw")},
    "needs_cooking": "raw",
    **{state: state for state in ("uncut", "sliced", "diced", "chopped")},
}
"""Visible facts about a thing, and their words."""

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, kw_only=True)
class TextWorldOptions:
    """Options of `textworld`.

    game: `coin_collector`, `treasure_hunter` or `cooking`. level: of the first two (`LEVELS`). recipe, take: numbers
    of the ingredients, and of those that must be found. rooms: 1, 6, 9 or 12. open, cook, cut: doors and
    containers are closed, food must be cooked, food must be cut as well. split: of the food, `train`, `valid` or
    `test`; by default all. commands: observations list the commands that are possible.
    """

    game: Game = "coin_collector"
    level: int = 1
    recipe: int = 1
    take: int = 0
    rooms: Rooms = 1
    open: bool = False
    cook: bool = False
    cut: bool = False
    split: Literal["train", "valid", "test"] | None = None
    commands: bool = False

    def check(self) -> None:
        """Raises BadOptions for options that the game does not have, and for values that no game can have."""
        usual = TextWorldOptions()
        foreign = {"level"} if self.game == "cooking" else {each.name for each in fields(self)} - {"level"}
        for name in sorted(foreign - {"game", "commands"}):
            if getattr(self, name) != getattr(usual, name):
                raise BadOptions(f"{self.game} has no such option", name)
        if self.game != "cooking":
            if self.level not in LEVELS[self.game]:
                raise BadOptions(f"there is no level {self.level} of {self.game}", "level")
        elif not 1 <= self.recipe <= 5:
            raise BadOptions("must be 1 to 5", "recipe")
        elif not 0 <= self.take <= self.recipe:
            raise BadOptions("must be 0 to the number of ingredients in the recipe", "take")
        elif self.cut and not self.cook:
            # The library fails if food can only be left whole.
            raise BadOptions("only with cook", "cut")

    def settings(self) -> dict[str, Any]:
        """The library's settings."""
        if self.game != "cooking":
            return {"level": self.level}
        skills = {name: getattr(self, name) for name in ("recipe", "take", "open", "cook", "cut", "split")}
        # No limit on what the player carries: the library's rules lose count, and the meal can become unreachable.
        return {**skills, "go": self.rooms, "drop": False, "recipe_seed": 0}


class TextWorld(Environment):
    """Rooms with things in them, which the policy visits and handles with short commands."""

    options = TextWorldOptions
    tools = _TOOLS

    @classmethod
    def load(cls, options: TextWorldOptions, corpora: Corpora) -> None:
        """Imports the library. Raises MissingDependency."""
        _library("textworld")

    def reset(self, seed: int, options: TextWorldOptions) -> Observation:
        """See `Environment`."""
        options.check()
        self._listed, self._prepared = options.commands, f"make/recipe/{options.recipe}"
        self._game = _made(seed, options)
        # Copy the game's state, which other episodes share.
        self._progress = _library("textworld.generator.game").GameProgression(self._game)
        self._score = 0.0
        return self._seen(f"{_goal(self._game, options)}\nCommands: {', '.join(_forms(self._game))}.")

    def step(self, action: str) -> Turn:
        """See `Environment`. A command that only looks changes nothing, but costs as much as any other."""
        command = " ".join(action.split()).lower()
        if _COMMAND.fullmatch(action.strip()) is None or command.split()[0] not in _verbs(self._game):
            raise NotAMove(f"a command is one of: {', '.join(_forms(self._game))}")
        done = self._commands().get(command)
        if done is None:
            raise Illegal(f"{shown(command)} is not possible now")
        self._progress.update(done)
        said = _examined(self._game, command.removeprefix("examine ")) if command.startswith("examine ") else ""
        score = self._progress.score / max(1, self._game.max_score)
        reward, self._score = score - self._score, score
        won, over = bool(self._progress.completed), bool(self._progress.done)
        return Turn(
            observation=self._seen(said),
            reward=float(reward),
            done=over,
            success=won,
            why=None if won or not over else "loss",
        )

    def _commands(self) -> dict[str, Any]:
        """The possible commands in lower case, with the library's actions."""
        names = {id: info.name or "" for id, info in self._game.infos.items()}
        found: dict[str, Any] = {}
        for action in sorted(self._progress.valid_actions, key=str):
            # Attack: a meal of the recipe's first ingredient alone, which the library's rules allow.
            if not action.name.startswith("make/recipe/") or action.name == self._prepared:
                found.setdefault(action.format_command(names).lower(), action)
        return found

    def _seen(self, said: str) -> Observation:
        facts = defaultdict[str, list[tuple[str, ...]]](list)
        for fact in self._progress.state.facts:
            facts[str(fact.name)].append(tuple(str(each.name) for each in fact.arguments))
        here = next(place for thing, place in facts["at"] if thing == "P")
        view = _View({id: info.name or "" for id, info in self._game.infos.items()}, facts)
        around = view.among("at", here)
        lines = [said] if said else []
        lines.append(f"You are in the {view.names[here]}. You see: {'; '.join(around) or 'nothing'}.")
        lines.append(f"Exits: {', '.join(view.exits(here)) or 'none'}.")
        carried = view.among("in", "I")
        lines.append(f"You carry: {', '.join(carried) or 'nothing'}.")
        seen: dict[str, Any] = {"room": view.names[here], "carried": carried}
        if self._listed:
            seen["commands"] = sorted(self._commands())
            lines.append(f"Possible now: {', '.join(seen['commands'])}.")
        return Observation("\n".join(lines), seen)


@dataclass(frozen=True, slots=True)
class _View:
    """names: the names of the game's things, by id. facts: the ids that each fact is about, by the fact's name."""

    names: Mapping[str, str]
    facts: Mapping[str, Sequence[tuple[str, ...]]]

    def among(self, relation: str, place: str) -> list[str]:
        """The things in, on or at a place, in words and sorted."""
        inside = [pair[0] for pair in self.facts.get(relation, ()) if pair[1:] == (place,) and pair[0] != "P"]
        return sorted(self._thing(id) for id in inside)

    def _thing(self, id: str) -> str:
        states = [word for state, word in _STATES.items() if (id,) in self.facts.get(state, ())]
        on = self.among("on", id)
        # The contents of a closed container are not visible.
        within = self.among("in", id) if "open" in states else []
        parts = [
            *states,
            *([f"on it: {', '.join(on)}"] if on else []),
            *([f"in it: {', '.join(within)}"] * bool(within)),
        ]
        return f"{self.names[id]} ({', '.join(parts)})" if parts else self.names[id]

    def exits(self, here: str) -> list[str]:
        """The exits of a room, with their doors."""
        found = []
        for direction in _DIRECTIONS:
            for there in (pair[0] for pair in self.facts.get(f"{direction}_of", ()) if pair[1] == here):
                doors = [id for one, id, other in self.facts.get("link", ()) if (one, other) == (here, there)]
                found.append(f"{direction} by the {self._thing(doors[0])}" if doors else direction)
        return found


def _library(name: str) -> Any:
    """A module of the library. Raises MissingDependency."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"the environment 'textworld' needs the package {error.name!r}: pip install 'rewarden-server[textworld]', "
            "which needs a C compiler and make"
        ) from error


@lru_cache(maxsize=16)
def _made(seed: int, options: TextWorldOptions) -> Any:
    """The game for a seed, which episodes do not change. Raises BadOptions if the seed has none."""
    choose, module = random.Random(seed), _library(_MODULES[options.game])
    unmade = _library("textworld.generator").QuestGenerationError
    for _ in range(_TRIES):
        settings = _library("textworld").GameOptions()
        settings.seeds = choose.randrange(2**32)
        try:
            with _uncompiled():
                return module.make(options.settings(), settings)
        except unmade:
            continue
    raise BadOptions("there is no such game of this seed", "level")


@contextmanager
def _uncompiled() -> Iterator[None]:
    """Keeps the library from compiling a game and playing it in another process, which it does only to record the
    walkthrough.
    """
    maker = _library("textworld").GameMaker
    kept = maker.set_walkthrough
    maker.set_walkthrough = lambda maker, commands: None
    try:
        with warnings.catch_warnings(action="ignore"):  # about names that its grammar cannot vary further
            yield
    finally:
        maker.set_walkthrough = kept


def _goal(game: Any, options: TextWorldOptions) -> str:
    """The goal in words. The library's own text gives away the whole route."""
    if options.game == "coin_collector":
        return "Find the coin and take it."
    if options.game == "treasure_hunter":
        taken = game.quests[0].win_events[0].actions[-1]
        wanted = next(str(each.name) for fact in taken.added for each in fact.arguments if each.name != "I")
        return f"Find the {game.infos[wanted].name} and take it. Taking the wrong thing loses."
    return str(game.objective)


def _examined(game: Any, name: str) -> str:
    """A thing's description, unless it is a program in the library's own language."""
    found = next((info for info in game.infos.values() if (info.name or "").lower() == name), None)
    text = str((found.desc if found else None) or "").replace("[noun]", name)
    return text.strip() if text and "[" not in text else "You see nothing special."


def _forms(game: Any) -> list[str]:
    """The forms of commands, with THING in place of their objects."""
    return sorted({_PLACEHOLDER.sub("THING", str(form)) for form in game.kb.inform7_commands.values()})


def _verbs(game: Any) -> set[str]:
    return {form.split()[0] for form in _forms(game)}
