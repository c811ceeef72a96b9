"""`retrieval`: measures how well a response ranks relevant ids."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from rewarden.errors import InvalidReference
from rewarden.types import Component, Outcome, StepScore
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import extract, rules_of
from rewarden_verifiers.outcome import no_answer, scored, too_expensive, wrong
from rewarden_verifiers.retrieval import entries, measures
from rewarden_verifiers.retrieval.lists import MOST_CHARACTERS, clean, ranking
from rewarden_verifiers.retrieval.measures import Gain, Measure
from rewarden_verifiers.retrieval.scores import scores

RULES = ("boxed", "answer_tag", {"tag": "ranking"})
"""The default places of a list; without any of them the whole response is read."""

MOST_IDS = 10_000
"""Ids of a list; a longer one is too expensive."""
_MOST_GAIN = 50.0
"""The largest relevance where gains are exponential: 2^50."""
_STEPS = 1000
"""Ranks that are told one by one."""

Id = str | int
Entry = str | tuple[str | None, float]
"""An entry of an answer: an id, or one with its score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalReference:
    """A reference with its catalogue.

    qrels: the relevance of each id (0: not relevant). relevant: alternatively the relevant ids, each of relevance 1; a
    list is in the ideal order. order: the ideal order for rank-biased overlap, if it is not by relevance. catalogue:
    all ids that can be listed.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    qrels: dict[str, float] | None = None
    relevant: tuple[Id, ...] | None = None
    order: tuple[Id, ...] | None = None
    catalogue: tuple[Id, ...] | None = None


Reference = RetrievalReference | dict[str, float] | tuple[Id, ...]


@dataclass(frozen=True, kw_only=True)
class RetrievalParams:
    """Options of `retrieval`.

    metrics: One metric, or several with weights: `ndcg`, `recall`, `precision`, `mrr`, `map`, `rbo`, `hit`, each with
        an optional cut-off rank (`ndcg@10`); `recall` and `hit` require one. For the order of all ids of the reference:
        `pairs` (share of the pairs in the right order), `tau` (Kendall's, at least 0), `exact` (1 for the right order,
        else 0).
    answers: Form of the answer: ids in their `order`, or the `scores` of ids, from which the order follows.
    gain: Gain of a relevance in nDCG: the relevance itself (`linear`) or 2^relevance - 1 (`exponential`).
    relevant_from: Lowest relevance that counts as relevant, for binary metrics. If unset, any above 0.
    rbo_p: Persistence of rank-biased overlap: 0.9 puts 86 % of the weight on the first ten ranks; 1 weights all ranks
        the same (average overlap).
    duplicates: A repeated id: earns nothing and keeps its rank (`keep`), or makes the list worthless (`refuse`).
    unknown: An id outside the catalogue: earns nothing and keeps its rank (`keep`), or makes the list worthless
        (`refuse`).
    catalogue: The ids that can be listed, the same for every sample.
    length: Required number of ids. If unset, any number.
    complete: Every id of the catalogue must be listed exactly once.
    ignore_case: Ignores the case of ids.
    extraction: Rules that find the list: a preset or an ordered list of rules. If none matches, the whole response is
        read, unless `whole_response` is false.
    whole_response: See `extraction`.
    threshold: Lowest score that passes.
    graded: Gives intermediate scores; if false, 1 from the threshold up, and 0 below it.
    """

    metrics: str | tuple[str, ...] | dict[str, float] = "ndcg@10"
    answers: Literal["order", "scores"] = "order"
    gain: Gain = "linear"
    relevant_from: float | None = None
    rbo_p: float = 0.9
    duplicates: Literal["keep", "refuse"] = "keep"
    unknown: Literal["keep", "refuse"] = "keep"
    catalogue: tuple[Id, ...] | None = None
    length: int | None = None
    complete: bool = False
    ignore_case: bool = False
    extraction: str | tuple[str | dict[str, str], ...] = RULES
    whole_response: bool = True
    threshold: float = 1.0
    graded: bool = True

    def __post_init__(self) -> None:
        rules_of(self.extraction)
        if not self.weights or not all(math.isfinite(weight) and weight > 0 for weight in self.weights.values()):
            raise ValueError("metrics must name at least one, with weights above 0")
        if not isinstance(self.metrics, str) and len(self.weights) < len(self.metrics):
            raise ValueError("metrics must differ")
        if not 0 < self.rbo_p <= 1:
            raise ValueError("rbo_p must be above 0 and at most 1")
        if self.relevant_from is not None and not (math.isfinite(self.relevant_from) and self.relevant_from > 0):
            raise ValueError("relevant_from must be above 0")
        if self.length is not None and not 1 <= self.length <= MOST_IDS:
            raise ValueError(f"length must lie between 1 and {MOST_IDS}")
        if not 0 < self.threshold <= 1:
            raise ValueError("threshold must be above 0 and at most 1")

    @cached_property
    def weights(self) -> dict[Measure, float]:
        """Each measure and its weight."""
        if isinstance(self.metrics, dict):
            return {measures.parse(name): weight for name, weight in self.metrics.items()}
        names = (self.metrics,) if isinstance(self.metrics, str) else self.metrics
        return dict.fromkeys(map(measures.parse, names), 1.0)

    @property
    def ordered(self) -> bool:
        """The order of ids without relevance matters as well."""
        return self.answers == "scores" or any(measure.name in measures.ORDERS for measure in self.weights)

    def id(self, value: Id) -> str:
        """An id as it is compared."""
        text = str(value).strip()
        text = clean(text) or text  # a reference that writes "[3]" means what a list that writes "[3]" means
        return text.casefold() if self.ignore_case else text


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """A reference, read: the gain of each id that has one, the ideal order, and the ids that may be listed.

    places: the ids that may be listed, in the order of the catalogue. levels: of each id of the reference, the higher
    the better, where the order of all matters; equal ones may be in any order. pairs: those whose levels differ.
    """

    gains: Mapping[str, float]
    ideal: tuple[str, ...]
    relevant: frozenset[str]
    catalogue: frozenset[str] | None
    most: float
    places: tuple[str, ...]
    levels: Mapping[str, float]
    pairs: int

    def meant(self, written: str) -> str:
        """The id that an entry of a list means."""
        return entries.meant(written, self._known)

    def parted(self, ids: Sequence[str]) -> list[str]:
        """A list with the ids of its only entry, or of its last one, apart: "d3 d7 d1", "d3, d7 and d1"."""
        last = ids[-1]
        parts = entries.several(last, self._known) if not self._known(last) else None
        # Attack: a line of ids for each rank, of which one would count.
        if parts is None or (len(ids) > 1 and len(parts) > 2):
            return list(ids)
        return [*ids[:-1], *parts]

    def _known(self, one: str) -> bool:
        return one in self.gains or one in self.levels or (self.catalogue is not None and one in self.catalogue)


def expect(reference: Reference, params: RetrievalParams) -> Expected:
    """The reference, read. Raises InvalidReference if nothing is relevant: no list could be right or wrong."""
    if isinstance(reference, dict):
        reference = RetrievalReference(qrels=reference)
    elif not isinstance(reference, RetrievalReference):
        reference = RetrievalReference(relevant=reference)
    if (reference.qrels is None) == (reference.relevant is None):
        raise InvalidReference("the reference needs either 'qrels' or 'relevant'", path="reference")
    catalogue = reference.catalogue if reference.catalogue is not None else params.catalogue
    if reference.qrels is None:
        gains = dict.fromkeys((params.id(one) for one in reference.relevant or ()), 1.0)
    else:
        gains = {params.id(one): float(gain) for one, gain in reference.qrels.items()}
    for one, gain in gains.items():
        if not (math.isfinite(gain) and gain >= 0) or (params.gain == "exponential" and gain > _MOST_GAIN):
            raise InvalidReference(
                f"the relevance of {one[:80]!r} is {gain}: it must be finite and at least 0", path="reference"
            )
    levels = {one: gain for one, gain in gains.items() if one} if params.ordered else {}
    if reference.qrels is None:
        levels = {one: -float(place) for place, one in enumerate(levels)}
    gains = {one: gain for one, gain in gains.items() if gain > 0 and one}
    least = params.relevant_from
    relevant = frozenset(one for one, gain in gains.items() if least is None or gain >= least)
    if not relevant:
        raise InvalidReference("nothing is relevant: there is no right list", path="reference")
    allowed = frozenset(params.id(one) for one in catalogue) if catalogue is not None else None
    if allowed is not None and not allowed >= gains.keys():
        raise InvalidReference("a relevant id is not in the catalogue", path="reference")
    if allowed is None and (params.complete or params.unknown == "refuse"):
        raise InvalidReference("complete and unknown='refuse' need a catalogue", path="reference")
    pairs = measures.order_pairs(levels)
    if not pairs and any(measure.name in ("pairs", "tau") for measure in params.weights):
        raise InvalidReference("no two ids differ in relevance: there is no order", path="reference")
    # The sort is stable: equal gains keep the reference's order.
    by_gain = sorted(gains, key=lambda one: -gains[one])
    ideal = tuple(dict.fromkeys(map(params.id, reference.order or by_gain)))
    places = tuple(dict.fromkeys(params.id(one) for one in catalogue or ()))
    return Expected(gains, ideal, relevant, allowed, max(gains.values()), places, levels, pairs)


@verifier(version="2", graded=True, prepare=expect)
def retrieval(response: str, prepared: Expected, params: RetrievalParams) -> Outcome:
    """Scores a ranked list of ids, the most relevant first, by nDCG, recall, precision, MRR, MAP, RBO or its order.

    The reference gives each id's relevance (`{"d3": 2, "d7": 1}`), a list of relevant ids (in the ideal order, for
    rank-biased overlap), or `{qrels | relevant, order, catalogue}`. The list is read from a box, an answer tag, a tag
    `<ranking>` or the whole response. It can be JSON, "[3] > [1] > [2]", a Markdown table, numbered or bulleted lines,
    separated by commas or blanks, or one id per line. In a table, the headings identify the column of ids; the ids are
    ranked from top to bottom, or by a column of ranks. Several metrics are combined in a weighted mean, and the
    components hold each value.

    nDCG equals scikit-learn's `ndcg_score` if no scores tie, with linear or exponential gains. MAP at k divides by the
    number of relevant ids that fit within k, so that full marks are possible. RBO is the extrapolated variant. A
    repeated or unknown id earns nothing and keeps its rank, unless it is refused. `steps` has an entry for each rank:
    its gain as a share of the largest one, which Rank-GRPO uses to credit tokens.

    `pairs`, `tau` and `exact` compare the order of all ids of the reference, including those of relevance 0. Use them
    with a reference for a task that asks for an order: `["first", "second"]`, or relevances, of which equal ones can be
    in any order. A pair counts if both ids are listed and the better one is first. `tau` is the number of pairs in
    order minus that of all others, divided by the number of pairs: Kendall's tau if every id is listed. Negative values
    become 0, so that chance earns little. `exact` needs every id once, in order, and no other id.

    With `answers: scores` the response gives a score for each id, the higher the better: a JSON object, objects with an
    id and a score, lines such as "d3: 0.9", or a JSON list of numbers for the ids of the catalogue in its order. Ties
    count as the worst order that they allow.

    These responses score 0: no list (`no_answer`), two lists (`hedged`), a list of more than 10,000 ids
    (`too_expensive`), and, if the parameters refuse them, `duplicates`, `unknown_ids`, `wrong_length` and `incomplete`.
    """
    evidence: dict[str, Any] = {"rule": "response"}
    found = extract(response, params.extraction)
    if found is None and not params.whole_response:
        return no_answer()
    texts = (response,) if found is None else found.texts
    if found is not None:
        evidence["rule"] = found.rule
    if any(len(text) > MOST_CHARACTERS for text in texts):
        return too_expensive(evidence=evidence)
    read: Callable[[str], Sequence[Entry] | None] = ranking if params.answers == "order" else scores
    lists = [read(text) for text in dict.fromkeys(texts)]
    if len({tuple(one) for one in lists if one}) > 1:
        return wrong("hedged", flags=("hedged",), evidence=evidence)
    written = lists[-1]
    if written is None:
        return no_answer(evidence=evidence)
    if len(written) > MOST_IDS:
        return too_expensive(evidence={**evidence, "ids": len(written)})
    ids = _sorted(written, prepared, params)
    if ids is None:
        return wrong("wrong_length", flags=("wrong_length",), evidence={**evidence, "ids": len(written)})
    return _judged(ids, prepared, params, evidence)


def _sorted(written: Sequence[Entry], prepared: Expected, params: RetrievalParams) -> list[str] | None:
    """Returns the ids in their order; None for scores without ids that are not one for each id of the catalogue."""
    scored_ids: list[tuple[float, float, str]] = []
    ids: list[str] = []
    for place, entry in enumerate(written):
        if isinstance(entry, str):
            ids.append(params.id(entry))
            continue
        name, score = entry
        if name is None:
            if len(written) != len(prepared.places):
                return None
            name = prepared.places[place]
        one = prepared.meant(params.id(name))
        # Attack: one score for all. Among equal scores the worst is first, and an unknown id before all.
        scored_ids.append((-score, prepared.levels.get(one, -math.inf), one))
    if ids:
        return [prepared.meant(one) for one in prepared.parted(ids)]
    return [one for _, _, one in sorted(scored_ids)]


def _judged(ids: Sequence[str], prepared: Expected, params: RetrievalParams, evidence: dict[str, Any]) -> Outcome:
    seen: set[str] = set()
    gains: list[float] = []
    steps: list[StepScore] = []
    repeated, unknown = 0, 0
    for rank, one in enumerate(ids):
        told = None
        if one in seen:
            repeated += 1
            told, gain = "duplicate", 0.0
        else:
            gain = prepared.gains.get(one, 0.0)
            if prepared.catalogue is not None and one not in prepared.catalogue:
                unknown += 1
                told = "unknown"
        seen.add(one)
        gains.append(gain)
        if rank < _STEPS:
            steps.append(StepScore(index=rank, score=gain / prepared.most, label=one[:200], feedback=told))
    evidence |= {"ids": len(ids), "duplicates": repeated, "unknown": unknown}
    shown: dict[str, Any] = {"extracted": list(ids[:100]), "evidence": evidence, "steps": tuple(steps)}
    problem = _refused(ids, repeated, unknown, prepared, params)
    if problem is not None:
        return wrong(problem, flags=(problem,), **shown)
    values = {measure: _value(measure, ids, gains, prepared, params) for measure in params.weights}
    total = sum(params.weights.values())
    raw = min(1.0, sum(values[measure] * weight for measure, weight in params.weights.items()) / total)
    raw = 1.0 if raw >= 1.0 - 1e-12 else raw
    passed = raw >= params.threshold
    return scored(
        raw if params.graded else float(passed),
        passed=passed,
        reason=None if passed else "partly_right" if raw else "wrong",
        raw=raw,
        components={
            measure.name + (f"@{measure.cut}" if measure.cut else ""): Component(status="scored", score=value)
            for measure, value in values.items()
        },
        **shown,
    )


def _refused(
    ids: Sequence[str], repeated: int, unknown: int, prepared: Expected, params: RetrievalParams
) -> str | None:
    if repeated and (params.duplicates == "refuse" or params.complete):
        return "duplicates"
    if unknown and (params.unknown == "refuse" or params.complete):
        return "unknown_ids"
    if params.length is not None and len(ids) != params.length:
        return "wrong_length"
    if params.complete and prepared.catalogue is not None and len(set(ids)) < len(prepared.catalogue):
        return "incomplete"
    return None


def _value(
    measure: Measure, ids: Sequence[str], gains: Sequence[float], prepared: Expected, params: RetrievalParams
) -> float:
    name, cut = measure.name, measure.cut
    if name == "ndcg":
        return measures.ndcg(gains, list(prepared.gains.values()), cut, params.gain)
    if name == "rbo":
        first = {one: rank for rank, one in reversed(list(enumerate(ids)))}
        # One that came before keeps its rank, as something that is in no other list.
        found = [one if first[one] == rank else f"\0{rank}" for rank, one in enumerate(ids)]
        # The extrapolation takes what is not written for as good as what is: one sure id would earn full marks.
        found += [f"\0{rank}" for rank in range(len(found), len(prepared.ideal))]
        return measures.overlap(found, prepared.ideal, params.rbo_p, cut)
    if name in measures.ORDERS:
        found_pairs = measures.in_order(ids, prepared.levels)
        if name == "pairs":
            return found_pairs / prepared.pairs
        if name == "tau":
            return max(0.0, (2 * found_pairs - prepared.pairs) / prepared.pairs)
        return float(found_pairs == prepared.pairs and sorted(ids) == sorted(prepared.levels))
    least = params.relevant_from
    hits = [gain > 0 and (least is None or gain >= least) for gain in gains]
    if name == "recall":
        return measures.recall(hits, len(prepared.relevant), cut)
    if name == "precision":
        return measures.precision(hits, cut)
    if name == "mrr":
        return measures.reciprocal_rank(hits, cut)
    if name == "map":
        return measures.average_precision(hits, len(prepared.relevant), cut)
    return float(any(hits[:cut]))
