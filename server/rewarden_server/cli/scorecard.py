"""`rewarden scorecard`: measures verifiers on labelled files, with confusion matrices and intervals."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from rewarden.commands.terminal import add_examples, say
from rewarden.commands.use import functions_of, read_use
from rewarden.errors import InvalidRequest, SampleError
from rewarden.types import Use
from rewarden_server.cli.columns import add_columns, columns_of
from rewarden_server.config import ConfigError
from rewarden_server.configured import configured_engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.studies.case_batch import CaseResult, judged
from rewarden_server.studies.farm.figures import Figures, read_figures
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.progress import Watcher, watcher
from rewarden_server.studies.scorecard.cards import Card, load_rows, score
from rewarden_server.studies.scorecard.outside import (
    BESIDE,
    LABELS,
    LabelledRow,
    Measured,
    keep,
    measure,
    read_labelled,
    read_outside,
)
from rewarden_server.studies.scorecard.render import (
    misses,
    outside_misses,
    outside_plain,
    outside_table,
    page,
    plain,
    table,
)
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.registry import Registry

HELP = "measure how often each verifier is right on labelled rollouts"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("names", nargs="*", help="the verifiers to measure (default: every file in the folder)")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("tests/scorecard"),
        help="the folder of NAME.jsonl files (default: tests/scorecard)",
    )
    parser.add_argument("--by-kind", action="store_true", help="also print a line for each kind of answer")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write a Markdown page with confusion matrices")
    parser.add_argument(
        "--data",
        type=Path,
        nargs="+",
        metavar="DATA",
        help="measure on labelled files or folders instead: JSON lines (plain, gzip, zstd) or Parquet, whose rows have "
        "a response, a reference, a label and optionally `options`",
    )
    parser.add_argument("--use", metavar="USE", help="with --data: the verifier, as for rescore (default: answer)")
    parser.add_argument("--params", metavar="JSON", help="with --data: parameters of --use")
    parser.add_argument(
        "--label", metavar="COLUMN", help=f"with --data: the column of labels (default: {', '.join(LABELS)})"
    )
    parser.add_argument(
        "--by",
        default="kind",
        metavar="COLUMN",
        help="with --data: count by this column (default: kind)",
    )
    add_columns(parser.add_argument, when="with --data: ")
    parser.add_argument(
        "--alone",
        action="store_true",
        help="with --data: do not compare with Math-Verify, which is otherwise measured too if installed",
    )
    parser.add_argument(
        "--source",
        metavar="TEXT",
        help="with --data: save the figures to --outside for the page, with this text as their source",
    )
    parser.add_argument(
        "--outside",
        type=Path,
        default=Path("benchmarks/outside.json"),
        metavar="FILE",
        help="figures on outside data sets for the page (default: benchmarks/outside.json)",
    )
    parser.add_argument(
        "--farm",
        type=Path,
        default=Path("benchmarks/farm.json"),
        help="figures of farmability for the page (default: benchmarks/farm.json)",
    )
    parser.add_argument("--misses", action="store_true", help="list every row whose verdict differs from its label")
    parser.add_argument("--cases", action="store_true", help="run the verifiers' own cases instead")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print neither progress nor, with --cases, the count of passed cases"
    )
    add_examples(
        parser,
        "rewarden scorecard --data labelled.jsonl --use math --misses",
        "rewarden scorecard math choice --by-kind",
        "rewarden scorecard --cases math",
    )


def run(args: argparse.Namespace) -> int:
    """Returns 0 on success, 1 if a case failed, and 2 if a labelled file, a case or a setting is missing or wrong."""
    try:
        return _run(args)
    except ConfigError as error:
        say(f"rewarden scorecard: {error}", file=sys.stderr)
        return 2


def _run(args: argparse.Namespace) -> int:
    if args.cases:
        return asyncio.run(_cases(args))
    if args.data is not None:
        return _data(args)
    names = args.names or sorted(path.stem for path in args.folder.glob("*.jsonl"))
    missing = [name for name in names if not (args.folder / f"{name}.jsonl").exists()]
    if missing or not names:
        say(
            f"rewarden scorecard: no labelled file for {', '.join(missing) or 'any verifier'} in {args.folder}: "
            "run this in a clone of Rewarden, give --folder, or measure your own rows with --data FILE",
            file=sys.stderr,
        )
        return 2
    cards = asyncio.run(_cards(args.folder, names, watcher(quiet=args.quiet)))
    if args.json:
        say(json.dumps([plain(card) for card in cards], indent=1))
        return 0
    if args.page is not None:
        farmed = read_figures(args.farm) if args.farm.exists() else Figures({})
        outside = read_outside(args.outside) if args.outside.exists() else {}
        args.page.write_text(page(cards, farmed, outside), encoding="utf-8")
    say(table(cards, by_kind=args.by_kind))
    if args.misses:
        say(misses(cards))
    return 0


def _data(args: argparse.Namespace) -> int:
    """Measures on labelled data. Raises RequestError."""
    try:
        use = read_use(args.use or "answer", args.params)
        columns = columns_of(args)
        rows = read_labelled(args.data, columns, label=args.label, by=args.by)
        measured = asyncio.run(_measured(use, rows, watcher(quiet=args.quiet), alone=args.alone))
    except RescoreError as error:
        say(f"rewarden scorecard: {error.message}", file=sys.stderr)
        return 2
    if args.source is not None:
        keep(args.outside, " ".join(path.name for path in args.data), args.source, measured)
    if args.json:
        say(json.dumps([outside_plain(one) for one in measured], indent=1, ensure_ascii=False))
        return 0
    say(outside_table(measured))
    if args.misses:
        say(outside_misses(measured[0]))
    return 0


async def _measured(use: Use, rows: Sequence[LabelledRow], progress: Watcher, *, alone: bool) -> list[Measured]:
    engine = configured_engine(Registry(functions_of([use])), EngineSettings())
    await engine.start()
    try:
        uses = [use, Use(name=BESIDE)]
        if alone or use.name == BESIDE or find_spec(BESIDE) is None:
            uses = [use]
        advance = _counter(progress, len(uses) * len(rows))
        return [await measure(engine, one, rows, advance) for one in uses]
    except SampleError as error:
        raise RescoreError(error.message) from None
    finally:
        progress.end()
        await engine.close()


async def _cases(args: argparse.Namespace) -> int:
    names = args.names
    engine = configured_engine(settings=EngineSettings())
    await engine.start()
    try:
        specs = [engine.registry.get(name) for name in names or engine.registry.names()]
        found = {spec.name: load_cases(spec) for spec in specs}
        if lacking := [f"{name} ({name}.cases.jsonl, next to it)" for name in names if not found[name]]:
            raise InvalidRequest(f"there are no cases for {', '.join(lacking)}")
        cases = [case for name in found for case in found[name]]
        results = await judged(engine, cases, "scorecard")
    finally:
        await engine.close()
    failed = [result for result in results if result.differences]
    if args.json:
        told = {"cases": len(results), "failed": [_plain_case(result) for result in failed]}
        say(json.dumps(told, indent=1, ensure_ascii=False))
        return int(bool(failed))
    for result in failed:
        say(f"{result.case.verifier}: {result.case.title}: {'; '.join(result.differences)}")
    if not args.quiet:
        say(f"{len(results) - len(failed)} of {len(results)} cases passed")
    return int(bool(failed))


def _plain_case(result: CaseResult) -> dict[str, object]:
    case = result.case
    return {"verifier": case.verifier, "title": case.title, "differences": result.differences}


async def _cards(folder: Path, names: list[str], progress: Watcher) -> list[Card]:
    rows = {name: load_rows(folder / f"{name}.jsonl") for name in names}
    advance = _counter(progress, sum(map(len, rows.values())))
    engine = configured_engine(settings=EngineSettings())
    await engine.start()
    try:
        return [await score(engine, name, some, advance) for name, some in rows.items()]
    finally:
        progress.end()
        await engine.close()


def _counter(progress: Watcher, total: int) -> Callable[[int], None]:
    """Returns a function that is told of judged rows and shows how many of all rows they are."""
    done = 0

    def advance(rows: int) -> None:
        nonlocal done
        done += rows
        progress.advance(done, done / total)

    progress.advance(0, 0.0)
    return advance
