"""The table of published sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewarden_server.studies.bench.bench_set import BenchSet
from rewarden_server.studies.bench.healthbench_meta import HealthBenchMeta
from rewarden_server.studies.bench.judge_bench import JudgeBench
from rewarden_server.studies.bench.long_judge_bench import LongJudgeBench
from rewarden_server.studies.bench.prm_bench import PrmBench
from rewarden_server.studies.bench.process_bench import ProcessBench
from rewarden_server.studies.bench.reward_bench import RewardBench
from rewarden_server.studies.bench.reward_bench_2 import RewardBench2
from rewarden_server.studies.bench.rmb import Rmb
from rewarden_server.studies.bench.verify_bench import VerifyBench

SETS: Mapping[str, BenchSet[Any]] = {
    one.name: one
    for one in (
        RewardBench(),
        RewardBench2(),
        JudgeBench(),
        Rmb(),
        LongJudgeBench(),
        ProcessBench(),
        PrmBench(),
        HealthBenchMeta(),
        VerifyBench(),
    )
}
"""The sets by name."""

_LEAST = 0.5


def nearest(values: Mapping[str, Any]) -> BenchSet[Any] | None:
    """The set whose rows have the most similar fields; None if no set has half of them."""

    def likeness(one: BenchSet[Any]) -> float:
        return len(values.keys() & set(one.fields)) / max(len(values.keys() | set(one.fields)), 1)

    shared = [one for one in SETS.values() if len(values.keys() & set(one.fields)) >= _LEAST * len(values)]
    return max(shared, key=likeness, default=None) if values else None
