"""Options of `time`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

from rewarden.types import Progress
from rewarden_verifiers.answer.time.durations import TwoPart
from rewarden_verifiers.answer.time.finding import time_ladder
from rewarden_verifiers.answer.time.moments import Granularity, Unit
from rewarden_verifiers.answer.time.points import DayOrder
from rewarden_verifiers.extraction import Ladder

Kind = Literal["date", "clock", "duration", "order", "entity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A rate, and the training step from which it applies."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    from_step: int
    rate: float


@dataclass(frozen=True, kw_only=True)
class TimeParams:
    """Options of `time`.

    extraction: Rules that find the answer: `auto` (any marked answer, else a response of one short line, or the only
        time of the last sentence; if the prompt asks for a box or a tag, only that counts), `strict` (the last box or
        tag), `explicit` (any marked answer), `lax` (as `auto` but regardless of the prompt, and finally the last date,
        time or duration), `whole` (the entire response), or an ordered list of rules, which can include `last_time`.
    kind: Kind of the reference: `date` (a year, month, date or instant), `clock` (a time of day), `duration`, `order`,
        `entity` (a name); `auto`: recognised by form, "1:30:00" as a time of day.
    day_order: Reading of 05/03/2024: `day_first`, `month_first`, or `refuse` (as `ambiguous`) if both readings are
        dates.
    granularity: Precision of the comparison: that of the `reference`, or coarser.
    finer: `accept` or `refuse` an answer that is more precise than the reference. It must then lie within the
        reference.
    coarser: `accept` or `refuse` an answer that is less precise than the comparison. If accepted, missing parts are not
        compared: "2024" is then right for every day of that year.
    zone: `optional`: an answer without a time zone is in the reference's; `required`: it must have one if the reference
        has one; `ignored`: local times are compared.
    two_part: Reading of 1:30 as a duration: `hours` (and minutes), `minutes` (and seconds), or `refuse`.
    plain: Unit of a duration that is only a number. If unset, such an answer is not read.
    unit: Unit of distance, tolerance and rate; `auto`: that of the reference's precision.
    tolerance: Largest distance that counts as right.
    partial: Partial credit for a wrong answer at distance d: `none`; `exponential`, exp(-rate * d); `linear`, 1 - rate
        * d.
    rate: Rate of that decrease.
    schedule: Rates by training step instead, in order of steps. The first rate applies before its step, and if the
        request has no progress.
    interpolate: Interpolates the rate linearly between stages instead of changing it in steps.
    ordering: Credit for a wrong order: `exact`: none; `pairs`: the share of pairs in the right order (half of them in a
        random order); `kendall`: the share of right pairs minus that of wrong ones, if positive.
    weights: Weights of the parts of a reference that has several; 1 by default.
    passes: Lowest score at which the sample passes.
    """

    extraction: str | tuple[str | dict[str, str], ...] = "auto"
    kind: Literal["auto"] | Kind = "auto"
    day_order: DayOrder = "refuse"
    granularity: Literal["reference"] | Granularity = "reference"
    finer: Literal["accept", "refuse"] = "accept"
    coarser: Literal["accept", "refuse"] = "refuse"
    zone: Literal["optional", "required", "ignored"] = "optional"
    two_part: TwoPart = "refuse"
    plain: Unit | None = None
    unit: Literal["auto"] | Unit = "auto"
    tolerance: float = 0.0
    partial: Literal["none", "exponential", "linear"] = "none"
    rate: float = 0.1
    schedule: tuple[Stage, ...] = ()
    interpolate: bool = False
    ordering: Literal["exact", "pairs", "kendall"] = "exact"
    weights: Mapping[str, float] = field(default_factory=dict)
    passes: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < math.inf:
            raise ValueError("tolerance must be 0 or more, and finite")
        if any(not 0 < rate < math.inf for rate in (self.rate, *(stage.rate for stage in self.schedule))):
            raise ValueError("rate must be more than 0, and finite")
        steps = [stage.from_step for stage in self.schedule]
        if steps != sorted(set(steps)) or any(step < 0 for step in steps):
            raise ValueError("schedule: from_step must be 0 or more and grow from stage to stage")
        if any(not 0 <= weight < math.inf for weight in self.weights.values()):
            raise ValueError("weights must be 0 or more, and finite")
        if not 0 < self.passes <= 1:
            raise ValueError("passes must be more than 0, and at most 1")
        time_ladder(self.extraction)

    @cached_property
    def ladder(self) -> Ladder:
        """The rules of extraction."""
        return time_ladder(self.extraction)

    def rate_at(self, progress: Progress | None) -> float:
        """The rate at this training step."""
        if not self.schedule:
            return self.rate
        step = progress.step if progress is not None else 0
        before = self.schedule[0]
        for stage in self.schedule:
            if stage.from_step > step:
                if not self.interpolate or step < before.from_step:
                    break
                share = (step - before.from_step) / (stage.from_step - before.from_step)
                return before.rate + share * (stage.rate - before.rate)
            before = stage
        return before.rate
