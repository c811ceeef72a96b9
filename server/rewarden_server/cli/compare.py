"""`rewarden compare`: compares two scored files, or two verifiers on one file of rollouts."""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO

from rewarden.client import AsyncClient
from rewarden.commands.terminal import say
from rewarden.commands.use import functions_of
from rewarden.errors import RewardenError
from rewarden_server.cli.numbers import positive
from rewarden_server.cli.uses import read_uses
from rewarden_server.studies.comparison.comparison import Comparison
from rewarden_server.studies.comparison.page import Keeper, write_page
from rewarden_server.studies.comparison.pairing import Pair, pairs
from rewarden_server.studies.comparison.render import difference, table
from rewarden_server.studies.report.page import check_output
from rewarden_server.studies.rescore.columns import read_columns_file
from rewarden_server.studies.rescore.options import RescoreOptions
from rewarden_server.studies.rescore.progress import Watcher, watcher
from rewarden_server.studies.rescore.run import rescore

HELP = "compare two scored files, or two verifiers on the same rollouts"

_EPILOG = """\
examples:
  rewarden compare before.jsonl after.jsonl
  rewarden compare ours.jsonl theirs.jsonl --column-b reward --key id --threshold 0.5
  rewarden compare math '{"name": "math", "params": {"extraction": "lax"}}' --on rollouts.jsonl -o differ.jsonl
  rewarden compare before.jsonl after.jsonl --report differences.html

exit status: 0 compared; 1 with --check, something differs; 2 the inputs cannot be compared
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    add(
        "a",
        metavar="A",
        help="a scored file or directory; with --on, a verifier: a name, a recipe's .yaml, JSON, or FILE.py:FUNCTION",
    )
    add("b", metavar="B", help="the same, to compare with A")
    add("--on", type=Path, metavar="ROLLOUTS", help="judge these rollouts with A and with B, then compare the verdicts")
    add("--columns", type=Path, metavar="FILE", help="with --on or --report: a file of columns, as for rescore")
    add("--key", metavar="COLUMN", help="match rows by this column instead of by order")
    add("--column-a", metavar="NAME", help="A's column of verdicts or scores (default: verdict, score or reward)")
    add("--column-b", metavar="NAME", help="the same for B")
    add("--by", default="data_source", metavar="COLUMN", help="also count by this column (default: data_source)")
    add(
        "--threshold",
        type=float,
        metavar="X",
        help="scores of at least X pass (default: as the verdicts say, else full marks)",
    )
    add("--show", type=int, default=10, metavar="N", help="print the N responses that differ most (default: 10)")
    add("-o", "--output", type=Path, metavar="FILE", help="write the rows of A that differ, with both verdicts")
    add(
        "--report", type=Path, metavar="HTML", help="write an HTML page of the comparison and the responses that differ"
    )
    add("--report-rows", type=positive, default=2000, metavar="N", help="the most responses in it (default: 2000)")
    add("--force", action="store_true", help="replace a file at --report that is not a report")
    add("--check", action="store_true", help="exit with 1 if anything differs")
    add("--json", action="store_true", help="print JSON")
    add("-q", "--quiet", action="store_true", help="print no progress")


def run(args: argparse.Namespace) -> int:
    """Returns the exit status (see the epilog)."""
    try:
        if args.report is not None:
            check_output(args.report, force=args.force)
        with _files(args) as (a, b):
            progress = watcher(quiet=args.quiet)
            try:
                found, shown = _compared(args, a, b, progress)
            finally:
                progress.end()
    except (RewardenError, OSError) as error:
        say(f"rewarden compare: {error}", file=sys.stderr)
        return 2
    if args.json:
        say(json.dumps(found.to_json(), indent=1, ensure_ascii=False))
    else:
        say(table(found, args.a, args.b))
        if shown:
            say(f"\nthe {len(shown)} of {found.differing:,} that differ most:")
            say("\n".join(difference(pair) for pair in shown))
    return int(args.check and found.differing > 0)


def _compared(args: argparse.Namespace, a: Path, b: Path, progress: Watcher) -> tuple[Comparison, list[Pair]]:
    found = Comparison(threshold=args.threshold, source_column=args.by)
    most: list[tuple[float, int, Pair]] = []  # a heap of the widest gaps, the earliest of equal ones
    page = Keeper(args.report_rows, args.threshold, _columns(args), args.by)
    writing = nullcontext(None) if args.output is None else args.output.open("w", encoding="utf-8")
    with writing as out:
        columns = (args.column_a, args.column_b)
        for number, pair in enumerate(pairs(a, b, key=args.key, columns=columns, advance=progress.advance)):
            if not found.add(pair):
                continue
            if out is not None:
                _write(out, pair)
            gap = _gap(pair)
            if args.report is not None:
                page.add(pair, gap)
            if args.show > 0:
                entry = (gap, -number, pair)
                (heapq.heappush if len(most) < args.show else heapq.heappushpop)(most, entry)
    if args.report is not None:
        write_page(found, page, (args.a, args.b), args.report)
    return found, [pair for _, _, pair in sorted(most, key=lambda entry: entry[:2], reverse=True)]


def _gap(pair: Pair) -> float:
    """Returns the distance between the two scores; infinite where only one of them is scored."""
    a, b = pair.left.score, pair.right.score
    if a is None or b is None:
        return float("inf") if (a is None) != (b is None) else 0.0
    return abs(a - b)


def _write(out: IO[str], pair: Pair) -> None:
    compared = {"row": pair.row, "response": pair.place, "a": pair.left.verdict, "b": pair.right.verdict}
    out.write(json.dumps({**pair.values, "compared": compared}, ensure_ascii=False) + "\n")


@contextmanager
def _files(args: argparse.Namespace) -> Iterator[tuple[Path, Path]]:
    """The two scored files: those given, or what the two verifiers make of the rollouts."""
    if args.on is None:
        yield Path(args.a), Path(args.b)
        return
    columns = _columns(args)
    with tempfile.TemporaryDirectory(prefix="rewarden-compare-") as folder:
        outputs = (Path(folder, "a.jsonl"), Path(folder, "b.jsonl"))
        for text, output in zip((args.a, args.b), outputs, strict=True):
            options = RescoreOptions(
                input=args.on, output=output, routing=read_uses([text]), columns=columns, overwrite=True
            )
            asyncio.run(_judge(options, watcher(quiet=args.quiet)))
        yield outputs


def _columns(args: argparse.Namespace) -> dict[str, str]:
    return read_columns_file(args.columns) if args.columns is not None else {}


async def _judge(options: RescoreOptions, progress: Watcher) -> None:
    functions = functions_of(route.use for route in options.routing.routes)
    async with AsyncClient("local", functions=functions) as client:
        await rescore(options, client, progress)
