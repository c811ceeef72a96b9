"""`rewarden recipes`: lists recipes, shows one, or checks recipe files."""

from __future__ import annotations

import argparse
import sys

from rewarden.commands.terminal import say
from rewarden.errors import RewardenError, SampleError
from rewarden_verifiers.recipes.load import load_recipe, recipe_spec
from rewarden_verifiers.registry import Registry

HELP = "list recipes, show one, or check recipe files"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("name", nargs="?", help="the recipe to show (default: list all)")
    parser.add_argument(
        "--check", nargs="+", metavar="FILE", help="check recipe files; errors are reported with their line"
    )


def run(args: argparse.Namespace) -> int:
    """Returns 0; 1 if a checked file is wrong or a listed recipe cannot be used; 2 if the recipe is unknown."""
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
    """Prints whether a file is a recipe that can be used here, and returns the exit status."""
    try:
        spec = recipe_spec(load_recipe(file), registry)
    except RewardenError as error:
        # A recipe's own faults begin with file and line; others (a package that is missing) do not.
        where = "" if error.message.startswith(file) else f"{file}: "
        say(f"{where}{error.message}", file=sys.stderr)
        return 1
    low, high = spec.score_range
    say(f"{file}: ok: {spec.name} {spec.version}, scores from {low:g} to {high:g}")
    return 0


def show_all(registry: Registry) -> int:
    """Prints a line for each recipe, with the reason if it cannot be used."""
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
    """Prints a recipe's parameters and its file."""
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
