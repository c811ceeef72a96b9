"""`number`: compares the number, quantity, range, vector or distribution of a response with the expected one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rewarden.types import Outcome
from rewarden_verifiers.answer.number.compare import between, compare, digits_shared, in_terms_of, shaped, within
from rewarden_verifiers.answer.number.equivalence import NumberEquivalence
from rewarden_verifiers.answer.number.limits import TooExpensive, Unreadable
from rewarden_verifiers.answer.number.numerals import as_float
from rewarden_verifiers.answer.number.params import NumberParams
from rewarden_verifiers.answer.number.quantity import Quantity
from rewarden_verifiers.answer.number.reading import Span, distinct_entries, read_scalar, read_table, read_vector
from rewarden_verifiers.answer.number.reference import Expected, Gold, Prepared, Range, prepare
from rewarden_verifiers.answer.number.units import registry
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import Extracted
from rewarden_verifiers.outcome import loosely, no_answer, right, scored, too_expensive, wrong

_EXCERPT = 500
_UNPAID = frozenset(("hedged", "unparseable_answer"))


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of an answer against one reference."""

    score: float
    right: bool = False
    reason: str = "wrong"
    distance: Fraction | None = None
    value: Fraction | None = None


def warm() -> None:
    """Creates the unit registry once, in the process from which workers are forked."""
    registry()
    read_scalar("3.2 km/h", "point")


@verifier(version="2", graded=True, prepare=prepare, equivalence=NumberEquivalence, warm=warm)
def number(
    response: str,
    prepared: Prepared,
    params: NumberParams,
    prompt: str | None = None,
    finish_reason: str | None = None,
) -> Outcome:
    r"""Compares a number with the expected one, with tolerances, units and percentages; also ranges, vectors, tables.

    The reference is one of these:

    - a number
    - a text: "3.2 km", "12%", "1.2e-3", "3/4", "[1, 2, 3]", "between 3 and 5"
    - a range: `{"low": 3, "high": 5}`, either end optional
    - a list, for a vector
    - an object from names to numbers, for a distribution
    - a number with its unit or tolerances: `{"value": 3.2, "unit": "km", "rel_tol": 0.01}`
    - alternatives: `{"any": [ … ]}`

    The verifier's own grammar reads answers such as `1,234.5`, `1.2e-3`, `1.2 \times 10^{-3}`, `3/4`, `1 3/4`,
    `\frac{3}{4}`, "1.5 million", "three and a half", "$5", "5 ft 3 in" and "72 km/h". Arithmetic is exact: integers can
    have any size, and 3.1 is within 0.1 of 3. Units have pint's meaning, including offsets (degC); no text reaches
    pint's evaluator.

    These responses score 0, with the reason:

    - `no_answer`: there is no answer.
    - `hedged`: several numbers, a range or a bound, although a single number is expected.
    - `unparseable_answer`: no number, NaN, infinity or a formula.
    - `too_expensive`: the number has more digits than the verifier computes.

    A number that is stated plainly but wrong earns `wrong_score` or the credit of `partial`. Its reason is `wrong`,
    `wrong_unit` (a unit of another dimension), `missing_unit`, `wrong_length`, `wrong_names`, `not_a_distribution` or
    `partly_right`.

    If the reference has no unit and `units` is not `required`, a unit in the answer is not judged.
    """
    found = params.ladder.find(response, prompt=prompt, finish_reason=finish_reason)
    if found is None:
        return no_answer(feedback=params.ladder.missed(response, prompt=prompt, finish_reason=finish_reason))
    shown = [text[:_EXCERPT] for text in found.texts]
    details: dict[str, Any] = {"extracted": shown[0] if len(shown) == 1 else shown, "evidence": {"rule": found.rule}}
    try:
        best = max((_judged(found, one, params) for one in prepared.alternatives), key=_merit)
        outcome = _outcome(best, details, params)
    except TooExpensive:
        outcome = too_expensive(**details)
    return loosely(outcome) if found.loose else outcome


def _merit(judgement: Judgement) -> tuple[float, bool]:
    return judgement.score, judgement.reason not in _UNPAID


def _outcome(judgement: Judgement, details: dict[str, Any], params: NumberParams) -> Outcome:
    evidence = details["evidence"]
    for name, value in (("value", judgement.value), ("distance", judgement.distance)):
        if value is not None and (number := as_float(value)) is not None:
            evidence[name] = number
    if judgement.right:
        return right(**details)
    if judgement.reason in _UNPAID:
        return wrong(judgement.reason, flags=(judgement.reason,), **details)
    score = max(judgement.score, params.wrong_score)
    if not score:
        return wrong(judgement.reason, **details)
    partly = judgement.score > params.wrong_score
    reason = "partly_right" if partly and judgement.reason == "wrong" else judgement.reason
    return scored(score, passed=score >= params.passes, reason=reason, **details)


