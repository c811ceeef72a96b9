"""`rewarden verifiers`: lists verifiers and recipes, or describes one."""

from __future__ import annotations

import argparse
import json
from typing import Any

from rewarden.commands.connection import add_connection_arguments, open_client
from rewarden.commands.terminal import add_examples, say

HELP = "list verifiers and recipes, or describe one in full"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("name", nargs="?", help="describe this one: schemas, documentation and cases, as JSON")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_connection_arguments(parser)
    add_examples(
        parser, "rewarden verifiers", "rewarden verifiers math", "rewarden verifiers --target http://host:8080"
    )


def run(args: argparse.Namespace) -> int:
    """Returns exit status 0."""
    with open_client(args) as client:
        found = client.verifiers(args.name)
    if args.name is not None or args.json:
        say(json.dumps(found if args.name is None else found[0], indent=2, ensure_ascii=False))
    else:
        width = max((len(str(each.get("name"))) for each in found), default=0)
        for each in found:
            say(f"{each.get('name')!s:{width}}  {_summary(each)}")
    return 0


def _summary(each: dict[str, Any]) -> str:
    problem = each.get("problem")
    if isinstance(problem, dict):
        return f"not available: {problem.get('message')}"
    return str(each.get("summary") or "")
