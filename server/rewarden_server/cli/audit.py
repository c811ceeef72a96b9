"""`rewarden audit`: examines a reward before training, on a sample of prompts with references (docs/audit.md)."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from rewarden.client import AsyncClient
from rewarden.commands.connection import ONLY_HERE, authority_options
from rewarden.commands.terminal import say
from rewarden.commands.use import functions_of, read_use
from rewarden.errors import RewardenError, near
from rewarden.retry import Retry
from rewarden.routing import Routing
from rewarden.transports.authority import CA_HELP
from rewarden.types import Use
from rewarden_server.cli.columns import add_columns, columns_of
from rewarden_server.cli.numbers import positive, share
from rewarden_server.cli.uses import add_uses, routing_of
from rewarden_server.config import load_config
from rewarden_server.studies.audit.asking import Asking
from rewarden_server.studies.audit.audit import Audit, audit, expected
from rewarden_server.studies.audit.findings import Thresholds, findings
from rewarden_server.studies.audit.page import write_page
from rewarden_server.studies.audit.render import table
from rewarden_server.studies.audit.sampled import Drawn, draw
from rewarden_server.studies.report.page import check_output
from rewarden_server.studies.rescore.columns import Columns, choose
from rewarden_server.studies.rescore.judges import find_judges
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.progress import watcher
from rewarden_server.studies.rescore.read import Inputs, find_inputs
from rewarden_server.studies.rescore.run import peek
from rewarden_server.studies.rescore.target import LOCAL

HELP = "audit a reward before training: rewards without an answer, right answers without a reward, and cost"

SOUND, FOUND, REFUSED = 0, 1, 2

_PATIENCE = Retry(patience_s=5.0)
"""Short, because the user is waiting, and an audit is soon begun again."""

_EPILOG = """\
exit status:
  0  no finding above the thresholds, perhaps notes
  1  findings: errors or warnings
  2  refused: arguments, columns, a verifier or a server that is not there

examples:
  rewarden audit train.jsonl --use math
  rewarden audit train.parquet --use recipe.yaml --column reference=reward_model.ground_truth --report audit.html
  rewarden audit train.jsonl --routing routing.toml --rows 500 --json
  rewarden audit train.jsonl --use judge --rows 20 --responses rollouts.jsonl --target http://localhost:8080
