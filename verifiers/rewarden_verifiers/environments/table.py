"""Names to environments: the built-in ones, and those of plug-ins, from the entry-point group `rewarden.environments`.

Modules are imported on first use of a name.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
from collections.abc import Mapping
from functools import lru_cache

from rewarden.errors import MissingDependency, PluginError, near
from rewarden_verifiers.environments.contract import BadOptions, Environment

_HERE = "rewarden_verifiers.environments"

BUILT_IN: Mapping[str, str] = {
    "tic_tac_toe": f"{_HERE}.board_games:TicTacToeGame",
    "connect_four": f"{_HERE}.board_games:ConnectFourGame",
    "nim": f"{_HERE}.board_games:NimGame",
    "chess": f"{_HERE}.board_games:ChessGame",
    "sokoban": f"{_HERE}.board_games:SokobanGame",
    "search": f"{_HERE}.search:Search",
    "calculator": f"{_HERE}.calculator:Calculator",
    "reasoning_gym": f"{_HERE}.reasoning:Reasoning",
    "frozen_lake": f"{_HERE}.toy_text:FrozenLake",
    "taxi": f"{_HERE}.toy_text:Taxi",
    "cliff_walking": f"{_HERE}.toy_text:CliffWalking",
    "blackjack": f"{_HERE}.toy_text:Blackjack",
}

GROUP = "rewarden.environments"


@lru_cache(maxsize=1)
def targets() -> Mapping[str, str]:
    """Every environment's name to `module:Class`. Raises PluginError for a plug-in that takes a name."""
    found = dict(BUILT_IN)
    for point in importlib.metadata.entry_points(group=GROUP):
        if point.name in found:
            raise PluginError(f"an environment is declared as {point.name!r}, a name already taken; rename it there")
        found[point.name] = point.value
    return found


@lru_cache(maxsize=256)
def environment_of(name: str) -> type[Environment]:
    """The class of an environment. Raises BadOptions for an unknown name, MissingDependency, PluginError."""
    target = targets().get(name)
    if target is None:
        raise BadOptions(f"there is no environment {name[:100]!r}{near(name, targets())}")
    module, _, attribute = target.partition(":")
    try:
        found: object = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise MissingDependency(f"environment {name!r} needs the package {error.name!r}") from error
    except Exception as error:
        raise PluginError(f"environment {name!r} could not be loaded from {target!r}: {error!r}") from error
    if not (inspect.isclass(found) and issubclass(found, Environment)):
        raise PluginError(f"{target!r} is not an Environment")
    return found


def summary_of(name: str) -> str:
    """The first line of an environment's documentation."""
    return (inspect.getdoc(environment_of(name)) or name).split("\n", 1)[0]
