"""The options of `judge`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rewarden.errors import InvalidParams
from rewarden_verifiers.judges.panel import PanelParams
from rewarden_verifiers.judges.params import check_portions, positive_share
from rewarden_verifiers.judges.scales import Scale
from rewarden_verifiers.judges.showing import Show
from rewarden_verifiers.judges.tools import Tools

MOST_ASPECTS = 32


@dataclass(frozen=True, kw_only=True)
class Aspect:
    """An aspect of a response that is scored separately. description: its meaning. scale: null: the scale shared by all
    aspects. weight: its weight in the mean.
    """

    description: str
    scale: Scale | None = None
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Example:
    """A response, and the verdict that the judge should give it."""

    response: str
    verdict: Literal["yes", "no"]


@dataclass(frozen=True, kw_only=True)
class Params(PanelParams):
    """Options of `judge`, in addition to those of every verifier that asks a judge.

    mode: What to ask. `reference`: whether the response's final answer matches the reference. `solve`: the same for
        prompts without a reference: the judge solves the prompt first, without seeing the response. `scale`: a number
        on `scale`. `accept`: whether the response is what `instructions` and `examples` ask for. `aspects`: a number
        for each of `aspects`.
    by: How to read the reply in the modes `reference`, `solve` and `accept`: `text` (as JSON), or `probability` (the
        score is the probability of a yes as the reply's first token).
    yes: First tokens that mean yes, for `by: probability`. Case and surrounding white space are ignored.
    no: First tokens that mean no, in the same way.
    least: The minimum probability of the yes and no tokens together. With less, the judge was about to reply something
        else, and the reply is unreadable.
    scale: The scale for the mode `scale`, and for aspects without their own.
    aspects: The aspects, by name.
    examples: Responses with the verdict they should get, for the mode `accept`.
    threshold: The lowest score that passes; null: any score above 0.5.
    show: What the judge sees: the `response`, as selected by the view, or the whole `transcript`: all messages of the
        response, including tool calls and their results.
    media: Whether the judge sees the sample's images.
    quotes: `require`: credit needs a quote. In the modes `reference` and `solve`, a judge that accepts a response must
        quote its final answer, which is then compared once more, without the rest of the response. In the other modes
        it must quote the passage that the credit rests on, for each aspect its own. What the response does not hold
        earns nothing, and neither does a passage that the judge credits as much for two unrelated subjects. `free`: the
        judge's word is enough. null: `require` in the modes `reference` and `solve` with the built-in prompt and `by:
        text`, else `free`.
    portions: The maximum number of portions into which a response longer than the judge's context is cut; one that
        needs more gets the lowest score (`too_long`).
    tools: Tools that the judge may call before its verdict, or in mode `solve` before its own answer, if its server has
        function calling.
    """

    mode: Literal["reference", "solve", "scale", "accept", "aspects"] = "reference"
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
    quotes: Literal["require", "free"] | None = None
    portions: int = 8
    tools: Tools = field(default_factory=Tools)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.scale.check("params.scale")
        positive_share("threshold", self.threshold)
        if self.by == "probability":
            self._check_words()
        if self.quotes == "require" and self.by != "text":
            raise InvalidParams("params.quotes: require needs by: text", path="params.quotes")
        if self.mode == "accept" and not (self.instructions.strip() or self.examples or self.prompt.user):
            raise InvalidParams(
                "params.instructions must say what is accepted (or give examples)", path="params.instructions"
            )
        if self.examples and self.mode != "accept":
            raise InvalidParams("params.examples are for mode accept", path="params.examples")
        if (self.mode == "aspects") != bool(self.aspects):
            raise InvalidParams(
                "mode aspects needs params.aspects, at least one; no other mode takes them", path="params.aspects"
            )
        self._check_aspects()
        check_portions(self.portions)
        self.tools.check("params.tools")

    @property
    def quoting(self) -> bool:
        """Returns whether credit needs a quote."""
        if self.quotes is not None:
            return self.quotes == "require"
        return self.compares and self.by == "text" and not (self.prompt.system or self.prompt.user)

    @property
    def compares(self) -> bool:
        """Returns whether the mode compares the final answer with another one."""
        return self.mode in ("reference", "solve")

    @property
    def passing(self) -> float:
        """The lowest score that passes."""
        return math.nextafter(0.5, 1) if self.threshold is None else self.threshold

    def _check_words(self) -> None:
        if self.mode != "accept" and not self.compares:
            message = "params.by probability is for modes reference, solve and accept"
            raise InvalidParams(message, path="params.by")
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
