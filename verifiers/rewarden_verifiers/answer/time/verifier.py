"""`time`: compares the date, time, duration or order of a response with the expected one, and measures the distance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rewarden.types import Outcome, Progress
from rewarden_verifiers.answer.number.limits import TooExpensive, Unreadable
from rewarden_verifiers.answer.number.numerals import as_float
from rewarden_verifiers.answer.time.compare import compare, shaped
from rewarden_verifiers.answer.time.equivalence import TimeEquivalence
from rewarden_verifiers.answer.time.moments import Clock, Duration, Moment, Point, Unit, position
from rewarden_verifiers.answer.time.params import TimeParams
from rewarden_verifiers.answer.time.reading import (
    MomentKind,
    numbered_month,
    plain_name,
    read_moment,
    read_order,
    read_parts,
)
from rewarden_verifiers.answer.time.reference import Entity, Expected, Order, Prepared, prepare, weight_of
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import Extracted
from rewarden_verifiers.outcome import loosely, no_answer, right, scored, too_expensive, wrong

_EXCERPT = 500
_FLAGGED = frozenset(("hedged", "unparseable_answer", "malformed", "ambiguous", "contradictory"))


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of an answer against one reference."""

    score: float
    right: bool = False
    reason: str = "wrong"
    distance: Fraction | None = None
    unit: Unit | None = None
    position: Fraction | None = None


@verifier(version="3", graded=True, prepare=prepare, equivalence=TimeEquivalence)
def time(
    response: str,
    prepared: Prepared,
    params: TimeParams,
    progress: Progress | None = None,
    prompt: str | None = None,
    finish_reason: str | None = None,
) -> Outcome:
    """Compares a date, time of day, duration or order with the expected one; near misses can earn partial credit.

    The reference is one of these:

    - a text: a year ("1889", "44 BC"), a month ("2024-03", "March 2024"), a date ("5 March 2024", "2024-03-05"), an
      instant ("2024-03-05T14:30:00+01:00"), a time of day ("14:30", "2 pm", "half past two"), a duration ("2 h 30 min",
      "PT2H30M", "3 months"), a weekday, a quarter ("Q3 2021") or a century. Any other text is a name.
    - a list: an order of events or dates
    - `{"any": [ … ]}`: alternatives
    - an object with a reference for each expected part: `{"date": "2021-03", "event": "the eruption", "order": ["B",
      "A"]}`. The answer gives the parts as JSON or as "name: value" in lines or one after the other, and the score is
      their mean by `weights`. The evidence has each part's distance and position (the months or other units of a date
      since the year 0, and of a duration), so that a recipe can compare parts with each other.

    The verifier's own grammar is strict and guesses nothing. It rejects 30 February, a year 0 or after 9999, "half
    two", and a weekday that contradicts its date. A time without am, pm or a part of the day is in the morning; on the
    hour it is as precise as 14:00:00. Dates are compared at the reference's precision, instants across time zones,
    durations by their sum. A month has no fixed number of days, so 30 days are not 1 month unless `tolerance` permits
    it. Without a year, distances wrap around: December is one month from January. Where only a month is expected, its
    number is read.

    A score of 0 has the reason `no_answer`, `hedged` (several answers, a range, or a bound such as "before 2024"),
    `unparseable_answer`, `malformed` (no such date), `ambiguous` (05/03/2024), `contradictory`, `imprecise` (a year for
    a date), `too_precise`, `missing_zone`, `not_a_permutation` or `too_expensive`. For `wrong` and `partly_right`,
    `partial` and `ordering` set the credit.
    """
    found = params.ladder.find(response, prompt=prompt, finish_reason=finish_reason)
    if found is None:
        return no_answer(feedback=params.ladder.missed(response, prompt=prompt, finish_reason=finish_reason))
    outcome = _outcome(found, prepared, params, progress)
    return loosely(outcome) if found.loose else outcome


