"""`rewarden data check`: runs what a data set stores against its own tests before training (docs/data-check.md)."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

from rewarden.commands.connection import ONLY_HERE
from rewarden.commands.terminal import add_examples, say
from rewarden.commands.use import functions_of
from rewarden.errors import RequestError, near
from rewarden_server.cli.columns import add_columns, columns_of
from rewarden_server.cli.engines import add_engines, check_engine, judging
from rewarden_server.cli.numbers import count, positive, share
from rewarden_server.cli.uses import add_uses, routing_of
from rewarden_server.config import ConfigError
from rewarden_server.studies.data_check.figures import Figures
from rewarden_server.studies.data_check.page import write_page
from rewarden_server.studies.data_check.render import table
from rewarden_server.studies.data_check.row_check import Effort
from rewarden_server.studies.data_check.run import CheckOptions, check_data
from rewarden_server.studies.report.page import check_output
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.progress import Console, Watcher
from rewarden_server.studies.rescore.resuming import is_kept, published
from rewarden_server.studies.rescore.target import LOCAL
from rewarden_verifiers.execution.datasets import DATASETS

HELP = "check a data set before training: stored solutions, mutants and empty programs against each row's tests"

GOOD, FOUND, REFUSED, FAILED, INTERRUPTED = 0, 1, 2, 3, 130

_EPILOG = """\
exit status:
  0    all rows are good, perhaps with warnings and notes
  1    bad rows were found
  2    refused before any work: arguments, columns, an existing output, a run with other settings
  3    stopped by an error (disk, server); with -o, continue with --resume
  130  interrupted; with -o, continue with --resume

