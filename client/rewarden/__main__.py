"""The `rewarden` script: its own commands, and those that packages add under the entry-point group `rewarden.commands`.

A command is a module (see `rewarden.commands`). It is imported only to run: `--help` reads the one line of each from
its source.
Exit status: 0 success; 1 something failed; 2 the arguments or the request are wrong; 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from ast import literal_eval
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

from rewarden.commands.terminal import Parser, Styled, say
from rewarden.errors import BoxEnded, Overloaded, RequestError, RewardenError, near

COMMAND_GROUP = "rewarden.commands"

_HELP = re.compile(r"^HELP = (\"(?:[^\"\\\n]|\\.)*\")$", re.MULTILINE)

_OWN = {
    "box": "rewarden.commands.box",
    "check-trainer": "rewarden.commands.check_trainer",
    "completion": "rewarden.commands.completion",
    "verify": "rewarden.commands.verify",
    "verifiers": "rewarden.commands.verifiers",
    "ready": "rewarden.commands.ready",
}


class Command(Protocol):
    """The interface of a command's module."""

    HELP: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Runs the command and returns the exit status."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the script with these arguments, or the process's own. Returns the exit status."""
    try:
        return _main(list(sys.argv[1:] if argv is None else argv))
    except SystemExit as leaving:  # argparse: the usage is printed already
        return leaving.code if isinstance(leaving.code, int) else 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output (`head`) has exited; keep the interpreter from complaining as it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except RewardenError as error:
        _say(error.message)
        refused = isinstance(error, RequestError) and error.http_status < 500
        return 2 if refused and not isinstance(error, (BoxEnded, Overloaded)) else 1
    except OSError as error:
        _say(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        return 2 if isinstance(error, (FileNotFoundError, IsADirectoryError, PermissionError)) else 1


def _main(argv: list[str]) -> int:
    commands = known_commands()
    if not argv or argv[0] in ("-h", "--help"):
        _show_help(commands)
        return 0 if argv else 2
    if argv[0] == "--version":
        say(f"rewarden {_version()}")
        return 0
    name, *rest = argv
    if name not in commands:
        _say(f"unknown command {name!r}{near(name, sorted(commands))}")
        return 2
    try:
        command = _load(commands[name])
    except ImportError as error:
        _say(f"command {name!r} cannot be loaded: {error}")
        return 1
    parser = Parser(prog=f"rewarden {name}", description=command.HELP)
    command.configure(parser)
    return command.run(parser.parse_args(rest))


def known_commands() -> dict[str, str]:
    """Returns every command's name and module. Other packages cannot replace our own commands."""
    found = {point.name: point.value for point in entry_points(group=COMMAND_GROUP)}
    return {**found, **_OWN}


def _load(module: str) -> Command:
    return cast(Command, importlib.import_module(module))


def _show_help(commands: dict[str, str]) -> None:
    width = max(map(len, commands))
    say(Styled("usage:", "bold"), " rewarden COMMAND …\n")
    say(Styled("commands:", "bold"))
    for name in sorted(commands):
        say(f"  {name:{width}}  {_help_of(commands[name])}")
    say("\nRun `rewarden COMMAND --help` for details.")


def _help_of(module: str) -> str:
    try:
        return _written_help(module) or _load(module).HELP
    except Exception as error:  # noqa: BLE001 - one broken package must not break the help
        return f"(cannot be loaded: {error})"


def _written_help(module: str) -> str | None:
    """The HELP that is in a command's source, or None. Most commands import a server, which takes a second."""
    with suppress(ImportError, ValueError, OSError):
        spec = find_spec(module)
        if spec is not None and spec.origin is not None:
            found = _HELP.search(Path(spec.origin).read_text(encoding="utf-8"))
            return None if found is None else str(literal_eval(found[1]))
    return None


def _version() -> str:
    try:
        return version("rewarden")
    except PackageNotFoundError:
        return "(not installed)"


def _say(text: str) -> None:
    say(f"rewarden: {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
