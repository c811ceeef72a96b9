"""The credit where things were matched one to one, and where nothing was offered to be matched."""

from __future__ import annotations

from typing import Any

from rewarden.types import Outcome
from rewarden_verifiers.outcome import no_answer, right, scored, wrong


def aggregate(total: float, predicted: int, expected: int, how: str, beta: float) -> float:
    """One score of pairs that are worth `total` together, each at most 1: by how many were predicted (`precision`), by
    how many were expected (`recall`), by both (`f`, F-beta), or by the greater of the two numbers (`mean`).
    """
    if not total:
        return 0.0
    precision, recall = total / predicted, total / expected
    if how == "precision":
        return precision
    if how == "recall":
        return recall
    if how == "f":
        square = beta**2
        return (1 + square) * precision * recall / (square * precision + recall)
    return total / max(predicted, expected)


def nothing_found(
    *, denied: bool, expected: bool, empty_score: float, pass_score: float, details: dict[str, Any]
) -> Outcome:
    """The outcome of an answer that offers nothing: right where it says that there is none, and none is.

    denied: the answer says so; expected: something is there; empty_score: what rightly finding nothing earns.
    """
    if not denied:
        return no_answer(**details)
    if expected:
        return wrong("missed", extracted=[], **details)
    if empty_score == 1:
        return right(extracted=[], **details)
    return scored(empty_score, passed=empty_score >= pass_score, reason="empty", extracted=[], **details)
