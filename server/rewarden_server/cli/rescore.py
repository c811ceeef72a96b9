"""`rewarden rescore`: judges files of rollouts and writes the same rows with verdicts (docs/rescoring.md)."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from rewarden.commands.connection import ONLY_HERE
from rewarden.commands.terminal import say
from rewarden.commands.use import functions_of
from rewarden.errors import RequestError
from rewarden.wire.json import STATUSES, VERDICT_FIELDS
from rewarden_server.cli.columns import add_baseline, add_columns, columns_of
from rewarden_server.cli.engines import add_engines, check_engine, judging
from rewarden_server.cli.numbers import positive, seconds
from rewarden_server.cli.training import add_progress, progress_of
from rewarden_server.cli.uses import add_uses, routing_of
from rewarden_server.config import ConfigError
from rewarden_server.studies.report.page import check_output, make_report
from rewarden_server.studies.report.rows import ReportOptions
from rewarden_server.studies.rescore.options import VERDICT_FIELDS_KEPT, RescoreError, RescoreOptions
from rewarden_server.studies.rescore.progress import Console, Watcher
from rewarden_server.studies.rescore.resuming import is_kept, published
from rewarden_server.studies.rescore.run import rescore
from rewarden_server.studies.rescore.summary import Summary
from rewarden_server.studies.rescore.target import LOCAL

HELP = "judge files of rollouts, as trainers and evaluators write them, and write the same rows with verdicts"

FINISHED, FAILED, REFUSED, NOTHING_SCORED, SET_ASIDE, INTERRUPTED = 0, 1, 2, 3, 4, 130

_EPILOG = """\
exit status:
  0    finished; the summary counts unscored responses
  1    stopped by an error (disk, server), continue with --resume; or the report could not be written
  2    refused before any work: arguments, columns, an existing output, a run with other settings
  3    finished, but no response was scored
  4    finished, but rows were set aside in OUT.rejected.jsonl (0 with --allow-rejected)
  130  interrupted; continue with --resume

examples:
  rewarden rescore rollouts.jsonl --use math -o scored.jsonl
  rewarden rescore runs/ --use 'gsm8k/*=math' --use 'mmlu=choice' -o scored/
  rewarden rescore dumps/ --routing starter -o scored/
  rewarden rescore rollout_data/ --use math -o scored/ --report report.html
  rewarden rescore logs/2026-01-01_math.eval --use math -o scored.jsonl
  rewarden rescore dump.jsonl.gz --use recipe.yaml --column response=output --column reference=gts -o scored.jsonl.zst
  rewarden rescore scored.jsonl --use math --only error,undecided -o scored-2.jsonl
  rewarden rescore train-*.parquet --use math -o scored.parquet --report report.html
  rewarden rescore scored.jsonl --report report.html
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
        metavar="IN",
        help="JSON lines (plain, gzip, zstd), Parquet, Arrow, CSV, a list in JSON, a log of Inspect, directories of "
        "such files, or hf:OWNER/NAME",
    )
    add(
        "-o",
        "--output",
        type=Path,
        metavar="OUT",
        help="a file (compressed if *.gz or *.zst; or *.parquet) or a directory",
    )
    add(
        "--report",
        type=Path,
        metavar="HTML",
        help="write an HTML page of the results; without --use and -o, the results in IN, which must be scored already",
    )
    add_uses(
        add,
        "the verifier: a name, a recipe's .yaml, JSON, or FILE.py:FUNCTION; with PATTERN=, only for data sources "
        "that match (repeatable)",
    )
    add_progress(add)

    group = parser.add_argument_group("columns (if not given, they are guessed, and shown before the run starts)")
    add = group.add_argument
    add_columns(add)
    add_baseline(add)
    add("--group", metavar="COLUMN[,…]", help="short for --column group=…; several columns together identify a group")
    add("--sort", action="store_true", help="first sort rows by group on disk, for group verifiers")
    add("--max-group", type=positive, metavar="N", help="the most rows in one group (default: 100000)")

    group = parser.add_argument_group("output")
    add = group.add_argument
    add(
        "--score-column",
        default="score",
        metavar="NAME",
        help="the column to write scores to (default: score, or scores for several responses a row)",
    )
    add(
        "--verdict-column",
        default="verdict",
        metavar="NAME",
        help="the column to write verdicts to (default: verdict, or verdicts)",
    )
    add(
        "--fields",
        metavar="NAME,…",
        help="the fields of verdicts to write (default: all but times and fields that repeat the sample)",
    )
    add(
        "--unscored",
        default="null",
        metavar="null|skip|NUMBER",
        help="what to write for unscored responses (default: null)",
    )
    add("--overwrite", action="store_true", help="replace input columns that have the names of output columns")
    add("--allow-rejected", action="store_true", help="exit with 0 even if unreadable rows were set aside")
    add("--summary-json", action="store_true", help="print the summary as JSON instead of a table")
    add("--report-rows", type=positive, metavar="N", help="the most responses in the report (default: 20000)")
    add(
        "--report-chars",
        type=positive,
        metavar="N",
        help="the most characters per response in the report (default: 4000)",
    )
    add("-q", "--quiet", action="store_true", help="print neither plan, progress nor the summary's table")

    group = parser.add_argument_group("resuming")
    add = group.add_argument
    add("--resume", action="store_true", help="continue an interrupted run, or start one if there is none")
    add("--force", action="store_true", help="replace an existing output or unfinished run")
    add(
        "--only",
        metavar="STATUS,…",
        help="judge only these verdicts of an earlier output again: error, undecided, scored, missing",
    )
    add("--checkpoint-s", type=seconds, metavar="S", help="seconds between checkpoints (default: 2)")

    group = parser.add_argument_group("where to judge")
    add = group.add_argument
    add_engines(add)
    add("--sort-mb", type=positive, metavar="MB", help="memory for sorting (default: 64)")
    add("--max-line-mb", type=positive, metavar="MB", help="set longer lines aside (default: 64)")
    add("--workers", metavar="N", help="the number of worker processes, if the engine runs in this process")
    add("--config", type=Path, metavar="FILE", help="the engine's configuration file (default: ./rewarden.toml)")


