"""`puzzle`: every generator of reasoning-gym over 50 seeds, and answers per second next to the library's own scorers.

    python -m benchmarks.puzzles [SEEDS]

For each item, the right answer passes; junk, the prompt's own lines and quotations, another item's answer, hedges and
payloads do not; and no payload is executed. Antiderivatives go through an engine with a sandbox.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.report import Report
from rewarden.errors import InvalidReference
from rewarden.types import Batch, Sample, Use
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.puzzles import library
from rewarden_verifiers.puzzles.findings import Checker
from rewarden_verifiers.puzzles.generators import Generated
from rewarden_verifiers.puzzles.integrals import DATASETS as INTEGRALS
from rewarden_verifiers.puzzles.integrals import NEEDS_SANDBOX
from rewarden_verifiers.puzzles.rules import TASKS
from tests.programs import no_sandbox
from tests.verifiers.puzzles.items import JUNK, Item, dressed, examples, items, payloads, reference_of

SEVERAL = frozenset({"graph_color", "propositional_logic"})
"""Data sets in which another item's answer can be right."""


def _wrong_texts(item: Item, other: str | None, mark: Path) -> list[str]:
    texts = [*JUNK, *examples(str(item.entry["question"])), *payloads(str(mark))]
    if other and item.name not in SEVERAL:
        texts.append(other)
    if other and item.answer:
        texts += dressed(item.answer, other)
    return [text.strip() for text in texts if text.strip() != item.answer]


def sweep(seeds: int, report: Report, names: Sequence[str] = tuple(library.MODULES)) -> None:
    """Checks every generator."""
    counts: Counter[str] = Counter()
    integrals: list[Item] = []
    with tempfile.TemporaryDirectory() as folder:
        mark = Path(folder) / "mark"
        for name in names:
            made = list(items(name, seeds))
            for place, item in enumerate(made):
                counts["items"] += 1
                try:
                    puzzle = reference_of(item).checker()
                except InvalidReference as error:
                    counts["undecided"] += 1
                    if name != "propositional_logic":
                        print(f"   {name} {item.seed}: {error}", flush=True)
                    continue
                if name in INTEGRALS:
                    integrals.append(item)
                if item.answer is None or puzzle.check(item.answer).reason not in (None, NEEDS_SANDBOX):
                    counts["right answers that fail"] += 1
                    print(f"   {name} {item.seed}: {item.answer!r} fails", flush=True)
                for text in _wrong_texts(item, made[(place + 1) % len(made)].answer, mark):
                    counts["wrong answers"] += 1
                    reason = puzzle.check(text).reason
                    if reason is None or (reason == NEEDS_SANDBOX and name not in INTEGRALS):
                        counts["wrong answers that pass"] += 1
                        print(f"   {name} {item.seed}: {text[:60]!r} passes; {item.answer!r:.60} is right", flush=True)
            if mark.exists():
                counts["executed"] += 1
                mark.unlink()
    report.figure("generators", len(names))
    report.figure("items", counts["items"])
    report.figure("items that are left undecided", counts["undecided"])
    report.figure("right answers that fail", counts["right answers that fail"], most=0)
    report.figure("wrong answers tried", counts["wrong answers"])
    report.figure("wrong answers that pass", counts["wrong answers that pass"])
    report.figure("payloads executed", counts["executed"], most=0)
    if integrals and no_sandbox() is None:
        asyncio.run(_antiderivatives(integrals, report))


async def _antiderivatives(made: Sequence[Item], report: Report) -> None:
    samples = [Sample(response=f"<answer>{item.answer}</answer>", reference=item.reference) for item in made]
    for item in made:
        variable = item.entry["metadata"]["variable"]
        wrong = f"<answer>{item.answer} + {variable}</answer>"
        samples.append(Sample(response=wrong, reference=item.reference))
    engine = Engine(settings=EngineSettings(workers=1))
    await engine.start()
    try:
        verdicts = (await engine.verify(Batch(samples=samples, use=Use(name="puzzle")))).verdicts
    finally:
        await engine.close()
    for item, verdict in zip(made, verdicts, strict=False):
        if verdict.score != 1.0:
            print(f"   {item.name} {item.seed}: {item.answer!r} {verdict.reason} {verdict.feedback}", flush=True)
    right = sum(verdict.score == 1.0 for verdict in verdicts[: len(made)])
    report.figure("right antiderivatives that pass, in the sandbox", right / len(made), least=1.0)
    passed = sum(verdict.score != 0.0 for verdict in verdicts[len(made) :])
    report.figure("wrong antiderivatives that pass", passed, most=0)


def _rate(call: Callable[[], object], seconds: float = 0.5) -> float:
    end, count = time.perf_counter() + seconds, 0
    start = time.perf_counter()
    while time.perf_counter() < end:
        call()
        count += 1
    return count / (time.perf_counter() - start)


def speed(report: Report) -> None:
    """Measures answers per second on one core, with prepared references, next to the library's scorer if it has one."""
    for name in ("countdown", "puzzle24", "sudoku", "n_queens", "futoshiki"):
        (item,) = items(name, 1)
        dataset_type, config_type = library.dataset_types(name)
        dataset = dataset_type(config_type(seed=0, size=1))
        made = dataset[0]
        puzzle: Checker = Generated(**item.reference).checker()
        answer = str(item.answer)
        ours = _rate(partial(puzzle.check, answer))
        report.figure(f"{name}: answers per second", ours, "/s")
        if name in ("countdown", "puzzle24"):  # for the others it only compares with the right answer's text
            theirs = _rate(partial(dataset.score_answer, answer, made))
            report.figure(f"{name}: times the library's own scorer", ours / theirs)
    knights = TASKS["knights_knaves"](solution={"Zoey": "knight", "Oliver": "knave"}).checker()
    report.figure("knights and knaves", _rate(lambda: knights.check("Zoey is a knight, and Oliver is a knave.")), "/s")
    (item,) = items("chain_sum", 1)
    puzzle = Generated(**item.reference).checker()
    report.figure("chain_sum, by the library's scorer", _rate(lambda: puzzle.check(str(item.answer))), "/s")


def run(seeds: int = 50) -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("puzzles")
    speed(report)
    sweep(seeds, report)
    return report.broken


if __name__ == "__main__":
    raise SystemExit(bool(run(*map(int, sys.argv[1:]))))
