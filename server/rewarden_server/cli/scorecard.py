"""`rewarden scorecard`: confusion matrices with intervals on labelled files."""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

from rewarden_server.casebatch import case_batch, judge_cases
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.scorecard import Card, load_rows, score
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.group.statistics import wilson

HELP = "how often each verifier is right on labelled rollouts"


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("names", nargs="*", help="verifiers; default: every file of the folder")
    parser.add_argument("--folder", type=Path, default=Path("tests/scorecard"), help="where NAME.jsonl lie")
    parser.add_argument("--misses", action="store_true", help="list every row that was judged otherwise than labelled")
    parser.add_argument("--cases", action="store_true", help="run the cases beside the verifiers instead")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Exit status 0; 1 when a case went otherwise than expected; 2 when there is no labelled file."""
    if args.cases:
        return asyncio.run(_cases(args.names))
    names = args.names or sorted(path.stem for path in args.folder.glob("*.jsonl"))
    missing = [name for name in names if not (args.folder / f"{name}.jsonl").exists()]
    if missing or not names:
        print(f"no labelled file for {', '.join(missing) or 'anything'} in {args.folder}")
        return 2
    cards = asyncio.run(_cards(args.folder, names))
    if args.json:
        print(json.dumps([_plain(card) for card in cards], indent=1))
        return 0
    print(
        f"{'verifier':14} {'rows':>5} {'right':>6}  {'95 % interval':15} {'TP':>4} {'FP':>4} {'TN':>4} {'FN':>4}",
        end="",
    )
    print(f" {'score =':>8} {'score ≠':>8} {'undecided':>10} {'error':>6}")
    for card in cards:
        low, high = wilson(card.right, card.rows)
        print(
            f"{card.verifier:14} {card.rows:5} {card.right / max(card.rows, 1):6.1%}  {low:.1%} – {high:.1%} "
            f"{card.true_positive:4} {card.false_positive:4} {card.true_negative:4} {card.false_negative:4}"
            f" {card.score_right:8} {card.score_wrong:8} {card.undecided:10} {card.error:6}"
        )
    if args.misses:
        for card in cards:
            for row, label, verdict, why in card.misses:
                said = verdict.score if verdict.status == "scored" else verdict.status
                print(f"{card.verifier} {row}: label {label}, verdict {said} ({verdict.reason}) {verdict.extracted!r}")
                print(f"    {why}")
    return 0


async def _cases(names: list[str]) -> int:
    engine = Engine(settings=EngineSettings())
    await engine.start()
    try:
        cases = [case for name in names or engine.registry.names() for case in load_cases(engine.registry.get(name))]
        results = judge_cases(cases, await engine.verify(case_batch(cases), source="scorecard"))
    finally:
        await engine.close()
    failed = [result for result in results if result.differences]
    for result in failed:
        print(f"{result.case.verifier}: {result.case.title}: {'; '.join(result.differences)}")
    print(f"{len(results) - len(failed)} of {len(results)} cases went as expected")
    return int(bool(failed))


async def _cards(folder: Path, names: list[str]) -> list[Card]:
    engine = Engine(settings=EngineSettings())
    await engine.start()
    try:
        return [await score(engine, name, load_rows(folder / f"{name}.jsonl")) for name in names]
    finally:
        await engine.close()


def _plain(card: Card) -> dict[str, Any]:
    low, high = wilson(card.right, card.rows)
    return {
        "verifier": card.verifier,
        "rows": card.rows,
        "right": card.right,
        "interval": [low, high],
        "true_positive": card.true_positive,
        "false_positive": card.false_positive,
        "true_negative": card.true_negative,
        "false_negative": card.false_negative,
        "score_right": card.score_right,
        "score_wrong": card.score_wrong,
        "undecided": card.undecided,
        "error": card.error,
        "misses": [[row, label, verdict.status, verdict.score, why] for row, label, verdict, why in card.misses],
    }