def run(args: argparse.Namespace) -> int:
    """Returns the exit status that `--help` describes."""
    try:
        if args.report is not None:
            check_output(args.report, force=args.force)
        if _only_reports(args):
            return _write_report(args, args.input)
        options = read_options(args)
        watcher = Watcher() if args.quiet else Console()
        summary = asyncio.run(_run(args, options, watcher))
    except (RescoreError, ConfigError) as error:
        return _say(error.message, REFUSED)
    except RequestError as error:
        return _say(f"{error.message}{_hint(args)}", REFUSED if error.http_status < 429 else FAILED)
    except OSError as error:
        return _say(f"{error}{_hint(args)}", FAILED)
    except (KeyboardInterrupt, asyncio.CancelledError):
        return _say(f"interrupted{_hint(args)}", INTERRUPTED)
    status = _finished_before(args, options) if summary is None else _report(args, options, summary)
    if args.report is not None:
        try:
            _write_report(args, [args.output])
        except (RescoreError, OSError) as error:
            return _say(f"the output is complete, but the report could not be written: {error}", status or FAILED)
    return status


def _only_reports(args: argparse.Namespace) -> bool:
    """Returns whether the input is already scored and only a report is wanted."""
    return args.report is not None and args.output is None and not args.use and args.routing is None


def _write_report(args: argparse.Namespace, scored: Sequence[Path]) -> int:
    limits = {"rows": args.report_rows, "chars": args.report_chars, "line_mb": args.max_line_mb}
    options = ReportOptions(
        input=scored,
        output=args.report,
        columns=_columns(args),
        score_column=args.score_column,
        verdict_column=args.verdict_column,
        baseline=args.baseline,
        baseline_passes=args.baseline_passes,
        **{name: value for name, value in limits.items() if value is not None},
    )
    size = make_report(options)
    if not args.quiet:
        say(f"report     {args.report} ({size / 1e6:,.1f} MB)", file=sys.stderr)
    return FINISHED


