"""LongJudgeBench (Chen et al. 2026, arXiv 2606.01629): long reports and stories, rated, compared, ranked and checked.

Source: github.com/cjj826/LongJudgeBench: the rows of `data_standardized`, whose shape its README describes and
`src/standardization` writes, and the scoring in `src/reliability/agreement_metrics.py` and `src/evaluation/datasets`.
For responses that people graded or ranked: the share of pairs of one prompt that the verifier puts in the same order,
ties included. For pairs: the share of judgements that pick the preferred response, each order counted separately. For
checked responses: the share of right verdicts. Every response is judged on its own merits, without the set's rubrics
and references. A pair that is a tie for both counts once here; the script counts it twice in the denominator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

from rewarden.types import Sample, Text, Use, Verdict
from rewarden_server.studies.bench.bench_set import BenchSet, Line
from rewarden_server.studies.bench.contest import contested, rating_of
from rewarden_server.studies.bench.entry import Entry, Result, UnusableError, Way
from rewarden_server.studies.bench.figures import credited, drawn, in_order, mean_of, of_subset
from rewarden_server.studies.bench.row import Row
from rewarden_server.studies.bench.single import Accepted, Single
from rewarden_server.studies.calibration.judged_responses import score_of
from rewarden_server.studies.calibration.rows import Labelled
from rewarden_verifiers.group.statistics import mean

_SUBSETS = ("deepresearch_bench", "realdr", "verify_bench_hard", "wp_bench", "ma", "surge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered(Result):
    """Responses with people's grades (by dimension, higher is better) and the verifier's ratings."""

    gold: Mapping[str, Sequence[float]]
    said: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferred(Result):
    """A pair. credit: the share of the two orders in which the verifier agrees with people."""

    credit: float


@dataclass(frozen=True, kw_only=True)
class Reports(Entry[Ordered]):
    """Responses to one prompt with their grades; prompt_id: rows of one prompt are compared with each other."""

    prompt: Text
    prompt_id: str
    texts: Sequence[str]
    gold: Mapping[str, Sequence[float]]

    def samples(self, way: Way) -> list[Sample]:
        """See `Entry`."""
        if way.kind == "comparison" or (way.kind == "ranking" and len(self.texts) == 1):
            return []
        group = f"{self.subset}/{self.id}" if way.kind == "ranking" else None
        return [Sample(prompt=self.prompt, response=text, group=group) for text in self.texts]

    def result(self, way: Way, verdicts: Sequence[Verdict]) -> Ordered:
        """See `Entry`."""
        said = [rating_of(verdict, way) for verdict in verdicts]
        return Ordered(subset=self.subset, unit=self.prompt_id, gold=self.gold, said=said)

    def labelled(self, way: Way, coin: bool) -> list[Labelled]:
        """See `Entry`. Grades tell which response is better, not which is right."""
        return []


@dataclass(frozen=True, kw_only=True)
class Pair(Entry[Preferred]):
    """Two responses, the better one first, unless they are even."""

    prompt: Text
    texts: tuple[str, str]
    even: bool

    def samples(self, way: Way) -> list[Sample]:
        """See `Entry`."""
        first, second = self.texts
        if way.kind == "comparison":
            return [Sample(prompt=self.prompt, response=first, reference=second)]
        group = f"{self.subset}/{self.id}" if way.kind == "ranking" else None
        return [Sample(prompt=self.prompt, response=text, group=group) for text in self.texts]

    def result(self, way: Way, verdicts: Sequence[Verdict]) -> Preferred:
        """See `Entry`."""
        flipped = False
        if way.kind == "comparison":
            margin = (score_of(verdicts[0]) or 0.0) - 0.5
            flipped = bool(verdicts[0].evidence.get("flip_rate"))
        else:
            margin = rating_of(verdicts[0], way) - rating_of(verdicts[1], way)
        if margin == 0 and flipped:
            credit = 0.0 if self.even else 0.5
        else:
            credit = float(margin == 0 if self.even else margin > 0)
        return Preferred(subset=self.subset, tied=margin == 0 and not self.even, credit=credit)

    def labelled(self, way: Way, coin: bool) -> list[Labelled]:
        """See `Entry`."""
        first, second = self.texts
        return [] if self.even else contested(self.id, self.prompt, [first], [second], way, coin)


Made = Ordered | Preferred | Accepted


class LongJudgeBench(BenchSet[Made]):
    """See the module."""

    name = "longjudgebench"
    title = "LongJudgeBench"
    files = "data_standardized/*.jsonl of the repository, but for *_reference.jsonl and *_criteria.jsonl"
    fields = ("dataset", "id", "instruction", "responses", "ground_truth", "meta", "prompt_pos")
    kinds = ("rating", "comparison", "ranking")
    use = Use(name="judge", params={"mode": "scale", "scale": {"low": 0, "high": 10}})
    overall = "the mean of the subsets' accuracies, each dimension of surge by itself"
    ties = "nothing, unless people also see a tie; half if a judge's choice flips with the order"

    def entry(self, row: Row) -> Entry[Made]:
        """See `BenchSet`."""
        subset = row.word("dataset", _SUBSETS)
        responses, truth = row.rows("responses"), row.row("ground_truth")
        if subset in ("wp_bench", "ma"):
            return self._pair(subset, row, responses, truth)
        texts = [one.text("content") for one in responses]
        name = f"{subset}/{row.name('id')}"
        prompt = row.text("instruction")
        if subset == "verify_bench_hard":
            sample = Sample(prompt=prompt, response=texts[0])
            return Single(id=name, subset=subset, sample=sample, labels=[truth.truth("gold_correct")])
        prompt_id = row.row("meta").name("task_id") if subset == "realdr" else row.name("id")
        models = [one.name("model") for one in responses]
        return Reports(
            id=f"{name}/{models[0]}" if len(models) == 1 else name,
            subset=subset,
            prompt=prompt,
            prompt_id=prompt_id,
            texts=texts,
            gold=_gold(subset, truth, models),
        )

    @staticmethod
    def _pair(subset: str, row: Row, responses: Sequence[Row], truth: Row) -> Pair:
        if len(responses) != 2:
            raise row.error("responses", f"must have two responses in {subset}, not {len(responses)}")
        first, second = (one.text("content") for one in responses)
        if subset == "ma":
            preferred = truth.word("preferred", ("A", "B", "tie"))
        else:
            chosen, models = truth.row("chosen").name("model"), [one.name("model") for one in responses]
            if chosen not in models:
                raise row.error("ground_truth.chosen.model", f"is not a model of the responses, {' and '.join(models)}")
            preferred = "AB"[models.index(chosen)]
        return Pair(
            id=f"{subset}/{row.name('id')}@{row.line}",
            subset=subset,
            prompt=row.text("instruction"),
            texts=(second, first) if preferred == "B" else (first, second),
            even=preferred == "tie",
        )

    def lines(self, results: Sequence[Made], seed: int) -> list[Line]:
        """See `BenchSet`."""
        found: list[Line] = []
        for subset in in_order(results, _SUBSETS):
            rows = of_subset(results, subset)
            if any(isinstance(one, Ordered) for one in rows):
                for dimension in _dimensions(rows):
                    name = f"{subset}, {dimension}" if dimension else subset
                    found.append(Line(name, drawn(rows, partial(order_accuracy, dimension), seed)))
            else:
                found.append(Line(subset, credited(rows, _credit, seed)))
        return [Line("overall", drawn(results, _overall, seed), depth=0), *found]


def _gold(subset: str, truth: Row, models: Sequence[str]) -> dict[str, list[float]]:
    """The grades of a row's responses, by dimension; a single dimension has no name."""
    if subset == "realdr":
        return {"": [truth.number("weighted_total")]}
    if subset == "deepresearch_bench":
        scores = truth.row("scores")
        return {"": [scores.row(model).number("overall") for model in models]}
    found: dict[str, list[float]] = {}
    for dimension in ("structure", "content"):
        ranks = truth.row(f"{dimension}_ranking")
        found[dimension] = [-ranks.number(model) for model in models]
    return found


