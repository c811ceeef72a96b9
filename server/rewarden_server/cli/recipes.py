"""`rewarden recipes`: what recipes there are, what one of them says, and whether a file of yours is one."""

from __future__ import annotations

import argparse
import sys

from rewarden.commands.terminal import say
from rewarden.errors import RewardenError, SampleError
from rewarden_verifiers.recipes.load import load_recipe, recipe_spec
from rewarden_verifiers.registry import Registry

HELP = "list recipes, show one, or check a recipe's file"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", nargs="?", help="the recipe to show; without it all are listed")
    parser.add_argument(
        "--check", nargs="+", metavar="FILE", help="check recipe files; what is wrong is named with its line"
    )


def run(args: argparse.Namespace) -> int:
    """0; 1: a checked file is wrong, or a listed recipe cannot be used; 2: there is no such recipe."""
    registry = Registry()
    if args.check is not None:
        if args.name is not None:
            say("rewarden recipes: give either a NAME or --check FILE", file=sys.stderr)
            return 2
        return max([check(file, registry) for file in args.check])
    if args.name is not None:
        return show(args.name, registry)
    return show_all(registry)


def check(file: str, registry: Registry) -> int:
    """Say whether a file is a recipe that can be used here."""
    try:
        spec = recipe_spec(load_recipe(file), registry)
    except RewardenError as error:
        # A recipe's own faults begin with file and line; others (a package that is missing) do not.
        where = "" if error.message.startswith(file) else f"{file}: "
        say(f"{where}{error.message}", file=sys.stderr)
        return 1
    low, high = spec.score_range
    say(f"{file}: fine: {spec.name} {spec.version}, scores from {low:g} to {high:g}")
    return 0


def show_all(registry: Registry) -> int:
    """A line for each recipe; those that cannot be used say why."""
    status = 0
    names = registry.recipe_names()
    width = max(map(len, names), default=0)
    for name in names:
        try:
            say(f"{name:{width}}  {registry.get(name).summary}")
        except SampleError as error:
            say(f"{name:{width}}  cannot be used: {error.message}")
            status = 1
    return status


def show(name: str, registry: Registry) -> int:
    """A recipe's parameters and its file."""
    try:
        path = registry.recipe_path(name)
        registry.get(name)
    except SampleError as error:
        say(f"rewarden recipes: {error.message}", file=sys.stderr)
        return 2
    recipe = load_recipe(path)
    for parameter in recipe.params.values():
        say(f"# {parameter.name} = {parameter.default!r}  {parameter.description}".rstrip())
    say(f"# {path}")
    say(path.read_text(encoding="utf-8"), end="")
    return 0
