"""Environments by name: the built-in ones, and those of plug-ins from the entry-point group `rewarden.environments`. A
module is imported when its name is first used.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping
from functools import lru_cache

from rewarden.errors import MissingDependency, PluginError, near
from rewarden_verifiers.environments.contract import BadOptions, Environment

Place = tuple[str, str]
"""A module, by its full name so that fingerprints find it, and a class in that module."""

BUILT_IN: Mapping[str, Place] = {
    "tic_tac_toe": ("rewarden_verifiers.environments.board_games", "TicTacToeGame"),
    "connect_four": ("rewarden_verifiers.environments.board_games", "ConnectFourGame"),
    "nim": ("rewarden_verifiers.environments.board_games", "NimGame"),
    "chess": ("rewarden_verifiers.environments.board_games", "ChessGame"),
    "sokoban": ("rewarden_verifiers.environments.board_games", "SokobanGame"),
    "search": ("rewarden_verifiers.environments.search", "Search"),
    "files": ("rewarden_verifiers.environments.files", "Files"),
    "sql": ("rewarden_verifiers.environments.sql_tool", "Sql"),
    "shop": ("rewarden_verifiers.environments.shop", "Shop"),
    "retail": ("rewarden_verifiers.environments.retail", "Retail"),
    "calculator": ("rewarden_verifiers.environments.calculator", "Calculator"),
    "reasoning_gym": ("rewarden_verifiers.environments.reasoning", "Reasoning"),
    "frozen_lake": ("rewarden_verifiers.environments.toy_text", "FrozenLake"),
    "taxi": ("rewarden_verifiers.environments.toy_text", "Taxi"),
    "cliff_walking": ("rewarden_verifiers.environments.toy_text", "CliffWalking"),
    "minigrid": ("rewarden_verifiers.environments.minigrid", "Minigrid"),
    "textarena": ("rewarden_verifiers.environments.textarena", "TextArena"),
    "tau2": ("rewarden_verifiers.environments.tau2", "Tau2"),
    "textworld": ("rewarden_verifiers.environments.textworld", "TextWorld"),
    "blackjack": ("rewarden_verifiers.environments.toy_text", "Blackjack"),
}

GROUP = "rewarden.environments"


@lru_cache(maxsize=1)
def plugins() -> Mapping[str, Place]:
    """The environments of plug-ins. Raises PluginError for one whose name is taken."""
    found: dict[str, Place] = {}
    for point in importlib.metadata.entry_points(group=GROUP):
        if point.name in BUILT_IN or point.name in found:
            raise PluginError(f"an environment is declared as {point.name!r}, a name already taken; rename it there")
        found[point.name] = (point.module, point.attr)
    return found


def names() -> list[str]:
    """Every environment's name, built-in ones first."""
    return [*BUILT_IN, *plugins()]


@lru_cache(maxsize=256)
def environment_of(name: str) -> type[Environment]:
    """The class of an environment. Raises BadOptions for an unknown name, MissingDependency, PluginError."""
    place = BUILT_IN.get(name) or plugins().get(name)
    if place is None:
        raise BadOptions(f"there is no environment {name[:100]!r}{near(name, names())}")
    module, attribute = place
    try:
        found: object = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise MissingDependency(f"environment {name!r} needs the package {error.name!r}") from error
    except Exception as error:
        raise PluginError(f"environment {name!r} could not be loaded from {module}:{attribute}: {error!r}") from error
    if not (isinstance(found, type) and issubclass(found, Environment)):
        raise PluginError(f"{module}:{attribute} is not an Environment")
    return found