"""

_HELP = {
    "paid": "an attack is a finding if more of the rows pass it",
    "mean": "an attack is a finding if its mean score is higher",
    "guess": "a constant answer is a finding if its mean score is higher",
    "control": "a finding if fewer references pass as an answer",
    "unscored": "a finding if a larger share of samples has no score",
    "bias": "a finding if text around right answers makes a larger share fail",
    "agreement": "a finding if the second verifier agrees on a smaller share",
    "mixed": "a finding if a smaller share of groups is mixed",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    add(
        "input",
        type=Path,
        nargs="+",
        metavar="ROWS",
        help="prompts with references, and perhaps responses: files and directories as for rescore",
    )
    add_uses(add, "the verifier that will judge, as for rescore (repeatable)")
    add_columns(add)
    add("--right", metavar="COLUMN", help="a column of right responses, for references that are not answers (tests)")
    add("--responses", type=Path, nargs="+", metavar="FILE", help="responses of a model, in files as for rescore")
    add("--second", metavar="USE", help="a second verifier to compare with (- for none; default: known for some)")
    add("--rows", type=positive, default=200, metavar="N", help="rows (or groups of them) to draw (default: 200)")
    add("--seed", default="1", help="draw other rows and attacks by another seed (default: 1)")
    add("--json", action="store_true", help="print JSON")
    add("--report", type=Path, metavar="HTML", help="write an HTML page of the audit")
    add("--force", action="store_true", help="replace a file at --report that is not a report")
    add("-q", "--quiet", action="store_true", help="print no columns and no progress")

    group = parser.add_argument_group("thresholds (shares, and scores from 0 to 1)")
    for item in fields(Thresholds):
        group.add_argument(
            f"--limit-{item.name}",
            type=share,
            default=item.default,
            metavar="X",
            help=f"{_HELP[item.name]} (default: {item.default:g})",
        )

    group = parser.add_argument_group("where to judge")
    add = group.add_argument
    add("--target", default=LOCAL, metavar="URL", help="http://… or grpc://HOST:PORT (default: in this process)")
    add("--api-key", metavar="KEY", help="the API key (default: REWARDEN_API_KEY)")
    add("--ca", metavar="FILE", help=CA_HELP)
    add("--max-line-mb", type=positive, default=64, metavar="MB", help="the longest line that is read (default: 64)")
    add("--config", type=Path, metavar="FILE", help="the engine's configuration file (default: ./rewarden.toml)")


def run(args: argparse.Namespace) -> int:
    """Returns the exit status that `--help` describes."""
    limits = Thresholds(**{item.name: getattr(args, f"limit_{item.name}") for item in fields(Thresholds)})
    try:
        if args.report is not None:
            check_output(args.report, force=args.force)
        found = asyncio.run(_audit(args))
        checks = findings(found, limits)
        if args.report is not None:
            write_page(found, checks, ", ".join(path.name for path in args.input), args.report)
    except (RewardenError, OSError) as error:
        say(f"rewarden audit: {error}", file=sys.stderr)
        return REFUSED
    if args.json:
        told = {"findings": [one.to_json() for one in checks], **found.to_json()}
        say(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        say(table(found, checks))
    return FOUND if any(one.level in ("error", "warning") for one in checks) else SOUND


async def _audit(args: argparse.Namespace) -> Audit:
    given = columns_of(args)
    if not args.use and args.routing is None and "use" not in given:
        raise RescoreError("no verifier: give --use NAME, --use recipe.yaml, --routing FILE, or --column use=COLUMN")
    routing = routing_of(args)
    second = None if args.second in (None, "-") else read_use(args.second)
    inputs = find_inputs(args.input)
    columns = _columns(args, inputs, given, routing, responses=args.responses is None)
    if not columns.has_reference:
        raise RescoreError(
            "no column contains the expected answer; name it with --column reference=COLUMN. The columns are: "
            f"{', '.join(columns.seen) or 'none'}"
        )
    uses = [*(route.use for route in routing.routes), *([] if second is None else [second])]
    progress = watcher(quiet=args.quiet)
    async with AsyncClient(args.target, retry=_PATIENCE, **_client(args, uses)) as client:
        judges = await find_judges(routing, client, None if routing.flag else ())
        group = next((judge.name for judge in judges if judge.group), None)
        if group is not None and routing.flag is not None:
            raise RescoreError(f"{group!r} judges the members of a group against each other; audit the verifier in it")
        drawn = _draw(args, inputs, columns, routing)
        if args.right is not None and drawn.rows and all(row.right is None for row in drawn.rows):
            raise RescoreError(f"--right {args.right}: no row has text there{near(args.right, columns.seen)}")
        others = None
        if args.responses is not None:
            more = find_inputs(args.responses)
            rollouts = choose(given, peek(more, given, args.max_line_mb), routing.metadata)
            others = _draw(args, more, rollouts, routing)
            if not any(row.responses for row in others.rows):
                raise RescoreError(f"--responses {args.responses[0]}: no row has a response that can be judged")
        if not args.json and not args.quiet:
            for line in (*columns.describe(), f"about {expected(drawn, others):,} verdicts"):
                say(line, file=sys.stderr)
        try:
            asking = Asking(client, progress, expected(drawn, others))
            return await audit(drawn, asking, seed=args.seed, second=second, usual=args.second != "-", others=others)
        finally:
            progress.end()


def _columns(
    args: argparse.Namespace, inputs: Inputs, given: dict[str, str], routing: Routing, *, responses: bool
) -> Columns:
    """The columns; responses: use those of a model if there are some. Raises RescoreError."""
    rows = peek(inputs, given, args.max_line_mb)
    if responses:
        try:
            return choose(given, rows, routing.metadata)
        except RescoreError:
            if {"response", "messages"} & given.keys():
                raise
    return choose(given, rows, routing.metadata, responses=False)


def _draw(args: argparse.Namespace, inputs: Inputs, columns: Columns, routing: Routing) -> Drawn:
    return draw(inputs, columns, routing, args.rows, args.seed, args.max_line_mb * 1024**2, args.right)


def _client(args: argparse.Namespace, uses: Sequence[Use]) -> dict[str, Any]:
    """The options of the client. Raises RewardenError."""
    options = authority_options(args.target, args.ca)
    functions = functions_of(uses)
    if args.target == LOCAL:
        return {**options, "config": load_config(args.config, environ=os.environ), "functions": functions}
    if functions:
        raise RescoreError(f"--use {functions[0]}: {ONLY_HERE}")
    return {**options, "api_key": args.api_key or os.environ.get("REWARDEN_API_KEY") or None}
