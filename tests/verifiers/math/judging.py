"""The judging of a pair in these tests: the answer in a box, the reference as it is."""

from __future__ import annotations

from typing import Any

from rewarden.types import Outcome
from rewarden_verifiers.answer.math.verifier import MathParams, math, prepare
from rewarden_verifiers.contract import Unwatched


def judge(reference: Any, answer: str, **params: Any) -> Outcome:
    """The outcome for a boxed answer."""
    return judge_text(reference, f"Therefore the answer is \\boxed{{{answer}}}.", **params)


def judge_text(reference: Any, response: str, **params: Any) -> Outcome:
    """The outcome for a whole response."""
    options = MathParams(**params)
    outcome = math(response=response, prepared=prepare(reference, options, Unwatched()), params=options)
    assert isinstance(outcome, Outcome)
    return outcome


def equal(reference: Any, answer: str, **params: Any) -> bool:
    """Returns whether the answer earns full marks; it must be decided."""
    outcome = judge(reference, answer, **params)
    assert outcome.status == "scored", outcome
    return outcome.score == 1.0