def _outcome(found: Extracted, prepared: Prepared, params: TimeParams, progress: Progress | None) -> Outcome:
    shown = [text[:_EXCERPT] for text in found.texts]
    evidence: dict[str, Any] = {"rule": found.rule}
    details: dict[str, Any] = {"extracted": shown[0] if len(shown) == 1 else shown, "evidence": evidence}
    rate = params.rate_at(progress)
    if params.schedule:
        details["effective"] = {"rate": rate}
    try:
        if prepared.parts is not None:
            judgement = _parts(found, prepared, params, rate, evidence)
        else:
            judgement = max(
                (_judged(found, one, params, rate) for one in prepared.alternatives), key=lambda one: one.score
            )
    except TooExpensive:
        return too_expensive(**details)
    if judgement.distance is not None and judgement.unit is not None:
        far = as_float(judgement.distance)
        if far is not None:
            evidence |= {"distance": far, "unit": judgement.unit}
    if judgement.right:
        return right(**details)
    if judgement.reason in _FLAGGED and not judgement.score:
        return wrong(judgement.reason, flags=(judgement.reason,), **details)
    if not judgement.score:
        return wrong(judgement.reason, **details)
    passed = judgement.score >= params.passes
    return scored(judgement.score, passed=passed, reason="partly_right", **details)


def _judged(found: Extracted, expected: Expected, params: TimeParams, rate: float) -> Judgement:
    """Compares the extracted texts with one reference. Of several boxes, each must be right."""
    judgements = [_one(text, expected, params, rate) for text in dict.fromkeys(found.texts)]
    if len(judgements) > 1 and not all(one.right for one in judgements):
        return Judgement(0.0, reason="hedged")
    return judgements[0]


def _parts(
    found: Extracted, prepared: Prepared, params: TimeParams, rate: float, evidence: dict[str, Any]
) -> Judgement:
    parts = prepared.parts or {}
    if len(set(found.texts)) > 1:
        return Judgement(0.0, reason="hedged")
    try:
        given = read_parts(found.text, tuple(parts))
    except Unreadable as error:
        return Judgement(0.0, reason=error.reason)
    judgements = {
        name: _one(given[name], expected, params, rate) if name in given else Judgement(0.0, reason="missing_part")
        for name, expected in parts.items()
    }
    weights = {name: weight_of(name, params) for name in parts}
    evidence["parts"] = {name: one.score for name, one in judgements.items()}
    evidence["distances"] = _numbers({name: one.distance for name, one in judgements.items()})
    evidence["positions"] = _numbers({name: one.position for name, one in judgements.items()})
    evidence["failed"] = {name: one.reason for name, one in judgements.items() if not one.right}
    if all(one.right for one in judgements.values()):
        return Judgement(1.0, True)
    total = sum(weights.values())
    score = sum(weights[name] * one.score for name, one in judgements.items()) / total
    return Judgement(min(1.0, score))


def _numbers(exact: Mapping[str, Fraction | None]) -> dict[str, float]:
    """Those that are numbers and not too large for a float."""
    floats = {name: as_float(value) for name, value in exact.items() if value is not None}
    return {name: value for name, value in floats.items() if value is not None}


def _one(text: str, expected: Expected, params: TimeParams, rate: float) -> Judgement:
    try:
        if isinstance(expected, Entity):
            return Judgement(1.0, True) if plain_name(text) == expected.name else Judgement(0.0)
        if isinstance(expected, Order):
            return _order(read_order(text, expected.places, params.day_order), params)
        kind: MomentKind = (
            "duration" if isinstance(expected, Duration) else "clock" if isinstance(expected, Clock) else "date"
        )
        answer: Moment | None = None
        if isinstance(expected, Point) and expected.year is None and expected.granularity == "month":
            answer = numbered_month(text)
        if answer is None:
            answer = read_moment(text.strip(), kind, params.day_order, params.two_part, params.plain)
    except Unreadable as error:
        return Judgement(0.0, reason=error.reason)
    result = compare(expected, answer, params)
    place = None if result.unit is None else position(answer, result.unit)
    if result.right:
        return Judgement(1.0, True, "", result.distance, result.unit, place)
    score = 0.0
    if params.partial != "none" and result.distance is not None:
        score = min(1.0, shaped(result.distance, rate, params))
    return Judgement(score, False, result.reason, result.distance, result.unit, place)


def _order(order: tuple[int, ...], params: TimeParams) -> Judgement:
    """Scores an order by the share of its pairs in the right order."""
    count = len(order)
    pairs = count * (count - 1) // 2
    straight = sum(order[first] < order[second] for first in range(count) for second in range(first + 1, count))
    if straight == pairs:
        return Judgement(1.0, True)
    if params.ordering == "exact":
        return Judgement(0.0)
    share = straight / pairs
    return Judgement(share if params.ordering == "pairs" else max(0.0, 2 * share - 1))
