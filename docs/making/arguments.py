"""The arguments of the commands as data, for `rewarden completion`, which must import no command."""

from __future__ import annotations

import argparse
import importlib
import json
from typing import Any

from making.commands import modules

_NAMES = {"use": "use", "verifier": "use", "names": "verifier"}
"""Arguments that name verifiers or recipes, by their destination."""

_LISTINGS = {"rewarden verifiers": "use", "rewarden recipes": "recipe"}


def generate(package: str) -> str:
    """Returns what `arguments.json` of a package of commands must hold."""
    made = {}
    for name, module in sorted(modules().items()):
        if module.rpartition(".")[0] == package:
            parser = argparse.ArgumentParser(prog=f"rewarden {name}")
            importlib.import_module(module).configure(parser)
            made[name] = _of(parser)
    return json.dumps(made, indent=1) + "\n"


def _of(parser: argparse.ArgumentParser) -> dict[str, Any]:
    """The values of each option (None if it takes none), the subcommands, and the values of positional arguments."""
    options: dict[str, Any] = {}
    commands: dict[str, Any] = {}
    values: Any = []
    for action in parser._actions:  # argparse has no other way to list them
        if isinstance(action, argparse._SubParsersAction):
            commands = {name: _of(child) for name, child in action.choices.items()}
        elif action.option_strings:
            for option in action.option_strings:
                if option not in ("-h", "--help"):
                    options[option] = None if action.nargs == 0 else _values(action, parser.prog)
        else:
            values = values or _values(action, parser.prog)
    return {"options": options, "commands": commands, "values": values}


def _values(action: argparse.Action, prog: str) -> Any:
    if action.choices:
        return list(action.choices)
    return _NAMES.get(action.dest) or (_LISTINGS.get(prog) if action.dest in ("name", "words") else None) or []
