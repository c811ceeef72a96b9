"""ProcessBench (Zheng et al. 2024, arXiv 2412.06559): the first wrong step of a solution, or that there is none.

Source: the data set `Qwen/ProcessBench` and github.com/QwenLM/ProcessBench: the columns in its README, the scoring in
`code/run_eval.py`. For each split: the share of wrong solutions whose first wrong step is found, the share of right
solutions in which none is found, and F1, the harmonic mean of the two. The overall figure is the mean F1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewarden.types import Use
from rewarden_server.studies.bench.bench_set import BenchSet, Line
from rewarden_server.studies.bench.entry import Result
from rewarden_server.studies.bench.figures import by_subset, drawn, harmonic, in_order, mean_of, of_subset
from rewarden_server.studies.bench.row import Row
from rewarden_server.studies.bench.solution import MANY_STEPS, Marked, Solution
from rewarden_server.studies.calibration.agreement import share

_SPLITS = ("gsm8k", "math", "olympiadbench", "omnimath")


class ProcessBench(BenchSet[Marked]):
    """See the module."""

    name = "processbench"
    title = "ProcessBench"
    files = "gsm8k.json, math.json, olympiadbench.json and omnimath.json of the data set Qwen/ProcessBench"
    fields = ("id", "generator", "problem", "steps", "final_answer_correct", "label")
    kinds = ("rating",)
    use = Use(name="critic")
    params = MANY_STEPS
    overall = "the mean F1 of the splits"
    parts = tuple(f"{name}, F1" for name in _SPLITS)

    def entry(self, row: Row) -> Solution:
        """See `BenchSet`."""
        name, steps, label = row.name("id"), row.texts("steps"), row.whole("label", -1)
        split = name.rpartition("-")[0]
        if split not in _SPLITS:
            raise row.error("id", f"must be the name of a split and a number, such as gsm8k-0, not {name[:60]!r}")
        if label >= len(steps):
            raise row.error("label", f"names step {label}, but there are {len(steps)} steps, counted from 0")
        return Solution(
            id=name,
            subset=split,
            problem=row.text("problem"),
            steps=steps,
            errors=[] if label < 0 else [label],
        )

    def lines(self, results: Sequence[Marked], seed: int) -> list[Line]:
        """See `BenchSet`."""
        checked = [checked_of(one) for one in results]
        found: list[Line] = []
        for name in in_order(checked, _SPLITS):
            rows = of_subset(checked, name)
            found.append(Line(f"{name}, F1", drawn(rows, f1, seed)))
            for kind, wrong in (("wrong solutions", True), ("right solutions", False)):
                hits = [one.hit for one in rows if one.wrong == wrong]
                found.append(Line(kind, share(sum(hits), len(hits)), depth=2))
        return [Line("overall", drawn(checked, _overall, seed), depth=0), *found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked(Result):
    """A solution whose first wrong step was looked for. wrong: it has one; hit: the verifier names that step, or none
    if there is none."""

    wrong: bool
    hit: bool


def checked_of(one: Marked) -> Checked:
    """The check of the first step that the verifier considers wrong."""
    return Checked(subset=one.subset, wrong=bool(one.errors), hit=one.first == (one.errors[0] if one.errors else None))


def f1(rows: Sequence[Checked]) -> float | None:
    """The F1 of one split; None if it has no right or no wrong solutions."""
    wrong = [one.hit for one in rows if one.wrong]
    right = [one.hit for one in rows if not one.wrong]
    if not wrong or not right:
        return None
    return harmonic(sum(wrong) / len(wrong), sum(right) / len(right))


def _overall(rows: Sequence[Checked]) -> float | None:
    return mean_of(f1(split) for split in by_subset(rows).values())
