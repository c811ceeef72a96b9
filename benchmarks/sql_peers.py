"""`sql` next to Spider's and BIRD's scripts on the labelled pairs of `tests/scorecard/sql.jsonl`.

    python -m benchmarks.sql_peers --spider CHECKOUT --bird CHECKOUT --python PYTHON [--json FILE]

The checkouts are of github.com/taoyds/test-suite-sql-eval and github.com/bird-bench/mini_dev; PYTHON is an interpreter
with their imports (sqlparse, tqdm, func_timeout, psycopg2, pymysql). Every pair and script gets its own database file,
so that writes of one pair affect no other. Prints a confusion matrix for each, and the pairs that each misjudges.
docs/sql-peers.md explains them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rewarden.types import Batch, Sample, Use
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.studies.scorecard.cards import Row, load_rows

PAIRS = Path(__file__).parents[1] / "tests/scorecard/sql.jsonl"
_CHILD = Path(__file__).with_name("sql_peer.py")

OURS: Mapping[str, Mapping[str, Any]] = {
    "sql": {},
    "sql, mutations 4": {"mutations": 4, "empty": "allow"},
    "sql, mutations 8": {"mutations": 8, "empty": "allow"},
    "sql, mutations 8, columns any": {"mutations": 8, "empty": "allow", "columns": "any"},
    "sql, preset spider": {"preset": "spider"},
    "sql, preset bird": {"preset": "bird"},
}
"""Options of `sql` under which all pairs are judged."""

Verdicts = Sequence[bool | None]


def theirs(name: str, checkout: Path, python: str, rows: Sequence[Row]) -> Verdicts:
    """Returns the verdicts of a published script; None if it fails or does not end."""
    with tempfile.TemporaryDirectory() as folder:
        pairs = []
        for number, row in enumerate(rows):
            place = Path(folder) / str(number)
            place.mkdir()  # Spider's script judges on every database in the folder of the named one
            reference: Any = row.samples[0].reference
            connection = sqlite3.connect(place / "pair.sqlite")
            connection.executescript(reference["database"]["script"])
            connection.close()
            pairs.append((reference["sql"], _answer(row), str(place / "pair.sqlite")))
        file = Path(folder) / "pairs.json"
        file.write_text(json.dumps(pairs), encoding="utf-8")
        ended = subprocess.run(
            [python, str(_CHILD), name, str(checkout.resolve()), str(file)],
            check=True,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        # Their own output can precede it.
        verdicts: Verdicts = json.loads(ended.stdout[ended.stdout.rindex(b"[") :])
        return verdicts


def _answer(row: Row) -> str:
    response = row.samples[0].response
    assert isinstance(response, str)
    return response.removeprefix("```sql\n").removesuffix("\n```")


async def ours(engine: Engine, rows: Sequence[Row], options: Mapping[str, Any]) -> Verdicts:
    """Returns the verdicts of `sql`; None for an unscored pair."""
    samples = [
        Sample(
            response=row.samples[0].response,
            reference=row.samples[0].reference,
            use=Use(name="sql", params={**options, "time_s": 0.5}),
        )
        for row in rows
    ]
    result = await engine.verify(Batch(samples=samples))
    return [verdict.passed if verdict.status == "scored" else None for verdict in result.verdicts]


async def _ours(rows: Sequence[Row]) -> dict[str, Verdicts]:
    engine = Engine(settings=EngineSettings(workers=2))
    await engine.start()
    try:
        return {name: await ours(engine, rows, options) for name, options in OURS.items()}
    finally:
        await engine.close()


def show(rows: Sequence[Row], said: Mapping[str, Verdicts]) -> None:
    """Prints the matrices, then the misjudged pairs of each, by kind."""
    labels = [row.labels[0] for row in rows]
    print(f"{len(rows)} pairs, {sum(map(bool, labels))} of them right\n")
    print(
        "| script | right, judged right | right, judged wrong "
        "| wrong, judged wrong | wrong, judged right | no verdict |"
    )
    print("|---|---|---|---|---|---|")
    for name, verdicts in said.items():
        count = Counter(zip(labels, verdicts, strict=True))
        unsaid = count[True, None] + count[False, None]
        cells = (count[True, True], count[True, False], count[False, False], count[False, True], unsaid)
        print(f"| {name} | {' | '.join(map(str, cells))} |")
    for name, verdicts in said.items():
        wrong: dict[str, list[str]] = defaultdict(list)
        for row, verdict in zip(rows, verdicts, strict=True):
            if verdict != row.labels[0]:
                what = "no verdict" if verdict is None else "judged right" if verdict else "judged wrong"
                wrong[f"{what}, {row.kind}"].append(row.id)
        print(f"\n{name}")
        for what, ids in sorted(wrong.items()):
            print(f"   {what}: {', '.join(ids)}")


def main() -> None:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spider", type=Path, help="a checkout of taoyds/test-suite-sql-eval")
    parser.add_argument("--bird", type=Path, help="a checkout of bird-bench/mini_dev")
    parser.add_argument("--python", default="python3", help="an interpreter with their imports")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every verdict, by script and pair")
    args = parser.parse_args()
    rows = load_rows(PAIRS)
    said: dict[str, Verdicts] = {}
    if args.spider is not None:
        said["Spider's test-suite script"] = theirs("spider", args.spider, args.python, rows)
        said["the same, --keep_distinct"] = theirs("spider-distinct", args.spider, args.python, rows)
    if args.bird is not None:
        said["BIRD's script"] = theirs("bird", args.bird, args.python, rows)
    said |= asyncio.run(_ours(rows))
    show(rows, said)
    if args.json is not None:
        plain = {name: dict(zip((row.id for row in rows), verdicts, strict=True)) for name, verdicts in said.items()}
        args.json.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