def read_options(args: argparse.Namespace) -> RescoreOptions:
    """Returns the options that the arguments give. Raises RescoreError, naming the flag."""
    if args.resume and args.force:
        raise RescoreError("--resume continues a run and --force starts over: give one of them")
    check_engine(args)
    if args.output is None:
        raise RescoreError("no output: give -o OUT (--report alone shows rows that are already scored)")
    columns = _columns(args)
    if not args.use and args.routing is None and "use" not in columns:
        raise RescoreError("no verifier: give --use NAME, --use recipe.yaml, --routing FILE, or --column use=COLUMN")
    routing = routing_of(args)
    functions = functions_of(route.use for route in routing.routes)
    if functions and (args.target != LOCAL or args.engine == "ray"):
        raise RescoreError(f"--use {functions[0]}: {ONLY_HERE}")
    limits = {
        "checkpoint_s": args.checkpoint_s,
        "sort_mb": args.sort_mb,
        "line_mb": args.max_line_mb,
        "group_rows": args.max_group,
    }
    return RescoreOptions(
        input=args.input[0] if len(args.input) == 1 else args.input,
        output=args.output,
        routing=routing,
        columns=columns,
        sort=args.sort,
        only=frozenset(_names("--only", args.only, (*STATUSES, "missing"))),
        unscored=_unscored(args.unscored),
        score_column=args.score_column,
        verdict_column=args.verdict_column,
        fields=VERDICT_FIELDS_KEPT if args.fields is None else _names("--fields", args.fields, VERDICT_FIELDS),
        overwrite=args.overwrite,
        baseline=args.baseline,
        baseline_passes=args.baseline_passes,
        resume=args.resume,
        force=args.force,
        progress=progress_of(args),
        **{name: value for name, value in limits.items() if value is not None},
    )


def _columns(args: argparse.Namespace) -> dict[str, str]:
    """Returns the columns that are given, including the column of groups. Raises RescoreError."""
    columns = columns_of(args)
    return columns if args.group is None else {**columns, "group": args.group}


async def _run(args: argparse.Namespace, options: RescoreOptions, watcher: Watcher) -> Summary | None:
    uses = [route.use for route in options.routing.routes]
    async with judging(args, uses, watcher) as (client, in_hand):
        # Several engines hold more rows at once than one.
        rows = max(options.window_rows, 2 * in_hand)
        size = options.window_mb * rows // options.window_rows
        return await rescore(replace(options, window_rows=rows, window_mb=size), client, watcher)


def _report(args: argparse.Namespace, options: RescoreOptions, summary: Summary) -> int:
    if args.summary_json:
        say(json.dumps(summary.to_json(), indent=1, ensure_ascii=False))
    elif not args.quiet:
        say(summary.table())
    rejected = summary.tally.rejected
    status = _tell_rejected(args, options, rejected)
    if summary.all_failed:
        return _say("no response was scored", NOTHING_SCORED)
    if not summary.total.rows and not rejected:
        _say("warning: the input has no rows", FINISHED)
    return status


def _finished_before(args: argparse.Namespace, options: RescoreOptions) -> int:
    """Returns the exit status for an output that was already complete; its run may have set rows aside."""
    _say(f"{args.output} is already complete", FINISHED)
    return _tell_rejected(args, options, int((published(options.output) or {}).get("rejected_lines", 0)))


def _tell_rejected(args: argparse.Namespace, options: RescoreOptions, rejected: int) -> int:
    """Prints how many rows were set aside, and where they are. Returns the exit status."""
    if not rejected:
        return FINISHED
    rows = "1 row was" if rejected == 1 else f"{rejected:,} rows were"
    told = f"{rows} set aside; see {options.output}.rejected.jsonl"
    if args.allow_rejected:
        return _say(f"warning: {told}", FINISHED)
    return _say(f"{told} (--allow-rejected makes this a warning)", SET_ASIDE)


def _say(text: str, status: int) -> int:
    say(f"rewarden rescore: {text}", file=sys.stderr)
    return status


def _hint(args: argparse.Namespace) -> str:
    return "; finished work is kept: to continue, run the same command with --resume" if is_kept(args.output) else ""


def _names(flag: str, text: str | None, known: Sequence[str]) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip()) if text is not None else ()
    for name in names:
        if name not in known:
            raise RescoreError(f"{flag}: unknown value {name!r}; use {', '.join(known)}")
    return names


def _unscored(text: str) -> float | Literal["skip"] | None:
    if text == "null":
        return None
    if text == "skip":
        return "skip"
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise RescoreError(f"--unscored must be null, skip or a number, not {text!r}")
    return number
