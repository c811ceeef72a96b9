"""`rewarden scorecard`: confusion matrices with intervals on labelled files."""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path

from rewarden.commands.terminal import say
from rewarden.errors import InvalidRequest
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.studies.case_batch import judged
from rewarden_server.studies.farm.figures import Figures, read_figures
from rewarden_server.studies.scorecard.cards import Card, load_rows, score
from rewarden_server.studies.scorecard.render import misses, page, plain, table
from rewarden_verifiers.cases import load_cases

HELP = "how often each verifier is right on labelled rollouts"


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("names", nargs="*", help="verifiers; default: every file of the folder")
    parser.add_argument("--folder", type=Path, default=Path("tests/scorecard"), help="where NAME.jsonl lie")
    parser.add_argument("--by-kind", action="store_true", help="a line for each kind of answer as well")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write a page in Markdown, with confusion matrices")
    parser.add_argument(
        "--farm", type=Path, default=Path("benchmarks/farm.json"), help="figures of farmability that the page shows"
    )
    parser.add_argument("--misses", action="store_true", help="list every row that was judged otherwise than labelled")
    parser.add_argument("--cases", action="store_true", help="run the cases beside the verifiers instead")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Exit status 0; 1 when a case went otherwise than expected; 2 when there is no labelled file, or no case."""
    if args.cases:
        return asyncio.run(_cases(args.names))
    names = args.names or sorted(path.stem for path in args.folder.glob("*.jsonl"))
    missing = [name for name in names if not (args.folder / f"{name}.jsonl").exists()]
    if missing or not names:
        say(f"no labelled file for {', '.join(missing) or 'anything'} in {args.folder}")
        return 2
    cards = asyncio.run(_cards(args.folder, names))
    if args.json:
        say(json.dumps([plain(card) for card in cards], indent=1))
        return 0
    if args.page is not None:
        farmed = read_figures(args.farm) if args.farm.exists() else Figures({})
        args.page.write_text(page(cards, farmed), encoding="utf-8")
    say(table(cards, by_kind=args.by_kind))
    if args.misses:
        say(misses(cards))
    return 0


async def _cases(names: list[str]) -> int:
    engine = Engine(settings=EngineSettings())
    await engine.start()
    try:
        specs = [engine.registry.get(name) for name in names or engine.registry.names()]
        found = {spec.name: load_cases(spec) for spec in specs}
        if lacking := [f"{name} ({name}.cases.jsonl, beside it)" for name in names if not found[name]]:
            raise InvalidRequest(f"there are no cases for {', '.join(lacking)}")
        cases = [case for name in found for case in found[name]]
        results = await judged(engine, cases, "scorecard")
    finally:
        await engine.close()
    failed = [result for result in results if result.differences]
    for result in failed:
        say(f"{result.case.verifier}: {result.case.title}: {'; '.join(result.differences)}")
    say(f"{len(results) - len(failed)} of {len(results)} cases went as expected")
    return int(bool(failed))


async def _cards(folder: Path, names: list[str]) -> list[Card]:
    engine = Engine(settings=EngineSettings())
    await engine.start()
    try:
        return [await score(engine, name, load_rows(folder / f"{name}.jsonl")) for name in names]
    finally:
        await engine.close()
