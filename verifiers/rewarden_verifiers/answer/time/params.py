"""The options of `time`."""

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
    """From this step of training on, `rate` holds."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    from_step: int
    rate: float


@dataclass(frozen=True, kw_only=True)
class TimeParams:
    """Options of `time`.

    extraction: where the answer stands: `auto` (any mark, else a response of one short line, or the only time of the
        last sentence; only a box or a tag where the prompt asks for it), `strict` (last box or tag), `explicit` (any
        mark), `lax` (as `auto` whatever the prompt asks, and the last date, time or duration), `whole`, or an ordered
        list of rules, among them `last_time`.
    kind: what the reference is: `date` (a year, month, date or instant), `clock` (a time of day), `duration`, `order`,
        `entity` (a name); `auto`: as it looks, where "1:30:00" is a time of day.
    day_order: how 05/03/2024 is read: `day_first`, `month_first`, or `refuse` (as `ambiguous`) where both are dates.
    granularity: how precisely dates and times are compared: as the `reference` is stated, or coarser.
    finer: whether an answer may be more precise than the reference, which it then must lie in: `accept` or `refuse`.
    coarser: whether it may be less precise than is compared: `accept` (and what it does not say is not asked: "2024"
        is then right for every day of that year) or `refuse`.
    zone: `optional`: an answer without a time zone is in the reference's; `required`: it must have one where the
        reference has one; `ignored`: local times are compared.
    two_part: what 1:30 is as a duration: `hours` (and minutes), `minutes` (and seconds), or `refuse`.
    plain: the unit of a duration that is a number alone; without one such an answer is not read.
    unit: the unit of distances, tolerance and rate; `auto`: that of the reference's precision.
    tolerance: the largest distance that is right.
    partial: what an answer that is not right may still earn by its distance d: `none`; `exponential`, exp(-rate * d);
        `linear`, 1 - rate * d.
    rate: how fast that falls.
    schedule: rates by step of training instead, in order of steps; before the first step, and where the request tells
        no progress, the first one holds.
    interpolate: whether the rate goes straight from stage to stage instead of in steps.
    ordering: what an order earns that is not right: `exact`: nothing; `pairs`: the share of pairs in the right order (a
        random order has half of them); `kendall`: their surplus over the wrong ones, if there is one.
    weights: what each part of a reference with several counts; 1 where nothing is said.
    passes: the score from which on the sample passes.
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
        """The rate at this step of training."""
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
