"""`rewarden recipes coverage`: published systems, the recipes that cover them, and what those need."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, get_args

from rewarden.commands.terminal import say
from rewarden_verifiers.recipes.model import Parity
from rewarden_verifiers.recipes.systems import NEEDS, Covering, System, coverings, systems
from rewarden_verifiers.summaries import summaries

PARITIES: tuple[str, ...] = get_args(Parity)
"""The closest first."""

STATES = ("covered", "open", "outside")
"""Covered by a recipe, not yet, or nothing that a reward server can host."""


_LONGEST = 40
"""Characters of parameters that a line of the table has room for."""


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Adds the options that narrow the table."""
    group = parser.add_argument_group("filters of `coverage`")
    group.add_argument("--find", metavar="TEXT", help="systems with this in their id, name, title or domain")
    group.add_argument("--state", choices=STATES, help="covered by a recipe, open, or outside what a server can host")
    group.add_argument("--recipe", metavar="NAME", help="systems that this recipe covers")
    group.add_argument("--parity", choices=PARITIES, help="systems whose recipes are at least this close")
    group.add_argument(
        "--have", nargs="*", choices=NEEDS, metavar="NEED", help=f"systems that need nothing but: {', '.join(NEEDS)}"
    )


def filtered(args: argparse.Namespace) -> bool:
    """Returns whether any of these options was given."""
    return any(getattr(args, name) is not None for name in ("find", "state", "recipe", "parity", "have"))


def show_coverage(args: argparse.Namespace) -> int:
    """Prints a line for each system and recipe, and the counts. Returns 0, or 2 if there is no such recipe."""
    if args.recipe is not None and args.recipe not in summaries():
        say(f"rewarden recipes: no recipe that ships is named {args.recipe!r}", file=sys.stderr)
        return 2
    known, covered = systems(), coverings()
    found = {name: covered[name] for name, system in known.items() if _wanted(args, system, covered[name])}
    counts = Counter(parity_of(each) for each in found.values() if each)
    if args.json:
        listed = [_as_json(known[name], each) for name, each in found.items()]
        total = {"systems": len(found), "covered": sum(counts.values())} | {one: counts[one] for one in PARITIES}
        say(json.dumps({"systems": listed, "counts": total}, indent=1, ensure_ascii=False))
        return 0
    rows = [row for name, each in found.items() for row in _rows(known[name], each)]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    for row in rows:
        say("  ".join(f"{cell:{width}}" for cell, width in zip(row, [*widths, 0], strict=True)).rstrip())
    parities = ", ".join(f"{counts[name]} {name}" for name in PARITIES)
    if any("{…}" in row[1] for row in rows):
        say("{…}: parameters that are too long for a line; --json has them")
    say(f"covered {counts.total()} of {len(found)}: {parities}")
    return 0


def parity_of(coverings: Sequence[Covering]) -> str:
    """Returns the parity of a covered system: that of the recipe that is least close to it."""
    return max((one.parity for one in coverings), key=PARITIES.index)


def state_of(system: System) -> str:
    """Returns the system's state as one of `STATES`."""
    return system.state if system.state in STATES else "outside"


def _wanted(args: argparse.Namespace, system: System, coverings: Sequence[Covering]) -> bool:
    text = "\n".join((system.id, system.name, system.title, system.domain)).lower()
    needs = {need for one in coverings for need in one.needs} if coverings else set(system.needs)
    return (
        (args.find is None or args.find.lower() in text)
        and (args.state is None or args.state == state_of(system))
        and (args.recipe is None or any(one.recipe == args.recipe for one in coverings))
        and (
            args.parity is None
            or (bool(coverings) and PARITIES.index(parity_of(coverings)) <= PARITIES.index(args.parity))
        )
        and (args.have is None or needs <= set(args.have))
    )


def _rows(system: System, coverings: Sequence[Covering]) -> list[tuple[str, str, str, str, str]]:
    """Returns the lines of a system: its id, recipe or state, parity, needs, and a reason, which may be long."""
    if not coverings:
        why = system.state if state_of(system) == "outside" else ""
        return [(system.id, state_of(system), "", " ".join(system.needs), why)]
    why = f"not verified: {system.unverified}" if system.unverified else ""
    return [
        (system.id, _called(one), one.parity, " ".join(one.needs), "" if one.parity == "verified" else why)
        for one in coverings
    ]


def _called(one: Covering) -> str:
    """Returns a recipe as a line says it, `accuracy {"verifier": "choice"} (science)`, without long parameters."""
    params = f" {json.dumps(one.coverage.params, ensure_ascii=False)}" if one.coverage.params else ""
    if len(params) > _LONGEST:
        params = " {…}"
    return f"{one.recipe}{params}{f' ({one.coverage.part})' if one.coverage.part else ''}"


def _as_json(system: System, coverings: Sequence[Covering]) -> dict[str, Any]:
    recipes = [
        {
            "use": {"name": one.recipe, "params": one.coverage.params},
            "part": one.coverage.part or None,
            "parity": one.parity,
            "needs": one.needs,
        }
        for one in coverings
    ]
    return {**asdict(system), "arxiv": system.arxiv or None, "recipes": recipes}
