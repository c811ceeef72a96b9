"""`rewarden judge`: measures how far a judge can be trusted, on labelled responses or on a published set.

docs/judges-calibration.md and docs/judges-bench.md are its manuals.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path

from rewarden.commands.terminal import add_examples, say
from rewarden.commands.use import HELP as USE_HELP
from rewarden.commands.use import read_use
from rewarden.types import Use
from rewarden_server.cli import judge_bench
from rewarden_server.cli.judge_target import (
    DONE,
    NOTHING_SCORED,
    REFUSED,
    add_judge,
    add_output,
    add_target,
    asker,
    fail,
    guarded,
    teller,
    with_judge,
    written,
)
from rewarden_server.cli.numbers import positive
from rewarden_server.studies.bench.entry import way_of
from rewarden_server.studies.bench.labelled import labelled
from rewarden_server.studies.bench.read import read_set
from rewarden_server.studies.bench.sets import SETS
from rewarden_server.studies.calibration.attacks import ATTACKS
from rewarden_server.studies.calibration.calibration import Calibration, Wanted, calibrate
from rewarden_server.studies.calibration.judged_responses import CalibrationError, check_pairs, is_grouped
from rewarden_server.studies.calibration.labels import LabelError, Scale, read_words
from rewarden_server.studies.calibration.page import write_page
from rewarden_server.studies.calibration.render import table
from rewarden_server.studies.calibration.rows import Labels, Read, read_rows
from rewarden_server.studies.report.page import check_output
from rewarden_server.studies.rescore.columns import read_columns_file

HELP = "measure how reliable a judge is: agreement with labels, biases, attacks, published sets"

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
    judge_bench.configure(commands)
    one = commands.add_parser(
        "calibrate",
        help="compare verdicts with people's labels",
        description="Judge labelled responses, and measure how reliable the verdicts are.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = one.add_argument
    add("file", type=Path, metavar="FILE", help="labelled responses: JSON lines (plain, gzip, zstd) or Parquet")
    add("--use", default="judge", metavar="USE", help=f"the verifier to calibrate: {USE_HELP} (default: judge)")
    add_judge(one)

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
    add(
        "--words",
        type=_words,
        default={},
        metavar="WORD=MEANING,…",
        help="labels in your own words, such as gut=right,schlecht=wrong; for pairs: response, rival or tie",
    )
    add(
        "--set",
        choices=list(SETS),
        metavar="SET",
        help=f"instead of labels and columns: rows as a published set has them ({', '.join(SETS)})",
    )
    add("--columns", type=Path, metavar="FILE", help="a file of columns, as for rescore; the rest is guessed")
    add("--limit", type=positive, metavar="N", help="use N of the labelled responses, sampled at random")

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
    add_output(group)
    add_target(one)


def run(args: argparse.Namespace) -> int:
    """Returns the exit status that `--help` describes."""
    return judge_bench.run(args) if args.what == "bench" else guarded(lambda: _run(args))


def _run(args: argparse.Namespace) -> int:
    use = with_judge(read_use(args.use, args.params), args)
    if args.out is not None:
        check_output(args.out, force=args.force)
    read = _read(args, use)
    tell = teller(args)
    most = _plan(args, use, read, tell)
    found = asyncio.run(_calibrate(args, use, read, most))
    if not found.scored and all(fault == "caller" for _, fault, _ in found.unscored):
        return fail(found.problem or "no response could be judged", REFUSED)
    say(json.dumps(found.to_json(), indent=1, ensure_ascii=False) if args.json else table(found))
    if not found.scored:
        return fail("no response was scored", NOTHING_SCORED)
    output = args.out
    return DONE if output is None else written(lambda: write_page(found, args.file, output), output, tell)


def _read(args: argparse.Namespace, use: Use) -> Read:
    low, high = args.scale
    if args.right is not None and not low < args.right <= high:
        raise CalibrationError(f"--right {args.right:g} is outside the scale {low:g} to {high:g}")
    if args.set is not None:
        return _read_set(args, use)
    labels = Labels(args.label, args.preferred, args.rival, Scale(low, high, args.right), args.words)
    columns = read_columns_file(args.columns) if args.columns is not None else {}
    return read_rows(args.file, labels, columns, limit=args.limit, seed=args.seed)


def _read_set(args: argparse.Namespace, use: Use) -> Read:
    way = way_of(use)
    entries = read_set(SETS[args.set], [args.file]).entries
    rows = labelled(entries, way, args.seed)
    if not rows:
        raise CalibrationError(
            f"{SETS[args.set].title} has no row that says right or wrong to {use.name or 'a recipe'}"
        )
    total = len(rows)
    if args.limit is not None and total > args.limit:
        rows = [rows[place] for place in sorted(random.Random(args.seed).sample(range(total), args.limit))]
    return Read(rows, None, total, 0, 0, way.kind == "comparison")


def _plan(args: argparse.Namespace, use: Use, read: Read, tell: Callable[[str], None]) -> int:
    """Tells what will be done. Returns the number of verdicts that will be requested at most."""
    for line in read.columns.describe() if read.columns is not None else ():
        tell(line)
    if read.paired and (note := check_pairs(use)):
        tell(note)
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
    wanted = Wanted(precision=args.precision, attacked=args.attacked if args.attacks else 0, seed=args.seed)
    async with asker(args, use, most) as somebody:
        return await calibrate(somebody, read.rows, wanted, paired=read.paired)


def _share(text: str) -> float:
    number = float(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError("must be between 0 and 1")
    return number


def _words(text: str) -> dict[str, str]:
    try:
        return read_words(text)
    except LabelError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _scale(text: str) -> tuple[float, float]:
    low, comma, high = text.partition(",")
    ends = (float(low), float(high)) if comma else (0.0, float(low))
    if not -1e12 < ends[0] < ends[1] < 1e12:
        raise argparse.ArgumentTypeError("must be two numbers, the lower one first, such as 1,5")
    return ends
