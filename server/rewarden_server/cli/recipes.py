"""`rewarden recipes`: lists recipes, shows, explains and compares them, checks recipe files, or shows which published
systems they cover."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rewarden.commands.terminal import add_examples, say
from rewarden.commands.use import read_json
from rewarden.errors import InvalidRequest, RewardenError, SampleError
from rewarden_server.cli.coverage import add_filters, filtered, show_coverage
from rewarden_server.cli.recipe_diff import diff
from rewarden_server.cli.recipe_steps import explain
from rewarden_server.cli.training import add_progress, progress_of
from rewarden_verifiers.recipes.load import load_recipe, recipe_spec
from rewarden_verifiers.recipes.weaknesses import weaknesses
from rewarden_verifiers.registry import Registry

HELP = "list, show, explain, compare and check recipes, or show which published systems they cover"

COVERAGE, DIFF, EXPLAIN = "coverage", "diff", "explain"
"""In place of a recipe's name: the table of systems; two recipes side by side; how a recipe judges samples."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar="NAME",
        help="the recipe to show; `coverage`: the table of systems; `diff A B`: what two recipes, or files, judge "
        "differently; `explain NAME`: how a recipe or file judges the samples of --sample (default: list all)",
    )
    parser.add_argument(
        "--check", nargs="+", metavar="FILE", help="check recipe files; errors are reported with their line"
    )
    explain = parser.add_argument_group("explain")
    explain.add_argument("--sample", type=Path, metavar="FILE", help="samples, as JSON lines or a JSON list")
    explain.add_argument("--params", metavar="JSON", help="the recipe's parameters")
    add_progress(explain.add_argument)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_filters(parser)
    add_examples(
        parser,
        "rewarden recipes",
        "rewarden recipes logic_rl",
        "rewarden recipes --check my-recipe.yaml",
        "rewarden recipes explain logic_rl --sample rows.jsonl",
        "rewarden recipes diff deepresearcher my-recipe.yaml",
        "rewarden recipes coverage --find search --have judge",
    )


def run(args: argparse.Namespace) -> int:
    """Returns 0; 1 if a checked file is wrong, a listed recipe cannot be used, or two recipes differ; 2 if the command
    or a recipe cannot be used."""
    problem = _problem(args)
    if problem is not None:
        say(f"rewarden recipes: {problem}", file=sys.stderr)
        return 2
    if args.words[:1] == [DIFF]:
        return diff(*args.words[1:], as_json=args.json)
    if args.words[:1] == [EXPLAIN]:
        try:
            params = {} if args.params is None else read_json("--params", args.params)
        except InvalidRequest as error:
            say(f"rewarden recipes: {error}", file=sys.stderr)
            return 2
        return explain(args.words[1], args.sample, params, progress_of(args), as_json=args.json)
    registry = Registry()
    if args.check is not None:
        return check_all(args.check, registry, as_json=args.json)
    if args.words == [COVERAGE]:
        return show_coverage(args)
    if args.words:
        return show(args.words[0], registry, as_json=args.json)
    return show_all(registry, as_json=args.json)


def _problem(args: argparse.Namespace) -> str | None:
    """Returns what is wrong with the words and options together."""
    words: list[str] = args.words
    if words != [COVERAGE] and filtered(args):
        return "these filters are for `rewarden recipes coverage`"
    if words[:1] == [DIFF] and len(words) != 3:
        return "give two recipes: rewarden recipes diff A B"
    if words[:1] == [EXPLAIN] and (len(words) != 2 or args.sample is None):
        return "give a recipe and samples: rewarden recipes explain NAME --sample FILE"
    if words[:1] != [EXPLAIN] and (args.sample or args.params or progress_of(args) is not None):
        return "--sample, --params, --step and --total-steps are for `rewarden recipes explain`"
    if words and args.check is not None:
        return "give either a NAME or --check FILE"
    if words[:1] not in ([DIFF], [EXPLAIN]) and len(words) > 1:
        return f"one NAME is shown at a time, not {len(words)}: rewarden recipes NAME; without a NAME, all are listed"
    return None


def check_all(files: list[str], registry: Registry, *, as_json: bool) -> int:
    """Prints whether each file is a recipe that can be used here, and what it pays for no answer; returns the exit
    status."""
    found = [_checked(file, registry) for file in files]
    if as_json:
        _say_json(found)
    else:
        for each in found:
            if each["problem"] is not None:
                say(each["problem"], file=sys.stderr)
            else:
                low, high = each["range"]
                say(f"{each['file']}: ok: {each['name']} {each['version']}, scores from {low:g} to {high:g}")
                if each["weaknesses"] is None:
                    say(f"{each['file']}: note: not checked for rewards without an answer: this needs real samples")
                for weakness in each["weaknesses"] or ():
                    kind = "warning" if weakness["severe"] else "note"
                    say(f"{each['file']}: {kind}: {weakness['where']}: {weakness['says']}")
    return int(any(each["problem"] is not None for each in found))


def _checked(file: str, registry: Registry) -> dict[str, Any]:
    try:
        recipe = load_recipe(file)
        spec = recipe_spec(recipe, registry)
    except RewardenError as error:
        # A recipe's own faults begin with file and line; others (a package that is missing) do not.
        where = "" if error.message.startswith(file) else f"{file}: "
        return {"file": file, "problem": f"{where}{error.message}"}
    found = asyncio.run(weaknesses(recipe, spec, registry))
    return {
        "file": file,
        "name": spec.name,
        "version": spec.version,
        "range": spec.score_range,
        "problem": None,
        "weaknesses": None if found is None else [asdict(one) for one in found],
    }


def show_all(registry: Registry, *, as_json: bool) -> int:
    """Prints every recipe, with the reason if it cannot be used."""
    found: list[dict[str, str | None]] = []
    for name in registry.recipe_names():
        try:
            found.append({"name": name, "summary": registry.get(name).summary, "problem": None})
        except SampleError as error:
            found.append({"name": name, "summary": None, "problem": error.message})
    if as_json:
        _say_json(found)
    else:
        width = max((len(str(each["name"])) for each in found), default=0)
        for each in found:
            problem = each["problem"]
            say(f"{each['name']:{width}}  {each['summary'] if problem is None else f'cannot be used: {problem}'}")
    return int(any(each["problem"] is not None for each in found))


def show(name: str, registry: Registry, *, as_json: bool) -> int:
    """Prints a recipe's parameters and its file."""
    try:
        path = registry.recipe_path(name)
        registry.get(name)
    except SampleError as error:
        say(f"rewarden recipes: {error.message}", file=sys.stderr)
        return 2
    recipe = load_recipe(path)
    if as_json:
        params = [
            {"name": each.name, "default": each.default, "description": each.description}
            for each in recipe.params.values()
        ]
        _say_json({"name": name, "file": str(path), "params": params, "text": path.read_text(encoding="utf-8")})
        return 0
    for parameter in recipe.params.values():
        say(f"# {parameter.name} = {parameter.default!r}  {parameter.description}".rstrip())
    say(f"# {path}")
    say(path.read_text(encoding="utf-8"), end="")
    return 0


def _say_json(value: Any) -> None:
    say(json.dumps(value, indent=1, ensure_ascii=False))
