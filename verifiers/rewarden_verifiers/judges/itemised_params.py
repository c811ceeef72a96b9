"""The options that `rubric` and `checklist` share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rewarden.errors import InvalidParams
from rewarden_verifiers.judges.params import JudgeParams
from rewarden_verifiers.judges.showing import Show


@dataclass(frozen=True, kw_only=True)
class ItemisedParams(JudgeParams):
    """Options of verifiers that judge criterion by criterion. `aggregate` and `tie` are of the opinions on one:
    with `mean` a criterion that two of three opinions find met counts two thirds of its points.

    calls: all criteria in one call (`together`), or one call for `each`, which costs as many times as much and lets no
        criterion colour another.
    abstain: what it means that the judge cannot tell: `against` the response (not met; met where points are negative),
        `skip` (the criterion counts for nothing, its points are not among those to be reached), or `undecided` (no
        score, where half of the opinions on a criterion or more cannot tell). What cannot be told is often the
        response's own doing, so that the other two may pay.
    quotes: `require`: a criterion of positive points is met only with a quote that stands in the response word for
        word; not for criteria that ask for what is not there. `free`: quotes are reported as the judge gives them.
    unscored: a program without a score: the `whole` has none, for the same reason; or `skip` it, unless nobody could be
        reached or something broke down (fault `infra`), which is the whole's always.
    threshold: the score from which a response passes; none: more than a half.
    show: the `response` as the view has it, or the whole `transcript`: all messages of the response, tools' results and
        calls among them.
    media: whether the judge is shown the sample's images.
    """

    calls: Literal["together", "each"] = "together"
    abstain: Literal["against", "skip", "undecided"] = "against"
    quotes: Literal["free", "require"] = "free"
    unscored: Literal["whole", "skip"] = "whole"
    threshold: float | None = None
    show: Show = "response"
    media: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold is not None and not -100 <= self.threshold <= 1:
            raise InvalidParams("params.threshold must be at most 1", path="params.threshold")

    @property
    def passing(self) -> float:
        """The least score that passes. A sum of floats that should reach it may lack a rounding."""
        return math.nextafter(0.5, 1) if self.threshold is None else self.threshold - 1e-9
