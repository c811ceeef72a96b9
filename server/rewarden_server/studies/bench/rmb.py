"""RMB (Zhou et al. 2024, arXiv 2410.09893): helpfulness and harmlessness in 49 scenarios, in pairs and best of n.

Source: github.com/Zhou-Zoey/RMB-Reward-Model-Benchmark: the files of `RMB_dataset`, the comparison in
`eval/scripts/my_run_rm.py` (the chosen response must be rated higher), and section 3.3 of the paper: best of n counts
only if the best response ranks above all others. The paper's overall figure is the mean of the four parts; here a part
is the share of all its rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewarden.types import Use
from rewarden_server.studies.bench.bench_set import BenchSet, Line
from rewarden_server.studies.bench.contest import Contest, Contested
from rewarden_server.studies.bench.figures import by_subset, credited, drawn, in_order, mean_of
from rewarden_server.studies.bench.row import Row
from rewarden_verifiers.group.statistics import mean

_SETS = {"BoN_set": "best of n", "Pairwise_set": "pairs"}
_GOALS = ("Helpfulness", "Harmlessness")
_PARTS = {f"{goal}, {form}": (folder, goal) for goal in _GOALS for folder, form in _SETS.items()}


class Rmb(BenchSet[Contested]):
    """See the module."""

    name = "rmb"
    title = "RMB"
    files = "the folder RMB_dataset of the repository (BoN_set and Pairwise_set)"
    fields = (
        "pair_uid",
        "bon_uid",
        "conversation_input",
        "chosen",
        "reject",
        "bon_best",
        "loser_list",
        "category_path",
    )
    kinds = ("comparison", "rating", "ranking")
    use = Use(name="pairwise")
    overall = "the mean of the four parts"
    parts = tuple(_PARTS)
    ties = "nothing"

    def entry(self, row: Row) -> Contest:
        """See `BenchSet`."""
        path = row.text("category_path")
        folder, goal, *_ = [*path.split("/"), "", ""]
        if folder not in _SETS or goal not in _GOALS:
            raise row.error(
                "category_path", f"must begin with {' or '.join(_SETS)} and a goal, such as BoN_set/{_GOALS[0]}/Chat"
            )
        if folder == "BoN_set":
            name, best = row.name("bon_uid"), row.row("bon_best")
            others = row.rows("loser_list")
        else:
            name, best = row.name("pair_uid"), row.row("chosen")
            others = [row.row("reject")]
        return Contest(
            id=f"{path}/{name}",
            subset=path,
            prompt=row.chat("conversation_input"),
            best=best.text("answer"),
            others=[other.text("answer") for other in others],
        )

    def lines(self, results: Sequence[Contested], seed: int) -> list[Line]:
        """See `BenchSet`."""
        found: list[Line] = []
        for part in _PARTS:
            rows = _part(results, part)
            if not rows:
                continue
            found.append(Line(part, credited(rows, _credit, seed)))
            scenarios = by_subset(rows)
            for path in in_order(rows):
                found.append(
                    Line("/".join(path.split("/")[2:]) or path, credited(scenarios[path], _credit, seed), depth=2)
                )
        return [Line("overall", drawn(results, _overall, seed), depth=0), *found]


def _credit(one: Contested) -> float:
    return float(one.won)


def _part(results: Sequence[Contested], part: str) -> list[Contested]:
    start = "/".join(_PARTS[part])
    return [one for one in results if one.subset == start or one.subset.startswith(f"{start}/")]


def _overall(rows: Sequence[Contested]) -> float | None:
    return mean_of(mean([_credit(one) for one in _part(rows, part)]) for part in _PARTS)
