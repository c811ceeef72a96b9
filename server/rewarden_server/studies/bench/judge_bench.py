"""JudgeBench (Tan et al. 2024, arXiv 2410.12784): pairs in which one response is right, judged in both orders.

Source: the data set `ScalerLab/JudgeBench` and github.com/ScalerLab/JudgeBench: the columns in its README, the scoring
in `utils/metrics.py`, the four categories in `run_judge.py`. A pair counts if the judge picks the right response in
both orders. The script also counts a pair that is right in one order and a tie in the other; here that is a tie, so a
judge that often answers this way comes out lower. A reward model rates both, and must rate the right one higher.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewarden.types import Use
from rewarden_server.studies.bench.bench_set import BenchSet, Line
from rewarden_server.studies.bench.contest import Contest, Contested
from rewarden_server.studies.bench.figures import credited, in_order, of_subset
from rewarden_server.studies.bench.row import Row

_CATEGORIES = ("mmlu-pro", "livebench-reasoning", "livebench-math", "livecodebench")
_LABELS = ("A>B", "B>A")


class JudgeBench(BenchSet[Contested]):
    """See the module."""

    name = "judgebench"
    title = "JudgeBench"
    files = "gpt-*.jsonl and claude-*.jsonl of the data set ScalerLab/JudgeBench, or data/*.jsonl of the repository"
    fields = ("pair_id", "original_id", "source", "question", "response_model", "response_A", "response_B", "label")
    kinds = ("comparison", "rating", "ranking")
    use = Use(name="pairwise")
    overall = "the share of all pairs"
    ties = "nothing"

    def entry(self, row: Row) -> Contest:
        """See `BenchSet`."""
        source = row.text("source")
        subset = next((name for name in _CATEGORIES if source.startswith(name)), None)
        if subset is None:
            raise row.error("source", f"must begin with {' or '.join(_CATEGORIES)}, not {source[:60]!r}")
        first, second = row.text("response_A"), row.text("response_B")
        best, other = (first, second) if row.word("label", _LABELS) == _LABELS[0] else (second, first)
        return Contest(id=row.name("pair_id"), subset=subset, prompt=row.text("question"), best=best, others=[other])

    def lines(self, results: Sequence[Contested], seed: int) -> list[Line]:
        """See `BenchSet`."""
        parts = [
            Line(name, credited(of_subset(results, name), _credit, seed)) for name in in_order(results, _CATEGORIES)
        ]
        return [Line("overall", credited(results, _credit, seed), depth=0), *parts]


def _credit(one: Contested) -> float:
    return float(one.won)
