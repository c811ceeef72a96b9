"""The options of `judge`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rewarden.errors import InvalidParams
from rewarden_verifiers.judges.params import JudgeParams, positive_share
from rewarden_verifiers.judges.scales import Scale
from rewarden_verifiers.judges.showing import Show

MOST_ASPECTS = 32


@dataclass(frozen=True, kw_only=True)
class Aspect:
    """One side of a response that is scored by itself. description: what it means; scale: none: that of all; weight: in
    the mean."""

    description: str
    scale: Scale | None = None
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Example:
    """A response and what the judge should say of it."""

    response: str
    verdict: Literal["yes", "no"]


@dataclass(frozen=True, kw_only=True)
class Params(JudgeParams):
    """Options of `judge`, beside those of every verifier that asks judges.

    mode: what is asked. `reference`: whether the response's final answer is the reference's. `scale`: a number on
        `scale`. `accept`: whether the response is as `instructions` and `examples` want it. `aspects`: a number for
        each of `aspects`.
    by: how the reply is read, for `reference` and `accept`: `text`: as JSON; `probability`: by the probability of a yes
        as the reply's first token, which is then the score.
    yes, no: the first tokens that mean so, for `by: probability`; without regard to case and blanks around them.
    least: how probable both together must be; else the judge was about to say something else, which cannot be read.
    scale: for `scale`, and for aspects without their own.
    aspects: by name.
    examples: responses with the wanted verdict, for `accept`.
    threshold: the score from which a response passes; none: more than a half.
    show: the `response` as the view has it, or the whole `transcript`: all messages of the response, tools' results and
        calls among them.
    media: whether the judge is shown the sample's images.
    """

    mode: Literal["reference", "scale", "accept", "aspects"] = "reference"
    by: Literal["text", "probability"] = "text"
    yes: tuple[str, ...] = ("yes",)
    no: tuple[str, ...] = ("no",)
    least: float = 0.5
    scale: Scale = field(default_factory=Scale)
    aspects: Mapping[str, Aspect] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()
    threshold: float | None = None
    show: Show = "response"
    media: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.scale.check("params.scale")
        positive_share("threshold", self.threshold)
        if self.by == "probability":
            self._check_words()
        if self.mode == "accept" and not (self.instructions.strip() or self.examples or self.prompt.user):
            raise InvalidParams(
                "params.instructions must say what is accepted (or give examples)", path="params.instructions"
            )
        if self.examples and self.mode != "accept":
            raise InvalidParams("params.examples are for mode accept", path="params.examples")
        if (self.mode == "aspects") != bool(self.aspects):
            raise InvalidParams("params.aspects go with mode aspects, at least one", path="params.aspects")
        self._check_aspects()

    @property
    def passing(self) -> float:
        """The least score that passes."""
        return math.nextafter(0.5, 1) if self.threshold is None else self.threshold

    def _check_words(self) -> None:
        if self.mode not in ("reference", "accept"):
            raise InvalidParams("params.by probability is for modes reference and accept", path="params.by")
        yes, no = ({word.strip().lower() for word in words} for words in (self.yes, self.no))
        if not yes or not no or "" in yes | no or yes & no:
            raise InvalidParams("params.yes and no must be words, none of them in both", path="params.yes")
        positive_share("least", self.least)

    def _check_aspects(self) -> None:
        if len(self.aspects) > MOST_ASPECTS:
            raise InvalidParams(f"params.aspects has more than {MOST_ASPECTS}", path="params.aspects")
        for name, aspect in self.aspects.items():
            path = f"params.aspects.{name}"
            if not name.strip():
                raise InvalidParams("params.aspects: an aspect has a name", path="params.aspects")
            if not 0 < aspect.weight <= 1e6:
                raise InvalidParams(f"{path}.weight must be above 0", path=f"{path}.weight")
            if aspect.scale is not None:
                aspect.scale.check(f"{path}.scale")