def _judged(found: Extracted, expected: Expected, params: NumberParams) -> Judgement:
    """The worst result for the extracted texts: of several boxes, each must be right."""
    judgements = [_read(text, expected, params) for text in dict.fromkeys(found.texts)]
    if len(judgements) > 1 and not all(one.right for one in judgements):
        return Judgement(0.0, reason="hedged")
    return judgements[0]


def _read(text: str, expected: Expected, params: NumberParams) -> Judgement:
    try:
        if params.count and isinstance(expected, Gold):
            counted = Quantity(Fraction(distinct_entries(text)), digits=1, places=0)
            return _scalar(counted, expected, params)
        if isinstance(expected, tuple):
            return _vector(read_vector(text, params.decimal), expected, params)
        if isinstance(expected, dict):
            return _table(read_table(text, params.decimal), expected, params)
        answer = read_scalar(text.strip(), params.decimal)
    except Unreadable as error:
        return Judgement(0.0, reason=error.reason)
    if isinstance(expected, Range):
        return _range(answer, expected, params)
    return Judgement(0.0, reason="hedged") if isinstance(answer, Span) else _scalar(answer, expected, params)


def _scalar(answer: Quantity, gold: Gold, params: NumberParams) -> Judgement:
    found = compare(gold, answer, params)
    if found.right:
        return Judgement(1.0, True, "", found.distance, answer.value)
    score = 0.0
    if found.distance is not None:
        if params.partial in ("linear", "exponential"):
            score = shaped(found.distance, (gold,), params)
        elif params.partial == "digits":
            values = in_terms_of(gold.quantity, answer, params)
            score = max(digits_shared(gold.quantity.value, value) for value in values if not isinstance(value, str))
    return Judgement(min(score, 1.0), False, found.reason, found.distance, answer.value)


def _range(answer: Quantity | Span, expected: Range, params: NumberParams) -> Judgement:
    if isinstance(answer, Span):
        if params.interval == "within":
            return Judgement(0.0, reason="hedged")
        pairs = ((expected.low, answer.low), (expected.high, answer.high))
        same = all(
            (gold is None) == (end is None) and (gold is None or end is None or compare(gold, end, params).right)
            for gold, end in pairs
        )
        return Judgement(1.0, True, "") if same else Judgement(0.0)
    if params.interval == "same":
        return Judgement(0.0, value=answer.value)
    found = within(expected, answer, params)
    if found.right:
        return Judgement(1.0, True, "", found.distance, answer.value)
    ends = [end for end in (expected.low, expected.high) if end is not None]
    score = shaped(found.distance, ends, params) if params.partial in ("linear", "exponential") else 0.0
    return Judgement(score, False, found.reason, found.distance, answer.value)


def _vector(answer: tuple[Quantity, ...], gold: tuple[Gold, ...], params: NumberParams) -> Judgement:
    return _many(list(zip(gold, answer, strict=False)), max(len(gold), len(answer)), "wrong_length", params)


def _table(answer: dict[str, Quantity], gold: dict[str, Gold], params: NumberParams) -> Judgement:
    shared = [(one, answer[name]) for name, one in gold.items() if name in answer]
    return _many(shared, len(answer.keys() | gold.keys()), "wrong_names", params)


def _many(pairs: list[tuple[Gold, Quantity]], entries: int, incomplete: str, params: NumberParams) -> Judgement:
    """Compares entries one by one; `entries` also counts those that are missing or superfluous."""
    found = [compare(one, value, params) for one, value in pairs]
    hits = sum(one.right for one in found)
    complete = len(found) == entries
    if complete and hits == entries:
        return Judgement(1.0, True, "")
    reason = incomplete if not complete else next(one.reason for one in found if not one.right)
    if params.partial == "items":
        return Judgement(hits / entries, False, reason if not hits else "wrong")
    if not complete or params.partial not in ("linear", "exponential") or any(one.distance is None for one in found):
        return Judgement(0.0, False, reason)
    values = []
    for one, value in pairs:
        terms = in_terms_of(one.quantity, value, params)
        values.append(min((abs(term - one.quantity.value), term) for term in terms if not isinstance(term, str))[1])
    golds = [one for one, _ in pairs]
    distance = between(golds, values, params)
    if distance is None:
        return Judgement(0.0, False, "not_a_distribution" if params.metric in ("kl", "total_variation") else reason)
    return Judgement(min(1.0, shaped(distance, golds, params)), False, reason, distance)
