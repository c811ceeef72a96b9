"""Plays a training run with the demo's rollouts, for the pages of a server: `train.py http://127.0.0.1:8080`.

There is no model and no training: each step draws groups of problems, and draws right responses to them more often as
the run goes on. After two thirds, two things happen at the same step: the verifier gets other parameters, and the
policy begins to lose the format, so that its answers cannot be found. /runs shows which of the two moved the reward.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rewarden import Client, Progress, Sample, Use

ROLLOUTS = Path(__file__).with_name("rollouts.jsonl")
GROUPS = 16
"""Problems of one step; each has eight responses."""

SIBLINGS = 8
MATH, CHOICE = Use(name="math"), Use(name="choice")
STRICT = Use(name="math", params={"strict": True})


def samples() -> list[Sample]:
    """The rollouts as samples, each with the verifier of its source."""
    found = []
    for line in ROLLOUTS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        choice = "options" in row
        reference = {"answer": row["reference"], "options": row["options"]} if choice else row["reference"]
        found.append(
            Sample(
                response=row["response"],
                prompt=row["prompt"],
                reference=reference,
                use=CHOICE if choice else MATH,
                group=row["group"],
                data_source=row["data_source"],
                finish_reason=row["finish_reason"],
                token_count=row["token_count"],
            )
        )
    return found


def play(client: Client, run: str, steps: int, seed: int = 1) -> Iterator[int]:
    """Send a run, step by step; yields each step that is judged."""
    rng = random.Random(seed)
    known = samples()
    verdicts = client.verify([replace(one, metadata={"run": f"{run}, all rollouts"}) for one in known]).verdicts
    problems: dict[str, dict[str, list[Sample]]] = defaultdict(lambda: defaultdict(list))
    for sample, verdict in zip(known, verdicts, strict=True):
        kind = "right" if verdict.passed else "lost" if verdict.reason == "no_answer" else "wrong"
        problems[str(sample.group)][kind].append(sample)
    for step in range(steps):
        late = step >= steps * 2 // 3
        skill = 0.15 + 0.7 * (1 - math.exp(-3 * step / steps))
        rows: list[Sample] = []
        for name in rng.sample(sorted(problems), GROUPS):
            for _ in range(SIBLINGS):
                wanted = ["right"] if rng.random() < skill else ["wrong", "lost"]
                if late and rng.random() < 0.5:
                    wanted = ["lost", "wrong"]
                drawn = next(
                    problems[name][kind] for kind in [*wanted, "wrong", "right", "lost"] if problems[name][kind]
                )
                sample = replace(rng.choice(drawn), group=f"{name}@{step}", group_size=SIBLINGS, metadata={"run": run})
                rows.append(replace(sample, use=STRICT) if late and sample.use == MATH else sample)
        client.verify(rows, progress=Progress(step=step, total_steps=steps))
        yield step


def main() -> None:
    """Play a run and print its address."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("target", nargs="?", default="http://127.0.0.1:8080")
    parser.add_argument("--run", default="demo")
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    with Client(options.target) as client:
        for step in play(client, options.run, options.steps):
            print(f"\rstep {step + 1} of {options.steps}", end="", flush=True)
    print(f"\nsee {options.target}/runs")


if __name__ == "__main__":
    main()