def _dimensions(rows: Sequence[Made]) -> list[str]:
    return list(dict.fromkeys(name for one in rows if isinstance(one, Ordered) for name in one.gold))


def _credit(one: Made) -> float:
    if isinstance(one, Accepted):
        return float(one.agrees)
    if isinstance(one, Preferred):
        return one.credit
    raise UnusableError("graded responses have an order, but no score each")


def order_accuracy(dimension: str, rows: Sequence[Made]) -> float | None:
    """The share of pairs of one prompt that are in people's order; None if there are no pairs."""
    prompts: dict[str | None, list[tuple[float, float]]] = {}
    for one in rows:
        if isinstance(one, Ordered) and dimension in one.gold:
            prompts.setdefault(one.unit, []).extend(zip(one.gold[dimension], one.said, strict=True))
    pairs = [pair for graded in prompts.values() for pair in combinations(graded, 2)]
    return mean([float(_sign(a[0] - b[0]) == _sign(a[1] - b[1])) for a, b in pairs])


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _overall(rows: Sequence[Made]) -> float | None:
    parts: list[float | None] = []
    for subset in in_order(rows, _SUBSETS):
        some = of_subset(rows, subset)
        dimensions = _dimensions(some)
        parts += [order_accuracy(dimension, some) for dimension in dimensions]
        if not dimensions:
            parts.append(mean([_credit(one) for one in some]))
    return mean_of(parts)
