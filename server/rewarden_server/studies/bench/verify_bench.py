"""VerifyBench (Yan et al. 2025, arXiv 2505.15801): whether a response gives the reference answer.

Source: the data set `ZJU-REAL/VerifyBench` and github.com/ZJU-REAL/VerifyBench, `evaluate.py`: the columns and the
scoring, which is the share of rows whose verdict matches people's label, for each type of answer, each subtype, and
over all rows. `verify_bench.jsonl` and `verify_bench_hard.jsonl` are two sets: run them separately.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewarden.types import Sample, Use
from rewarden_server.studies.bench.bench_set import BenchSet, Line
from rewarden_server.studies.bench.figures import by_subset, credited, in_order
from rewarden_server.studies.bench.row import Row
from rewarden_server.studies.bench.single import Accepted, Single


class VerifyBench(BenchSet[Accepted]):
    """See the module."""

    name = "verifybench"
    title = "VerifyBench"
    files = "verify_bench.jsonl or verify_bench_hard.jsonl of the data set ZJU-REAL/VerifyBench"
    fields = ("question", "answer", "completion", "gold_correct", "answer_type", "answer_subtype")
    kinds = ("rating",)
    use = Use(name="judge")
    overall = "the share of all rows"

    def entry(self, row: Row) -> Single:
        """See `BenchSet`."""
        sample = Sample(prompt=row.text("question"), response=row.text("completion"), reference=row.text("answer"))
        return Single(
            id=row.place,
            subset=row.text("answer_type"),
            sample=sample,
            labels=[row.truth("gold_correct")],
            within=[row.text("answer_subtype")],
        )

    def lines(self, results: Sequence[Accepted], seed: int) -> list[Line]:
        """See `BenchSet`."""
        found: list[Line] = []
        parts = by_subset(results)
        for name in in_order(results):
            found.append(Line(name, credited(parts[name], _credit, seed)))
            subtypes = sorted({subtype for one in parts[name] for subtype in one.within})
            for subtype in subtypes:
                rows = [one for one in parts[name] if subtype in one.within]
                found.append(Line(subtype, credited(rows, _credit, seed), depth=2))
        return [Line("overall", credited(results, _credit, seed), depth=0), *found]


def _credit(one: Accepted) -> float:
    return float(one.agrees)
