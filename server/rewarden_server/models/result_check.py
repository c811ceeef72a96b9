"""The check that a result fits its task: what another process says is not taken on trust."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sized
from typing import Any

from rewarden.errors import ModelError
from rewarden_verifiers.inference import (
    Choices,
    Choose,
    Likelihoods,
    Logits,
    Margin,
    Rate,
    StepValues,
    Task,
    Texts,
    Vector,
    Write,
)

_ABOVE_ONE = 1e-3
"""The most by which rounding may raise a log-probability above 0 (bfloat16's is 4e-3 for values near 1, computed in
float32)."""


def check_result(task: Task[Any], result: Any) -> None:
    """Raises ModelError for a result whose counts do not match the task, or with a number that is not finite."""
    if isinstance(result, Logits):
        _count("logits", result.values, len(result.labels))
        _some("logits", result.values)
        _finite(result.values)
    elif isinstance(result, Margin):
        _finite([result.logit])
    elif isinstance(result, Choices):
        assert isinstance(task, Choose)
        _count("probabilities", result.logprobs, len(task.choices))
        _probable(result.logprobs)
    elif isinstance(result, Likelihoods):
        _count("probabilities", result.logprobs, len(result.tokens))
        _some("probabilities", result.logprobs)
        _probable(result.logprobs)
    elif isinstance(result, StepValues):
        assert isinstance(task, Rate)
        _count("rows of steps", result.values, len(task.steps))
        labels = len(task.choices) or len(result.labels)
        for row in result.values:
            _count("values of a step", row, labels)
            _some("values of a step", row)
            _finite(row)
            if task.choices:
                _probable(row)
    elif isinstance(result, Texts):
        assert isinstance(task, Write)
        _count("texts", result.texts, task.samples)
    elif isinstance(result, Vector):
        _some("components", result.values)
        _finite(result.values)


def _count(what: str, found: Sized, wanted: int) -> None:
    if len(found) != wanted:
        raise ModelError(f"the model's process returned {len(found)} {what} instead of {wanted}", kind="misfit")


def _some(what: str, found: Sized) -> None:
    if not len(found):
        raise ModelError(f"the model's process returned no {what}", kind="misfit")


def _finite(values: Iterable[float]) -> None:
    if not all(map(math.isfinite, values)):
        raise ModelError("the model's result is not a finite number", kind="not_finite")


def _probable(values: Iterable[float]) -> None:
    for value in values:
        if not math.isfinite(value):
            raise ModelError("the model's result is not a finite number", kind="not_finite")
        if value > _ABOVE_ONE:
            raise ModelError(f"the model's process returned a probability above 1 (logarithm {value:g})", kind="misfit")
