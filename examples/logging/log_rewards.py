"""Judges the demo's rollouts as if a trainer made them, a step at a time, and logs each step.

    python examples/logging/log_rewards.py jsonl:out/rewards.jsonl
    python examples/logging/log_rewards.py tensorboard:out/runs      # then: tensorboard --logdir out/runs

Needs the server's package beside the client (target `local`); give another target as the second argument.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from rewarden import Client, Sample, Use
from rewarden.logging import read_log

ROLLOUTS = Path(__file__).parent.parent / "demo" / "rollouts.jsonl"
GROUPS_OF_A_STEP = 8


def samples() -> Iterator[Sample]:
    """The demo's rollouts, each with the judge of its data source."""
    for line in ROLLOUTS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        choice = row["data_source"] == "demo/choice"
        yield Sample(
            response=row["response"],
            reference={"answer": row["reference"], "options": row["options"]} if choice else row["reference"],
            use=Use(name="choice" if choice else "math"),
            **{name: row[name] for name in ("id", "group", "data_source", "finish_reason", "token_count")},
        )


def main(log_to: str, target: str = "local") -> None:
    """Log every step, and print the last one's figures."""
    log = read_log(log_to)
    groups: dict[str, list[Sample]] = {}
    for sample in samples():
        groups.setdefault(sample.group or "", []).append(sample)
    turns = list(groups.values())
    random.Random(0).shuffle(turns)  # both data sources in every step
    metrics: Mapping[str, float] = {}
    with Client(target) as client:
        for step, start in enumerate(range(0, len(turns), GROUPS_OF_A_STEP)):
            batch = [sample for group in turns[start : start + GROUPS_OF_A_STEP] for sample in group]
            log.add(client.verify(batch).verdicts, batch)
            metrics = log.step(step).metrics
    log.close()
    for name, value in sorted(metrics.items()):
        print(f"{value:10.4f}  {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
