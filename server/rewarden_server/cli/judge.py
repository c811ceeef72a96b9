"""`rewarden judge calibrate`: measures on labelled responses how far a judge can be trusted.

docs/judges-calibration.md is its manual.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rewarden.client import AsyncClient
from rewarden.commands.connection import authority_options
from rewarden.commands.terminal import add_examples, say
from rewarden.commands.use import HELP as USE_HELP
from rewarden.commands.use import read_use
from rewarden.errors import RequestError, RewardenError
from rewarden.transports.authority import CA_HELP
from rewarden.types import Use
from rewarden_server.cli.numbers import positive
from rewarden_server.config import ConfigError, load_config
from rewarden_server.studies.calibration.attacks import ATTACKS
from rewarden_server.studies.calibration.calibration import Calibration, Wanted, calibrate
from rewarden_server.studies.calibration.judged_responses import Asker, CalibrationError, is_grouped, with_params
from rewarden_server.studies.calibration.labels import Scale
from rewarden_server.studies.calibration.page import write_page
from rewarden_server.studies.calibration.render import table
from rewarden_server.studies.calibration.rows import Labels, Read, read_rows
from rewarden_server.studies.report.page import check_output
from rewarden_server.studies.rescore.columns import read_columns_file
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.progress import watcher
from rewarden_server.studies.rescore.target import LOCAL

HELP = "measure how far a judge can be trusted: agreement with labels, biases, attacks"

DONE, FAILED, REFUSED, NOTHING_SCORED = 0, 1, 2, 3

_EPILOG = """\
examples:
  rewarden judge calibrate labelled.jsonl
  rewarden judge calibrate labelled.jsonl --judge main --samples 3 --precision 0.98 --out report.html
  rewarden judge calibrate ratings.parquet --label stars --scale 1,5 --right 4 --use recipe.yaml
  rewarden judge calibrate pairs.jsonl --use pairwise

