"""PRMBench (Song et al. 2025, arXiv 2501.03124): every step of solutions with inserted errors of nine kinds.

Source: the data set `hitsmy/PRMBench_Preview` and github.com/ssmisya/PRMBench: the columns in `docs/data_format.md`,
the scoring in `mr_eval/tasks/prmtest_classified/task.py`. The steps of all solutions of a kind are counted together.
PRMScore is the mean of the F1 of right steps and the F1 of wrong steps; `multi_solutions` has no wrong steps, so only
the F1 of right steps counts there. A category's figure is the mean of its kinds; the overall figure is that of all
steps together. A row that occurs twice counts once. Redundant and circular steps count as wrong, because no verifier
here has a separate mark for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rewarden.types import Use
from rewarden_server.studies.bench.bench_set import BenchSet, Line
from rewarden_server.studies.bench.entry import Result
from rewarden_server.studies.bench.figures import by_subset, drawn, mean_of, of_subset
from rewarden_server.studies.bench.row import Row
from rewarden_server.studies.bench.solution import MANY_STEPS, Marked, Solution

_CATEGORIES = {
    "Simplicity": ("redundency", "circular"),
    "Soundness": ("counterfactual", "step_contradiction", "domain_inconsistency", "confidence"),
    "Sensitivity": ("missing_condition", "deception", "multi_solutions"),
}
_KINDS = [name for kinds in _CATEGORIES.values() for name in kinds]
_ALL_RIGHT = "multi_solutions"


class PrmBench(BenchSet[Marked]):
    """See the module."""

    name = "prmbench"
    title = "PRMBench"
    files = "prmbench_preview.jsonl of the data set hitsmy/PRMBench_Preview, or the *.jsonl of the repository's task"
    fields = (
        "idx",
        "original_question",
        "modified_question",
        "original_process",
        "modified_process",
        "modified_steps",
        "error_steps",
        "reason",
        "question",
        "classification",
    )
    kinds = ("rating",)
    use = Use(name="critic")
    params = MANY_STEPS
    overall = "PRMScore over all steps"

    def entry(self, row: Row) -> Solution:
        """See `BenchSet`."""
        kind, steps = row.word("classification", _KINDS), row.texts("modified_process")
        errors: list[int] = []
        for place, number in enumerate(row.items("error_steps", 0)):
            if isinstance(number, bool) or not isinstance(number, int):
                raise row.error(f"error_steps[{place}]", "must be a step's number")
            # Some published rows name steps that their solution does not have; the set's script skips them.
            if 1 <= number <= len(steps):
                errors.append(number - 1)
        return Solution(
            id=f"{kind}_{row.name('idx')}",
            subset=kind,
            problem=row.text("modified_question"),
            steps=steps,
            errors=sorted(set(errors)),
        )

    def lines(self, results: Sequence[Marked], seed: int) -> list[Line]:
        """See `BenchSet`."""
        counts = [counts_of(one) for one in results]
        found: list[Line] = []
        for category, kinds in _CATEGORIES.items():
            rows = of_subset(counts, *kinds)
            if not rows:
                continue
            found.append(Line(category, drawn(rows, _category, seed)))
            parts = by_subset(rows)
            for name in kinds:
                if name in parts:
                    found.append(Line(name, drawn(parts[name], kind_score, seed), depth=2))
        return [Line("overall", drawn(counts, prm_score, seed), depth=0), *found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts(Result):
    """The steps of a solution: the right ones that the verifier considers right and wrong, and the wrong ones that it
    considers right and wrong."""

    right_good: int
    right_bad: int
    wrong_good: int
    wrong_bad: int


def counts_of(one: Marked) -> Counts:
    """The counts of a solution's steps."""
    wrong = set(one.errors)
    cells = Counter((place in wrong, good) for place, good in enumerate(one.good))
    return Counts(
        subset=one.subset,
        right_good=cells[False, True],
        right_bad=cells[False, False],
        wrong_good=cells[True, True],
        wrong_bad=cells[True, False],
    )


def prm_score(rows: Sequence[Counts]) -> float | None:
    """The mean of the F1 of right steps and of wrong steps; None if either is undefined."""
    right, wrong = _f1s(rows)
    return None if right is None or wrong is None else (right + wrong) / 2


def kind_score(rows: Sequence[Counts]) -> float | None:
    """The PRMScore of one kind; for a kind without wrong steps, the F1 of right ones."""
    return _f1s(rows)[0] if rows and rows[0].subset == _ALL_RIGHT else prm_score(rows)


def _category(rows: Sequence[Counts]) -> float | None:
    return mean_of(kind_score(part) for part in by_subset(rows).values())


def _f1s(rows: Sequence[Counts]) -> tuple[float | None, float | None]:
    """The F1 of right steps and the F1 of wrong ones."""
    missed = sum(one.right_bad for one in rows)
    passed = sum(one.wrong_good for one in rows)
    return (
        _f1(sum(one.right_good for one in rows), missed + passed),
        _f1(sum(one.wrong_bad for one in rows), missed + passed),
    )


def _f1(hits: int, errors: int) -> float | None:
    return 2 * hits / (2 * hits + errors) if hits or errors else None