examples:
  rewarden data check train.jsonl --use code -o good.jsonl --report check.html
  rewarden data check train.parquet --use code --column reference=reward_model.ground_truth --solutions solution
  rewarden data check apps.jsonl --dataset apps -o good.jsonl
  rewarden data check train.jsonl --use math
  rewarden data check data/ --use 'gsm8k/*=math' --use 'spider=sql' -o good/ --resume
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    add_examples(parser, "rewarden data check train.jsonl --use code -o good.jsonl")
    commands = parser.add_subparsers(dest="what", required=True, metavar="COMMAND")
    one = commands.add_parser(
        "check",
        help="run stored solutions, mutants and empty programs against each row's tests",
        description="Check that each row's solutions pass and that wrong ones fail.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = one.add_argument
    add(
        "input", type=Path, nargs="+", metavar="FILE", help="rows with references: files and directories as for rescore"
    )
    add_uses(add, "the verifier that will judge, as for rescore (repeatable; default: code)")
    add(
        "--dataset",
        metavar="NAME",
        help="instead of --use: rows as this data set publishes them, judged by code (docs/datasets.md)",
    )
    add_columns(add)
    add(
        "--solutions",
        metavar="COLUMN",
        help="the column of stored solutions: a string, a list, or objects with language and code (- for none)",
    )

    group = one.add_argument_group("effort")
    add = group.add_argument
    usual = Effort()
    add("--runs", type=positive, default=usual.runs, metavar="N", help=f"runs of each solution (default: {usual.runs})")
    add(
        "--most-solutions",
        type=positive,
        default=usual.solutions,
        metavar="N",
        help=f"solutions to run per row (default: {usual.solutions})",
    )
    add(
        "--mutants",
        type=count,
        default=usual.mutants,
        metavar="N",
        help=f"mutants to run per row (default: {usual.mutants})",
    )
    add(
        "--max-survivors",
        type=share,
        default=usual.max_survivors,
        metavar="X",
        help=f"tests are weak if a larger share of the mutants passes (default: {usual.max_survivors:g})",
    )

    group = one.add_argument_group("output")
    add = group.add_argument
    add("-o", "--output", type=Path, metavar="GOOD", help="write the good rows, unchanged, to a file or directory")
    add("--report", type=Path, metavar="HTML", help="write an HTML page of the check")
    add("--json", action="store_true", help="print JSON, with every row")
    add("--resume", action="store_true", help="continue an interrupted run (with -o), or start one if there is none")
    add("--force", action="store_true", help="replace an existing output or unfinished run, or a file at --report")
    add("-q", "--quiet", action="store_true", help="print neither plan nor progress")

    group = one.add_argument_group("where to judge")
    add = group.add_argument
    add_engines(add)
    add("--max-line-mb", type=positive, default=64, metavar="MB", help="the longest line that is read (default: 64)")
    add("--workers", metavar="N", help="the number of worker processes, if the engine runs in this process")
    add("--config", type=Path, metavar="FILE", help="the engine's configuration file (default: ./rewarden.toml)")


def run(args: argparse.Namespace) -> int:
    """Returns the exit status that `--help` describes."""
    try:
        if args.report is not None:
            check_output(args.report, force=args.force)
        options = _options(args)
        found = asyncio.run(_check(args, options, Watcher() if args.quiet else Console()))
        if found is not None and args.report is not None:
            uses = ", ".join(dict.fromkeys(row.use for row in found.rows if row.use is not None))
            write_page(found, ", ".join(path.name for path in args.input), uses, args.report)
    except (RescoreError, ConfigError) as error:
        return _say(error.message, REFUSED)
    except RequestError as error:
        return _say(f"{error.message}{_hint(args)}", REFUSED if error.http_status < 429 else FAILED)
    except OSError as error:
        return _say(f"{error}{_hint(args)}", FAILED)
    except (KeyboardInterrupt, asyncio.CancelledError):
        return _say(f"interrupted{_hint(args)}", INTERRUPTED)
    if found is None:
        _say(f"{args.output} is already complete", GOOD)
        return FOUND if (published(args.output) or {}).get("bad") else GOOD
    if args.json:
        told = {**found.to_json(), "checked": [row.to_json() for row in found.rows]}
        say(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        say(table(found))
    return GOOD if found.good == len(found.rows) else FOUND


def _options(args: argparse.Namespace) -> CheckOptions:
    """The options that the arguments give. Raises RescoreError, naming the flag."""
    if args.resume and args.force:
        raise RescoreError("--resume continues a run and --force starts over: give one of them")
    if args.resume and args.output is None:
        raise RescoreError("--resume needs -o GOOD: an interrupted run is kept next to that file")
    check_engine(args)
    columns = columns_of(args)
    if args.dataset is not None:
        _choose_dataset(args)
    if not args.use and args.routing is None and "use" not in columns:
        args.use = ["code"]
    routing = routing_of(args)
    functions = functions_of(route.use for route in routing.routes)
    if functions and (args.target != LOCAL or args.engine == "ray"):
        raise RescoreError(f"--use {functions[0]}: {ONLY_HERE}")
    return CheckOptions(
        paths=args.input,
        output=args.output,
        routing=routing,
        columns=columns,
        solutions=args.solutions,
        effort=Effort(
            runs=args.runs,
            solutions=args.most_solutions,
            mutants=args.mutants,
            max_survivors=args.max_survivors,
        ),
        resume=args.resume,
        force=args.force,
        line_mb=args.max_line_mb,
    )


def _choose_dataset(args: argparse.Namespace) -> None:
    """Sets the use that --dataset stands for. Raises RescoreError."""
    if args.use or args.routing is not None or args.params is not None:
        raise RescoreError(f"--dataset {args.dataset} replaces --use: give one of them, without --params or --routing")
    if args.dataset not in DATASETS:
        raise RescoreError(f"--dataset {args.dataset}: no such data set{near(args.dataset, DATASETS)}")
    args.use, args.params = ["code"], json.dumps({"dataset": args.dataset})


async def _check(args: argparse.Namespace, options: CheckOptions, watcher: Watcher) -> Figures | None:
    uses = [route.use for route in options.routing.routes]
    async with judging(args, uses, watcher) as (client, in_hand):
        # Several engines have more rows in hand than one.
        return await check_data(options.with_window(in_hand), client, watcher)


def _say(text: str, status: int) -> int:
    say(f"rewarden data check: {text}", file=sys.stderr)
    return status


def _hint(args: argparse.Namespace) -> str:
    return "; finished rows are kept: to continue, run the same command with --resume" if is_kept(args.output) else ""
