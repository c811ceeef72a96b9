"""`rewarden view`: opens rollouts and their verdicts as a page in the browser."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from rewarden.client import AsyncClient
from rewarden.commands.terminal import add_examples, say
from rewarden.commands.use import functions_of
from rewarden.errors import RequestError
from rewarden_server.cli.columns import add_baseline, add_columns, columns_of
from rewarden_server.cli.numbers import positive
from rewarden_server.cli.uses import add_uses, routing_of
from rewarden_server.config import ConfigError, load_config
from rewarden_server.studies.report.page import check_output, make_report
from rewarden_server.studies.report.rows import ReportOptions
from rewarden_server.studies.report.sources import as_rows
from rewarden_server.studies.rescore.options import THEIRS_STAYS, RescoreError, RescoreOptions
from rewarden_server.studies.rescore.progress import watcher
from rewarden_server.studies.rescore.run import rescore

HELP = "open rollouts and their verdicts in the browser: rescored files, records, Inspect logs"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    add = parser.add_argument
    add(
        "input",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="JSON lines (plain, gzip, zstd), Parquet, Arrow, CSV, a list in JSON, records of the server, logs of "
        "Inspect (.eval, .json), directories of such files, or hf:OWNER/NAME",
    )
    add("-o", "--out", type=Path, metavar="HTML", help="write the page to this file (default: a temporary file)")
    add("--no-open", action="store_true", help="print the page's address and do not open the browser")
    add("--force", action="store_true", help="replace a file that is not a report")
    add_uses(
        add,
        "judge rows that have no verdict: a name, a recipe's .yaml, JSON, or FILE.py:FUNCTION; with PATTERN=, "
        "only for data sources that match (repeatable)",
    )
    add_columns(add)
    add_baseline(add)
    add("--verdict-column", default="verdict", metavar="NAME", help="the column of verdicts (default: verdict)")
    add("--rows", type=positive, metavar="N", help="the most responses on the page (default: 20000)")
    add("--chars", type=positive, metavar="N", help="the most characters per response on the page (default: 4000)")
    add("-q", "--quiet", action="store_true", help="print no progress")
    add_examples(
        parser,
        "rewarden view scored.jsonl",
        "rewarden view records/ --out records.html --no-open",
        "rewarden view logs/2026-01-01_math.eval",
        "rewarden view rollouts.jsonl --use math",
    )


def run(args: argparse.Namespace) -> int:
    """Returns 0 if the page was written, 1 if the disk failed, and 2 if the input cannot be shown."""
    try:
        if args.out is not None:
            check_output(args.out, force=args.force)
        with tempfile.TemporaryDirectory(prefix="rewarden-view-") as folder:
            files = as_rows(args.input, Path(folder, "rows"))
            if args.use or args.routing is not None:
                files = [_judged(args, files, Path(folder, "judged"))]
            output = args.out or _temporary()
            _write(args, files, output)
    except (RescoreError, ConfigError, RequestError) as error:
        say(f"rewarden view: {error.message}", file=sys.stderr)
        return 2
    except OSError as error:
        say(f"rewarden view: {error}", file=sys.stderr)
        return 1
    address = output.resolve().as_uri()
    opened = not args.no_open and webbrowser.open(address)
    say(address if not opened else f"opened {address}")
    return 0


def _temporary() -> Path:
    """A file that outlives the command, in a folder for the user's eyes alone: the browser reads it later."""
    return Path(tempfile.mkdtemp(prefix="rewarden-page-"), "report.html")


def _write(args: argparse.Namespace, files: Sequence[Path], output: Path) -> None:
    limits = {"rows": args.rows, "chars": args.chars}
    options = ReportOptions(
        input=files,
        output=output,
        title=", ".join(path.name for path in args.input[:3]) + (" …" if len(args.input) > 3 else ""),
        columns=columns_of(args),
        verdict_column=args.verdict_column,
        baseline=args.baseline,
        baseline_passes=args.baseline_passes,
        unjudged=True,
        **{name: value for name, value in limits.items() if value is not None},
    )
    make_report(options)


def _judged(args: argparse.Namespace, files: Sequence[Path], folder: Path) -> Path:
    """The rows with verdicts on those that had none."""
    options = RescoreOptions(
        input=files[0] if len(files) == 1 else files,
        output=folder if len(files) > 1 else folder.with_suffix(".jsonl"),
        routing=routing_of(args),
        columns=columns_of(args),
        score_column=THEIRS_STAYS,
        verdict_column=args.verdict_column,
        baseline=args.baseline,
        baseline_passes=args.baseline_passes,
        only=frozenset({"missing"}),
        overwrite=True,
    )
    asyncio.run(_judge(options, args))
    return options.output


async def _judge(options: RescoreOptions, args: argparse.Namespace) -> None:
    functions = functions_of(route.use for route in options.routing.routes)
    async with AsyncClient("local", functions=functions, config=load_config(environ=os.environ)) as client:
        await rescore(options, client, watcher(quiet=args.quiet))
