"""HealthBench's meta-evaluation (Arora et al. 2025, arXiv 2505.08775): whether physicians say a criterion is met.

Source: github.com/openai/simple-evals, `healthbench_meta_eval.py`: the columns and the scoring. Each physician's label
of a row is compared with the verifier's verdict. The macro F1 is the mean of the F1 of met and the F1 of not met, for
each category and over all rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewarden.types import Sample, Use
from rewarden_server.studies.bench.bench_set import BenchSet, Line
from rewarden_server.studies.bench.figures import by_subset, drawn, in_order
from rewarden_server.studies.bench.row import Row
from rewarden_server.studies.bench.single import Accepted, Single


class HealthBenchMeta(BenchSet[Accepted]):
    """See the module."""

    name = "healthbench-meta"
    title = "HealthBench's meta-evaluation"
    files = "2025-05-07-06-14-12_oss_meta_eval.jsonl of simple-evals (the address is in its script)"
    fields = (
        "prompt",
        "completion",
        "rubric",
        "category",
        "binary_labels",
        "anonymized_physician_ids",
        "prompt_id",
        "completion_id",
    )
    kinds = ("rating",)
    use = Use(name="rubric")
    overall = "the macro F1 over all labels"

    def entry(self, row: Row) -> Single:
        """See `BenchSet`."""
        labels = row.items("binary_labels")
        for place, label in enumerate(labels):
            if not isinstance(label, bool):
                raise row.error(f"binary_labels[{place}]", "must be true or false")
        sample = Sample(
            prompt=row.chat("prompt"),
            response=row.text("completion"),
            reference=[{"text": row.text("rubric"), "points": 1}],
        )
        # A completion is judged by several criteria, so its own name does not identify a row.
        return Single(id=row.place, subset=row.text("category"), sample=sample, labels=labels)

    def lines(self, results: Sequence[Accepted], seed: int) -> list[Line]:
        """See `BenchSet`."""
        parts = by_subset(results)
        found = [Line(name, drawn(parts[name], macro_f1, seed)) for name in in_order(results)]
        return [Line("overall", drawn(results, macro_f1, seed), depth=0), *found]


def macro_f1(rows: Sequence[Accepted]) -> float | None:
    """The mean of the F1 of met and of not met; None if one of them never occurs in the labels or in the verdicts."""
    agreed = {True: 0, False: 0}
    said = {True: 0, False: 0}
    true = {True: 0, False: 0}
    for one in rows:
        met = sum(one.labels)
        unmet = len(one.labels) - met
        said[one.passed] += met + unmet
        agreed[one.passed] += met if one.passed else unmet
        true[True] += met
        true[False] += unmet
    if not all((*said.values(), *true.values())):
        return None
    return sum(2 * agreed[side] / (said[side] + true[side]) for side in (True, False)) / 2
