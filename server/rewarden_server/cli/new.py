"""`rewarden new`: creates a working verifier, recipe, adapter or language to start from."""

from __future__ import annotations

import argparse
from pathlib import Path

from rewarden.commands.terminal import add_examples, say
from rewarden_server.scaffold import KINDS, PACKAGES, write

HELP = "create your own verifier, recipe, adapter or language, with passing tests"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("kind", choices=KINDS, help="what to create")
    parser.add_argument("name", help="its name: lowercase letters, digits and _ (an adapter has its trainer's name)")
    parser.add_argument(
        "--folder", type=Path, help="where to write it (default: a folder of that name in the current folder)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    add_examples(parser, "rewarden new verifier my_check", "rewarden new recipe my_reward --folder rewards")


def run(args: argparse.Namespace) -> int:
    """Returns exit status 0."""
    folder = args.folder or Path(args.name)
    written = write(args.kind, args.name, folder)
    if args.quiet:
        return 0
    for path in written:
        say(f"wrote {path}")
    install = f"pip install -e {folder} && " if args.kind in PACKAGES else ""
    say(f"next: {install}pytest {folder}")
    return 0
