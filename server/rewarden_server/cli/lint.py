"""`rewarden lint`: shows before a run how references are read, and which of them leave answers without a score."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rewarden.client import AsyncClient
from rewarden.commands.terminal import say
from rewarden.commands.use import functions_of
from rewarden.errors import RequestError
from rewarden_server.cli.columns import add_columns, columns_of
from rewarden_server.cli.numbers import positive
from rewarden_server.cli.uses import add_uses, routing_of
from rewarden_server.config import ConfigError, load_config
from rewarden_server.studies.lint.examination import Examined, Examiner
from rewarden_server.studies.lint.report import lines, summary, to_json
from rewarden_server.studies.rescore.columns import choose
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.progress import watcher
from rewarden_server.studies.rescore.read import find_inputs
from rewarden_server.studies.rescore.run import peek

HELP = "check references before a run: show how the verifiers read them, and what is wrong"

CLEAN, FOUND, REFUSED = 0, 1, 2

_EPILOG = """\
exit status:
  0  no errors, perhaps warnings and notes
  1  a row cannot be read, or its reference cannot be used to judge any answer
  2  refused before any work: arguments, columns, a verifier that reads no references

examples:
  rewarden lint train.jsonl
  rewarden lint train.parquet --use math --column reference=reward_model.ground_truth
  rewarden lint data/ --use 'gsm8k/*=math' --use 'mmlu=choice' --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    add(
        "input",
        type=Path,
        nargs="+",
        metavar="REFS",
        help="JSON lines (plain, gzip, zstd), Parquet, or directories of such files",
    )
    add_uses(
        add,
        "the verifier that will judge, as for rescore (repeatable; default: answer)",
    )
    add_columns(add)
    add("--all", action="store_true", help="also list rows without findings")
    add("--json", action="store_true", help="print JSON, with every row")
    add("-q", "--quiet", action="store_true", help="print only findings and errors: no columns, progress or summary")
    add("--max-line-mb", type=positive, default=64, metavar="MB", help="the longest line that is read (default: 64)")
    add("--config", type=Path, metavar="FILE", help="the engine's configuration file (default: ./rewarden.toml)")


def run(args: argparse.Namespace) -> int:
    """Returns the exit status that `--help` describes."""
    try:
        rows = asyncio.run(_examine(args))
    except (RescoreError, ConfigError, RequestError) as error:
        say(f"rewarden lint: {error.message}", file=sys.stderr)
        return REFUSED
    if args.json:
        say(json.dumps(to_json(rows), indent=1, ensure_ascii=False))
    else:
        for line in (*lines(rows, clean=args.all), *([] if args.quiet else summary(rows))):
            say(line)
    return FOUND if any(one.kind == "error" for row in rows for one in row.findings) else CLEAN


async def _examine(args: argparse.Namespace) -> Sequence[Examined]:
    given = columns_of(args)
    if not args.use and args.routing is None and "use" not in given:
        args.use = ["answer"]
    routing = routing_of(args)
    inputs = find_inputs(args.input)
    columns = choose(given, peek(inputs, given, args.max_line_mb), routing.metadata, responses=False)
    if "reference" not in columns.whole and "reference" not in columns.parts:
        raise RescoreError(
            "no column contains the expected answer; name it with --column reference=COLUMN. The columns are: "
            f"{', '.join(columns.unused) or 'none'}"
        )
    functions = functions_of(route.use for route in routing.routes)
    examiner = Examiner(columns, routing, functions)
    examiner.check()
    if not args.json and not args.quiet:
        for line in columns.describe():
            say(line, file=sys.stderr)
    config = load_config(args.config, environ=os.environ)
    async with AsyncClient("local", config=config, functions=functions) as client:
        return await examiner.examine(inputs, client, args.max_line_mb * 1024**2, watcher(quiet=args.quiet))
