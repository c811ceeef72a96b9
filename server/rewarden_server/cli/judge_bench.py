"""`rewarden judge bench`: measures a judge or a reward model on a published set.

docs/judges-bench.md is its manual.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewarden.commands.terminal import say
from rewarden.commands.use import HELP as USE_HELP
from rewarden.commands.use import read_json, read_use
from rewarden.types import Use
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
from rewarden_server.studies.bench.bench import Bench, bench, use_for
from rewarden_server.studies.bench.bench_set import BenchSet
from rewarden_server.studies.bench.entry import way_of
from rewarden_server.studies.bench.labelled import failing
from rewarden_server.studies.bench.page import write_page
from rewarden_server.studies.bench.read import ReadSet, read_set
from rewarden_server.studies.bench.render import table
from rewarden_server.studies.bench.sets import SETS
from rewarden_server.studies.calibration.attacks import ATTACKS
from rewarden_server.studies.calibration.judged_responses import CalibrationError
from rewarden_server.studies.report.page import check_output

_EPILOG = """\
examples:
  rewarden judge bench rewardbench2 --judge main test.parquet
  rewarden judge bench judgebench --judge main data/ --attacks --out judgebench.html
  rewarden judge bench rewardbench --use rm_scalar --params '{"model": "main"}' filtered.parquet
  rewarden judge bench processbench --use rm_process gsm8k.json math.json

exit status:
  0  measured
  1  the server, the judge or the disk failed
  2  refused before any request: arguments, a row that is not the set's, a judge that is not configured
  3  no row was scored
"""


def configure(commands: Any) -> None:
    """Adds the command."""
    one = commands.add_parser(
        "bench",
        help="measure a judge or reward model on a published set",
        description="Judge the rows of a published set, and report the figures that the set defines.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = one.add_argument
    add("set", choices=list(SETS), metavar="SET", help=f"the set: {', '.join(SETS)}")
    add(
        "files",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="its files or folders, as published: JSON lines, JSON, Parquet",
    )
    add("--use", metavar="USE", help=f"the verifier to measure: {USE_HELP} (default: the one that fits the set)")
    add_judge(one)
    add("--limit", type=positive, metavar="N", help="use N rows, sampled at random")

    group = one.add_argument_group("measurements")
    group.add_argument(
        "--attacks",
        action="store_true",
        help=f"also measure how many wrong responses pass in each of {len(ATTACKS)} misleading forms",
    )
    group.add_argument(
        "--attacked", type=positive, default=40, metavar="N", help="how many wrong responses to attack (default: 40)"
    )
    add_output(group)
    add_target(one)


def run(args: argparse.Namespace) -> int:
    """Returns the exit status that `--help` describes."""
    return guarded(lambda: _run(args))


def _run(args: argparse.Namespace) -> int:
    chosen = SETS[args.set]
    use = with_judge(use_for(chosen, _given(chosen, args)), args)
    if args.out is not None:
        check_output(args.out, force=args.force)
    read = read_set(chosen, args.files, limit=args.limit, seed=args.seed)
    tell = teller(args)
    way = way_of(use)
    asked = sum(len(entry.samples(way)) for entry in read.entries)
    attacked = min(args.attacked, len(failing(read.entries, way, args.seed))) if args.attacks else 0
    _plan(chosen, read, asked + attacked * (len(ATTACKS) + 1), tell)

    async def measure() -> Bench:
        async with asker(args, use, asked + attacked * (len(ATTACKS) + 1)) as somebody:
            return await bench(somebody, chosen, read, attacked=attacked, seed=args.seed)

    found = asyncio.run(measure())
    if not found.scored and all(fault == "caller" for _, fault, _ in found.unscored):
        return fail(found.problem or "no row could be judged", REFUSED)
    say(json.dumps(found.to_json(), indent=1, ensure_ascii=False) if args.json else table(found))
    if not found.scored:
        return fail("no row was scored", NOTHING_SCORED)
    output = args.out
    return DONE if output is None else written(lambda: write_page(found, output), output, tell)


def _given(chosen: BenchSet[Any], args: argparse.Namespace) -> Use:
    if args.use is not None:
        return read_use(args.use, args.params)
    if args.params is None:
        return chosen.use
    more = read_json("--params", args.params)
    if not isinstance(more, dict):
        raise CalibrationError("--params must be an object in JSON")
    return replace(chosen.use, params={**chosen.use.params, **more})


def _plan(chosen: BenchSet[Any], read: ReadSet, most: int, tell: Callable[[str], None]) -> None:
    repeated = f", {read.repeated:,} that come twice left out" if read.repeated else ""
    tell(f"{len(read.entries):,} of {read.total:,} rows of {chosen.title}{repeated}")
    tell(f"up to {most:,} verdicts to request")
