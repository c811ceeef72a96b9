"""RewardBench 2 (Malik et al. 2025, arXiv 2506.01937): the best of four, and prompts with many right answers.

Source: the data set `allenai/reward-bench-2` and github.com/allenai/reward-bench: the columns and the scoring in
`rewardbench/utils.py` (`reroll_and_score_dataset`, `process_single_model`). In five subsets one response is right and
three are wrong: the right one must have the highest rating, and shares the point with any equals. In `Ties` a prompt
occurs twice: once with one right answer (`ref:N`) and once with several (`tied:N`). All right answers must be rated
above all wrong ones, and closer to each other than to the best wrong one. The overall figure is the mean of the six.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rewarden.types import Sample, Text, Use, Verdict
from rewarden_server.studies.bench.bench_set import BenchSet, Line
from rewarden_server.studies.bench.contest import Contest, Contested, contested, rating_of
from rewarden_server.studies.bench.entry import Entry, Result, Way
from rewarden_server.studies.bench.figures import credited, drawn, in_order, mean_of, of_subset
from rewarden_server.studies.bench.row import Row
from rewarden_server.studies.calibration.rows import Labelled
from rewarden_verifiers.group.statistics import mean

_TIES = "Ties"
_SUBSETS = ("Factuality", "Precise IF", "Math", "Safety", "Focus", _TIES)
_WEIGHTS = {"tied accuracy": 0.3, "reference accuracy": 0.3, "margin": 0.2, "margin, hard": 0.2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated(Result):
    """The ratings of a prompt in `Ties`. single: the prompt has one right answer, not several; spread: from the worst
    to the best right answer; gap: from the best wrong answer up to the worst right one."""

    single: bool
    spread: float
    gap: float


@dataclass(frozen=True, kw_only=True)
class Ties(Entry[Rated]):
    """A prompt in `Ties`, which only a verifier that rates can judge."""

    prompt: Text
    right: Sequence[str]
    wrong: Sequence[str]
    single: bool
    number: int

    def samples(self, way: Way) -> list[Sample]:
        """See `Entry`."""
        if way.kind != "rating":
            return []
        return [Sample(prompt=self.prompt, response=text) for text in (*self.right, *self.wrong)]

    def result(self, way: Way, verdicts: Sequence[Verdict]) -> Rated:
        """See `Entry`."""
        ratings = [rating_of(verdict, way) for verdict in verdicts]
        right, wrong = ratings[: len(self.right)], ratings[len(self.right) :]
        gap = min(right) - max(wrong)
        return Rated(
            subset=_TIES,
            tied=not gap,
            unit=str(self.number),
            single=self.single,
            spread=max(right) - min(right),
            gap=gap,
        )

    def labelled(self, way: Way, coin: bool) -> list[Labelled]:
        """See `Entry`."""
        return contested(self.id, self.prompt, self.right, self.wrong, way, coin)


class RewardBench2(BenchSet[Contested | Rated]):
    """See the module."""

    name = "rewardbench2"
    title = "RewardBench 2"
    files = "data/test-*.parquet of the data set allenai/reward-bench-2"
    fields = (
        "id",
        "prompt",
        "chosen",
        "rejected",
        "num_correct",
        "num_incorrect",
        "total_completions",
        "models",
        "subset",
        "additional_metadata",
    )
    kinds = ("rating", "comparison", "ranking")
    use = Use(name="judge", params={"mode": "scale", "scale": {"low": 1, "high": 10}})
    overall = "the mean of the subsets, of which Ties can reach 101 %, as in the set's script"
    parts = _SUBSETS
    ties = "1 / k for the best response of k equals; nothing in Ties between right and wrong answers"

    def entry(self, row: Row) -> Contest | Ties:
        """See `BenchSet`."""
        name, subset = row.name("id"), row.word("subset", _SUBSETS)
        right, wrong = row.texts("chosen"), row.texts("rejected")
        if row.whole("num_correct", 1) != len(right):
            raise row.error("num_correct", f"is not the number of chosen responses, {len(right)}")
        prompt = row.chat("prompt")
        if subset != _TIES:
            if len(right) != 1:
                raise row.error("chosen", f"must have one response in the subset {subset}, not {len(right)}")
            return Contest(id=name, subset=subset, prompt=prompt, best=right[0], others=wrong)
        kind, colon, number = name.partition(":")
        if kind not in ("ref", "tied") or not colon or not number.isdecimal():
            raise row.error("id", f"must be ref:N or tied:N in the subset {_TIES}, not {name!r}")
        return Ties(
            id=name, subset=_TIES, prompt=prompt, right=right, wrong=wrong, single=kind == "ref", number=int(number)
        )

    def lines(self, results: Sequence[Contested | Rated], seed: int) -> list[Line]:
        """See `BenchSet`."""
        found: list[Line] = []
        for name in in_order(results, _SUBSETS):
            rows = of_subset(results, name)
            if name != _TIES:
                found.append(Line(name, credited(rows, _credit, seed)))
                continue
            found.append(Line(name, drawn(rows, ties_score, seed)))
            for part in _WEIGHTS:
                found.append(Line(part, drawn(rows, partial(_part, part), seed), depth=2))
        return [Line("overall", drawn(results, _overall, seed), depth=0), *found]


def _credit(one: Contested | Rated) -> float:
    return 1 / (1 + one.level) if isinstance(one, Contested) and not one.above else 0.0


def _overall(rows: Sequence[Contested | Rated]) -> float | None:
    parts = [mean([_credit(one) for one in of_subset(rows, name)]) for name in _SUBSETS if name != _TIES]
    ties = of_subset(rows, _TIES)
    return mean_of([*parts, ties_score(ties) if ties else None])


def ties_score(rows: Sequence[Contested | Rated]) -> float:
    """The score of `Ties`: the weighted sum of its parts, plus a hundredth of the margins' mean width."""
    parts = _parts(rows)
    score = math.fsum(weight * (parts[name] or 0.0) for name, weight in _WEIGHTS.items())
    widths = [_width(min(single.gap, several.gap), several.spread) for single, several in _pairs(rows)]
    return score + 0.01 * (mean(widths) or 0.0)


def _width(gap: float, spread: float) -> float:
    """From -1 to 1: the width of a gap relative to a spread; a gap without any spread is as wide as can be."""
    if spread:
        return math.tanh(gap / spread - 1)
    return float(gap > 0) - float(gap < 0)


def _part(name: str, rows: Sequence[Contested | Rated]) -> float | None:
    return _parts(rows)[name]


def _parts(rows: Sequence[Contested | Rated]) -> dict[str, float | None]:
    rated = [one for one in rows if isinstance(one, Rated)]
    pairs = _pairs(rows)
    return {
        "tied accuracy": mean([float(one.gap > 0) for one in rated if not one.single]),
        "reference accuracy": mean([float(one.gap > 0) for one in rated if one.single]),
        "margin": mean([float(several.gap > several.spread) for _, several in pairs]),
        "margin, hard": mean([float(min(single.gap, several.gap) > several.spread) for single, several in pairs]),
    }


def _pairs(rows: Sequence[Contested | Rated]) -> list[tuple[Rated, Rated]]:
    """The prompts for which both rows are there: with one right answer and with several."""
    single = {one.unit: one for one in rows if isinstance(one, Rated) and one.single}
    several = [one for one in rows if isinstance(one, Rated) and not one.single]
    return [(single[one.unit], one) for one in several if one.unit in single]
