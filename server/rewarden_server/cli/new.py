"""`rewarden new`: a verifier, a recipe, an adapter or a language that works, to be changed."""

from __future__ import annotations

import argparse
from pathlib import Path

from rewarden.commands.terminal import say
from rewarden_server.scaffold import KINDS, PACKAGES, write

HELP = "begin a verifier, a recipe, an adapter or a language of your own, with tests that pass"


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("kind", choices=KINDS, help="what to begin")
    parser.add_argument(
        "name", help="its name, as in a use, the trainer's or the language's: small letters, digits and _"
    )
    parser.add_argument("--folder", type=Path, help="where to write it (default: the name, in this folder)")


def run(args: argparse.Namespace) -> int:
    """Exit status 0."""
    folder = args.folder or Path(args.name)
    for path in write(args.kind, args.name, folder):
        say(f"wrote {path}")
    install = f"pip install -e {folder} && " if args.kind in PACKAGES else ""
    say(f"next: {install}pytest {folder}")
    return 0
