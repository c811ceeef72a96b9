"""Parameters of `environment`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.environments.actions import Form


@dataclass(frozen=True, kw_only=True)
class EnvironmentParams:
    """Options of `environment`.

    actions: Form of the actions in the response: tool `calls`, `<action>` `tags`, whole `turns` of the policy, or a
        `json` list of texts. `auto`: calls if there are any, else tags, else turns; a text without messages has no
        turns.
    score: `success`: 1 if the episode reached its goal, else 0. `return`: the sum of the rewards, scaled from the ends
        that the environment declares, or `low` and `high`; an episode that did not end by its rules earns 0.
    low, high: Returns that score 0 and 1.
    unfinished: Score of an episode that goes on or was cut off by `max_steps`, if `score` is `return`: `zero`, or its
        `return` so far.
    cost: Taken from the score for each unit of cost, down to 0.
    waits: If the last words of a user that a judge plays are missing, the evidence has the question to the judge as
        `asked`; else the episode is refused.
    """

    actions: Form = "auto"
    score: Literal["success", "return"] = "success"
    low: float | None = None
    high: float | None = None
    unfinished: Literal["zero", "return"] = "zero"
    cost: float = 0.0
    waits: bool = False

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ValueError("give low and high, or neither")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ValueError("low must be below high")
        if not 0 <= self.cost <= 1:
            raise ValueError("cost must be 0 to 1")
