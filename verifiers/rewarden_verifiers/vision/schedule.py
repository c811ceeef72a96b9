"""Thresholds: the credit for a measure between 0 and 1, either fixed, in steps, or rising during training."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from rewarden.errors import InvalidSample
from rewarden.types import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A threshold, and the training step or the share of all steps at which it starts."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    threshold: float
    from_step: int | None = None
    from_share: float | None = None

    def __post_init__(self) -> None:
        if self.from_step is not None and self.from_share is not None:
            raise ValueError("a stage of the schedule has either from_step or from_share")
        if self.from_step is not None and self.from_step < 0:
            raise ValueError("from_step must be at least 0")
        if self.from_share is not None and not 0 <= self.from_share <= 1:
            raise ValueError("from_share must lie between 0 and 1")


def check_stages(stages: tuple[Stage, ...]) -> None:
    """Raises ValueError if the first stage does not start at 0, the stages are not in order, or they mix steps and
    shares.
    """
    shares = {stage.from_share is not None for stage in stages[1:]}
    if len(shares) > 1:
        raise ValueError("schedule: the stages begin either all at steps or all at shares")
    starts = [float(stage.from_step or stage.from_share or 0) for stage in stages]
    if starts and starts[0] != 0:
        raise ValueError("schedule: the first stage must begin at 0")
    if any(later <= earlier for earlier, later in pairwise(starts)):
        raise ValueError("schedule: each stage must begin after the one before it")


def threshold_now(stages: tuple[Stage, ...], progress: Progress | None) -> tuple[float, dict[str, Any]]:
    """The threshold of the last stage that training has reached, and the values to report as effective.

    Raises InvalidSample if the request does not include the training progress: staying at the first stage forever would
    be a reward that nobody asked for.
    """
    if progress is None:
        raise InvalidSample("the schedule of thresholds needs the batch's 'progress'", path="progress")
    done = float(progress.step)
    if any(stage.from_share is not None for stage in stages):
        if not progress.total_steps:
            raise InvalidSample(
                "a schedule by shares needs 'progress.total_steps'; give it, or stages with from_step",
                path="progress.total_steps",
            )
        done /= progress.total_steps
    threshold = stages[0].threshold
    for stage in stages:
        if float(stage.from_step or stage.from_share or 0) <= done:
            threshold = stage.threshold
    return threshold, {"threshold": threshold, "step": progress.step}
