"""Presets next to the graders whose verdicts they give, on pairs of `preset_pairs`.

    python -m benchmarks.preset_peers PRESET [PLACE] [--python PYTHON] [--count N] [--seed N] [--show N]

`preset_peer` explains PLACE; PYTHON is an interpreter that can import the grader. Prints how many pairs both judge
alike and shows the others. `sql_peers` also has labelled pairs of queries.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.preset_pairs import MAKERS, Pair, pairs
from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.preset import presets_of
from rewarden_verifiers.registry import Registry

_CHILD = Path(__file__).with_name("preset_peer.py")
_ALIKE = 1e-9

_REGISTRY = Registry()
VERIFIERS = {preset: name for name in _REGISTRY for preset in presets_of(_REGISTRY.get(name).params_type)}
"""The verifier of each preset."""


def theirs(preset: str, place: str, python: str, load: Sequence[Pair]) -> list[float | None]:
    """Returns the official scores; None if the grader fails."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(load, file)
        file.flush()
        command = [python, str(_CHILD), preset, place, file.name]
        ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    scores: list[float | None] = json.loads(ended.stdout[ended.stdout.rindex(b"\n") :])
    return scores


async def ours(preset: str, load: Sequence[Pair]) -> list[Verdict]:
    """Returns our verdicts."""
    engine = Engine(settings=EngineSettings(workers=2))
    await engine.start()
    try:
        samples = [
            Sample(
                response=response,
                reference=reference,
                use=Use(name=VERIFIERS[preset], params={**params, "preset": preset, "view": "full"}),
            )
            for reference, response, params in load
        ]
        return list((await engine.verify(Batch(samples=samples))).verdicts)
    finally:
        await engine.close()


def main() -> None:
    """Compares the verdicts and prints the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset", choices=sorted(MAKERS))
    parser.add_argument("place", nargs="?", default="")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that can import the grader")
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--show", type=int, default=20, help="pairs to show that are judged differently")
    args = parser.parse_args()
    load = pairs(args.preset, args.count, args.seed)
    official = theirs(args.preset, args.place, args.python, load)
    verdicts = asyncio.run(ours(args.preset, load))
    count: Counter[str] = Counter()
    for (reference, response, params), score, verdict in zip(load, official, verdicts, strict=True):
        if score is None or verdict.score is None:
            alike = score is None and verdict.score is None
        else:
            alike = abs(score - verdict.score) < _ALIKE
        told = "no verdict" if score is None else "right" if score == 1 else "partly" if score else "wrong"
        count[f"{told}, {'alike' if alike else 'DIFFERENT'}"] += 1
        if not alike and count["shown"] < args.show:
            count["shown"] += 1
            print(json.dumps([reference, response, params], ensure_ascii=False))
            print(f"   official {score}, ours {verdict.score} {verdict.reason or ''} {verdict.extracted!r}")
    del count["shown"]
    print(f"{args.preset}: {sum(count.values())} pairs; " + "; ".join(f"{k} {n}" for k, n in sorted(count.items())))


if __name__ == "__main__":
    main()