exit status:
  0  calibrated
  1  the server, the judge or the disk failed
  2  refused before any request: arguments, columns, labels
  3  no response was scored
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    add_examples(parser, "rewarden judge calibrate labelled.jsonl")
    commands = parser.add_subparsers(dest="what", required=True, metavar="COMMAND")
    one = commands.add_parser(
        "calibrate",
        help="compare verdicts with people's labels",
        description="Judge responses that people have labelled, and measure how far the verdicts can be trusted.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = one.add_argument
    add("file", type=Path, metavar="FILE", help="labelled responses: JSON lines (plain, gzip, zstd) or Parquet")
    add("--use", default="judge", metavar="USE", help=f"the verifier to calibrate: {USE_HELP} (default: judge)")
    add("--params", metavar="JSON", help="parameters of --use, as an object")
    add("--judge", metavar="NAME", help="the configured judge to call (params.judge)")
    add("--samples", type=positive, metavar="K", help="the number of opinions per response (params.samples)")

    group = one.add_argument_group("labels")
    add = group.add_argument
    add(
        "--label",
        default="label",
        metavar="COLUMN",
        help="the column of labels: right or wrong, true or false, or a number (default: label)",
    )
    add(
        "--scale",
        type=_scale,
        default=(0.0, 1.0),
        metavar="LOW,HIGH",
        help="the range of numeric labels (default: 0,1)",
    )
    add(
        "--right",
        type=float,
        metavar="X",
        help="the lowest label of a right response (default: the middle of the scale)",
    )
    add(
        "--preferred",
        default="preferred",
        metavar="COLUMN",
        help="for pairs: the column that says response, rival or tie (default: preferred)",
    )
    add(
        "--rival",
        default="rival",
        metavar="COLUMN",
        help="for pairs: the column of the other response (default: rival)",
    )
    add("--columns", type=Path, metavar="FILE", help="a file of columns, as for rescore; the rest is guessed")
    add("--limit", type=positive, metavar="N", help="use N of the labelled responses, drawn at random")

    group = one.add_argument_group("measurements")
    add = group.add_argument
    add(
        "--precision",
        type=_share,
        default=0.95,
        metavar="P",
        help="the precision that the threshold must reach (default: 0.95)",
    )
    add(
        "--attacks",
        action=argparse.BooleanOptionalAction,
        default=True,
        help=f"measure how many wrong responses pass in each of {len(ATTACKS)} misleading forms (default: yes)",
    )
    add("--attacked", type=positive, default=40, metavar="N", help="how many wrong responses to attack (default: 40)")
    add("--seed", type=int, default=0, metavar="N", help="the seed for random draws (default: 0)")
    add("--out", type=Path, metavar="HTML", help="write a page with tables and plots")
    add("--force", action="store_true", help="replace the file at --out even if it is not a report")
    add("--json", action="store_true", help="print JSON")
    add("-q", "--quiet", action="store_true", help="print neither plan nor progress")

    group = one.add_argument_group("where to judge")
    add = group.add_argument
    add(
        "--target",
        default=LOCAL,
        metavar="URL",
        help="http://… or grpc://HOST:PORT (default: an engine in this process)",
    )
    add("--api-key", metavar="KEY", help="the API key (default: REWARDEN_API_KEY)")
    add("--ca", metavar="FILE", help=CA_HELP)
    add("--timeout", type=float, metavar="S", help="give up if the server sends nothing for S seconds")
    add("--config", type=Path, metavar="FILE", help="the engine's configuration file (default: ./rewarden.toml)")


def run(args: argparse.Namespace) -> int:
    """Returns the exit status that `--help` describes."""
    try:
        use = _use(args)
        if args.out is not None:
            check_output(args.out, force=args.force)
        read = _read(args)
        tell: Callable[[str], None] = (lambda text: None) if args.quiet else _tell
        most = _plan(args, use, read, tell)
        found = asyncio.run(_calibrate(args, use, read, most))
    except (RescoreError, CalibrationError, ConfigError) as error:
        return _fail(error.message, REFUSED)
    except RequestError as error:
        return _fail(error.message, REFUSED if error.http_status < 429 else FAILED)
    except RewardenError as error:
        return _fail(error.message, REFUSED)
    except OSError as error:
        return _fail(str(error), REFUSED if isinstance(error, FileNotFoundError) else FAILED)
    if not found.scored and all(fault == "caller" for _, fault, _ in found.unscored):
        return _fail(found.problem or "no response could be judged", REFUSED)
    say(json.dumps(found.to_json(), indent=1, ensure_ascii=False) if args.json else table(found))
    if not found.scored:
        return _fail("no response was scored", NOTHING_SCORED)
    if args.out is not None:
        try:
            size = write_page(found, args.file, args.out)
        except OSError as error:
            return _fail(f"the page could not be written: {error}", FAILED)
        tell(f"wrote {args.out} ({size / 1e3:,.0f} kB)")
    return DONE


def _use(args: argparse.Namespace) -> Use:
    given: dict[str, Any] = {"judge": args.judge, "samples": args.samples}
    return with_params(
        read_use(args.use, args.params), {name: value for name, value in given.items() if value is not None}
    )


def _read(args: argparse.Namespace) -> Read:
    low, high = args.scale
    if args.right is not None and not low < args.right <= high:
        raise CalibrationError(f"--right {args.right:g} is outside the scale {low:g} to {high:g}")
    labels = Labels(args.label, args.preferred, args.rival, Scale(low, high, args.right))
    columns = read_columns_file(args.columns) if args.columns is not None else {}
    return read_rows(args.file, labels, columns, limit=args.limit, seed=args.seed)


def _plan(args: argparse.Namespace, use: Use, read: Read, tell: Callable[[str], None]) -> int:
    """Tells what will be done. Returns the number of verdicts that will be requested at most."""
    for line in read.columns.describe():
        tell(line)
    attacks = args.attacks and not is_grouped(use)
    failing = min(args.attacked, sum(row.failing is not None for row in read.rows)) if attacks else 0
    lacking = ((read.unlabelled, "without a label"), (read.ties, "ties"))
    left_out = "".join(f", {count:,} {what} left out" for count, what in lacking if count)
    tell(f"{len(read.rows):,} of {read.total:,} labelled {'pairs' if read.paired else 'responses'}{left_out}")
    if args.attacks and not attacks:
        tell(f"no attacks: {use.name} judges the members of a group against each other")
    most = len(read.rows) + failing * (len(ATTACKS) + read.paired)
    tell(f"up to {most:,} verdicts to request")
    return most


async def _calibrate(args: argparse.Namespace, use: Use, read: Read, most: int) -> Calibration:
    settings = authority_options(args.target, args.ca)
    if args.target == LOCAL:
        # Judges are asked from this process: workers are started when a verifier beside them needs one.
        flags = {"engine.eager": ("calibration", "false")}
        settings["config"] = load_config(args.config, environ=os.environ, flags=flags)
    key = args.api_key or os.environ.get("REWARDEN_API_KEY") or None
    wanted = Wanted(precision=args.precision, attacked=args.attacked if args.attacks else 0, seed=args.seed)
    progress = watcher(quiet=args.quiet)
    try:
        async with AsyncClient(args.target, api_key=key, timeout_s=args.timeout, **settings) as client:
            return await calibrate(Asker(client, use, progress, most), read.rows, wanted, paired=read.paired)
    finally:
        progress.end()


def _tell(text: str) -> None:
    say(text, file=sys.stderr)


def _fail(text: str, status: int) -> int:
    say(f"rewarden judge: {text}", file=sys.stderr)
    return status


def _share(text: str) -> float:
    number = float(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError("must be between 0 and 1")
    return number


def _scale(text: str) -> tuple[float, float]:
    low, comma, high = text.partition(",")
    ends = (float(low), float(high)) if comma else (0.0, float(low))
    if not -1e12 < ends[0] < ends[1] < 1e12:
        raise argparse.ArgumentTypeError("must be two numbers, the lower one first, such as 1,5")
    return ends
