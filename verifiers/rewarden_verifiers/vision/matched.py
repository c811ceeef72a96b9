"""The credit for items that are matched one to one, and for answers without any item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewarden.types import Outcome
from rewarden_verifiers.outcome import no_answer, right, scored, wrong
from rewarden_verifiers.vision.place_params import PlaceParams
from rewarden_verifiers.vision.reading import Reading


def aggregate(total: float, predicted: int, expected: int, params: PlaceParams) -> float:
    """Returns one score for pairs with a total credit of `total`, at most 1 each. The divisor is the number of
    predictions (`precision`), of expected items (`recall`), or the greater of the two (`mean`); `f` is the F-beta of
    precision and recall.
    """
    if not total:
        return 0.0
    precision, recall = total / predicted, total / expected
    if params.aggregate == "precision":
        return precision
    if params.aggregate == "recall":
        return recall
    if params.aggregate == "f":
        square = params.beta**2
        return (1 + square) * precision * recall / (square * precision + recall)
    return total / max(predicted, expected)


def paired(
    worths: Sequence[float], predicted: int, expected: int, params: PlaceParams, evidence: dict[str, Any]
) -> float:
    """The score of pairs with these credits; its components go into the evidence."""
    total = sum(worths)
    evidence |= {
        "predicted": predicted,
        "expected": expected,
        "matched": len(worths),
        "precision": total / predicted,
        "recall": total / expected,
    }
    return aggregate(total, predicted, expected, params)


def nothing_found(found: Reading[Any], expected: bool, params: PlaceParams, details: dict[str, Any]) -> Outcome:
    """The outcome of an answer without items: right if it says that there are none and none are expected.

    expected: whether any are expected.
    """
    if not found.denied:
        return no_answer(**details)
    if expected:
        return wrong("missed", extracted=[], **details)
    if params.empty_score == 1:
        return right(extracted=[], **details)
    passed = params.empty_score >= params.pass_score
    return scored(params.empty_score, passed=passed, reason="empty", extracted=[], **details)


def outcome(
    score: float, params: PlaceParams, flags: Sequence[str], details: dict[str, Any], reason: str | None = None
) -> Outcome:
    """The outcome for a score. reason: the reason for a score of 0, if it is more specific than `wrong`."""
    if score <= 0:
        return wrong(reason or "wrong", flags=flags, **details)
    passed = score >= params.pass_score
    return scored(min(1.0, score), passed=passed, reason=None if passed else "partly_right", flags=flags, **details)
