"""`python -m rewarden.adapters NAME`: prints an adapter's path, for trainers that load a reward from a file."""

from __future__ import annotations

import sys
from pathlib import Path

from rewarden.commands.terminal import say
from rewarden.errors import near

_SHARED = {"__init__", "__main__", "episodes", "example", "preflight", "references", "rows", "scoring", "settings"}
_LIVED = {"trl_environment", "verifiers_environment"}
"""Adapters whose rewards are those of episodes, and not of a data set's responses; no trainer loads them by a file."""


def main(argv: list[str]) -> int:
    """Returns the exit status: 0, or 2 for an unknown adapter."""
    files = adapters()
    names = sorted(files)
    if len(argv) == 1 and argv[0] in names:
        say(files[argv[0]])
        return 0
    say(f"usage: python -m rewarden.adapters NAME{near(argv[0] if argv else '', names)}", file=sys.stderr)
    return 2


def adapters() -> dict[str, Path]:
    """Returns the adapters by name, each with the file that its trainer loads."""
    folder = Path(__file__).parent
    files = {path.stem: path for path in folder.glob("*.py") if path.stem not in _SHARED | _LIVED}
    # If an adapter is a package, the file for the trainer is inside it.
    files.update({path.parent.name: path for path in folder.glob("*/rewarden_*.py")})
    return files


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
