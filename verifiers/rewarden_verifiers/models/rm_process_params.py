"""The options of `rm_process`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rewarden.errors import InvalidParams
from rewarden_verifiers.judges.splitting import Split
from rewarden_verifiers.models.implicit import check_reference
from rewarden_verifiers.models.params import ModelParams, within

Aggregate = Literal["min", "product", "mean", "last", "max", "sum", "clip", "delta", "clip_delta", "progress"]

LIFTED = ("mean", "sum")
"""Aggregates that many right steps can raise, even if they say little."""


@dataclass(frozen=True, kw_only=True)
class Params(ModelParams):
    """Options of `rm_process`, in addition to those of every verifier that uses a model.

    by: Where the values of steps come from. `head`: a token-classification head at the mark after each step. `token`:
        the probability of `good` against `bad` at that position. `prefix`: a sequence-classification head on the
        response up to the end of each step. `written`: verifications that a generative model writes, with a verdict on
        each step. `implicit`: of two causal models, see `reference_model`. `signals`: the trainer sends them.
    reference_model: For `implicit`: the model with which the training of `model` began. The value of a step is beta *
        (log p - log p_reference) of the response up to its end, as in Implicit PRM and EurusPRM (arXiv 2412.01981), or
        by default its sigmoid. With `activation: none`, `aggregate: progress` gives each step its own part.
    beta: For `implicit`: the factor.
    models: Several models of the server's `[models.named]` to ask, instead of `model`.
    ensemble: How to combine the values of several models for a step: their `mean` or `min`.
    split: How to split the response if the sample has no steps: into `paragraphs`, `lines`, `numbered` steps or `tags`.
    tag: The name of the tags for `split: tags`.
    most_steps: Maximum number of steps; a response with more gets the lowest score (`too_many_steps`).
    least_steps: Minimum number of steps; a response with fewer gets the lowest score (`too_few_steps`). With `product`,
        fewer steps of the same quality score higher.
    shortest: Steps with fewer characters are joined with the next one, unless the sample gives the steps; null: 8 for
        `mean` and `sum`, which many empty words could raise, otherwise 0.
    input: What the model reads: a `chat`, in which the steps are the assistant's turn, or `text`.
    text: For `input: text`: the text before the steps; `{prompt}` stands for the prompt.
    system: For `input: chat`: the system message, if not empty.
    mark: The mark after each step, for `head` and `token`.
    between: The separator before each step but the first.
    at: Where to read values: at the mark, or from the prediction for the token after it (`next`). For `token`, `mark`
        is the probability that `good` or `bad` stands in place of the mark. Null: `mark` for `head`, `next` for
        `token`.
    good: For `token`: the text that means a right step. It must be a single token, and a leading space is part of it. A
        model that learned the sign as a separate word, as Math-Shepherd did, has learned ` +`, which is another token
        than `+`.
    bad: For `token`: the text that means a wrong step, in the same way.
    output: The output of a head that is the value, by index or label; null: the only one, or the second of two, unless
        their labels say that the first means a right step, in which case it must be given.
    activation: How to turn a head's outputs into a value: `sigmoid`, `softmax` or `none`. `auto`: `sigmoid` for a
        single output and for labels that do not exclude each other, otherwise `softmax`.
    low: The lowest value of a step. Limits other than 0 and 1 are only allowed for `activation: none` and `signals`.
    high: The highest value of a step. A value outside the limits is clipped, with the flag `clipped`.
    samples: For `written`: how many verifications to write.
    temperature: Sampling temperature of the verifications.
    max_tokens: Maximum number of tokens of one verification.
    seed: Sampling seed. With a `temperature`, the same seed can give other verdicts on another machine.
    instructions: Further instructions to the model that writes.
    estimate: For `signals` with counts of successful continuations: the value of a step is their `rate`, or 1 if there
        is `any`.
    aggregate: How to combine the steps. `min`, `product`, `mean`, `last` (for a value model, the value of the whole),
        `max` (for a search; a policy would learn to write a single good step). `sum`: see `bounded`. `clip`, `delta`,
        `clip_delta` (arXiv 2410.15115) and `progress` (differences from the previous value): each step has its own
        reward, and the score is their sum.
    bounded: Whether a sum is limited to the value of one perfect step. If not, its limit is `most_steps` times as high.
    eta: The value from which `clip` subtracts nothing.
    last_step: The reward of the last step for `delta` and `clip_delta`: its own value (`keep`), or none, and the step
        before it has its own value (`drop`; a single step keeps its value).
    start: For `progress`: the value before the first step. `signals.start_value` overrides it.
    error: A step with a value below this is wrong; null: the middle of `low` and `high`.
    threshold: The lowest score that passes; null: `passed` is not set.
    """

    by: Literal["head", "token", "prefix", "written", "implicit", "signals"] = "head"
    reference_model: str | None = None
    beta: float = 0.05
    models: tuple[str, ...] = ()
    ensemble: Literal["mean", "min"] = "mean"
    split: Split = "paragraphs"
    tag: str = "step"
    most_steps: int = 64
    least_steps: int = 1
    shortest: int | None = None
    input: Literal["chat", "text"] = "chat"
    text: str = "{prompt}\n\n"
    system: str = ""
    mark: str = "\n\n"
    between: str = ""
    at: Literal["mark", "next"] | None = None
    good: str = "+"
    bad: str = "-"
    output: int | str | None = None
    activation: Literal["auto", "sigmoid", "softmax", "none"] = "auto"
    low: float = 0.0
    high: float = 1.0
    samples: int = 1
    temperature: float = 0.0
    max_tokens: int = 2048
    seed: int = 0
    instructions: str = ""
    estimate: Literal["rate", "any"] = "rate"
    aggregate: Aggregate = "min"
    bounded: bool = True
    eta: float = 0.5
    last_step: Literal["keep", "drop"] = "keep"
    start: float = 0.0
    error: float | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        within("most_steps", self.most_steps, 1, 4096)
        within("least_steps", self.least_steps, 1, self.most_steps)
        within("samples", self.samples, 1, 64)
        within("temperature", self.temperature, 0, 2)
        within("max_tokens", self.max_tokens, 1, 65_536)
        within("seed", self.seed, 0, 2**53)
        within("low", self.low, -1e6, 1e6)
        within("high", self.high, -1e6, 1e6)
        if not self.low < self.high:
            raise InvalidParams("params.low must be below params.high", path="params.low")
        if (self.low, self.high) != (0, 1) and not (
            self.by == "signals" or (self.by in ("head", "prefix", "implicit") and self.activation == "none")
        ):
            raise InvalidParams(
                "params.low and params.high are for activation none and for signals; other values are from 0 to 1",
                path="params.low" if self.low != 0 else "params.high",
            )
        within("error", self.error, self.low, self.high)
        if self.aggregate == "progress":
            within("start", self.start, self.low, self.high)
        if self.aggregate in ("clip", "clip_delta") and not self.low < self.eta <= self.high:
            raise InvalidParams("params.eta must be above params.low and at most params.high", path="params.eta")
        within("shortest", self.shortest, 0, 10_000)
        if self.aggregate == "product" and not 0 <= self.low < self.high <= 1:
            raise InvalidParams("params.aggregate product is for values from 0 to 1", path="params.aggregate")
        implicit = self.by == "implicit"
        check_reference(self.reference_model, implicit, self.model, "by: implicit")
        within("beta", self.beta, 1e-6, 1e3)
        if implicit and (self.models or self.output is not None or self.activation == "softmax"):
            name = "models" if self.models else "activation" if self.output is None else "output"
            raise InvalidParams(f"params.{name} is not for by: implicit", path=f"params.{name}")
        if not re.fullmatch(r"[A-Za-z_][\w.-]{0,63}", self.tag):
            raise InvalidParams("params.tag must be a tag's name", path="params.tag")
        if not self.mark:
            raise InvalidParams("params.mark must not be empty", path="params.mark")
        if not self.good or not self.bad or self.good == self.bad:
            raise InvalidParams("params.good and params.bad must differ and not be empty", path="params.bad")
        if self.models and (self.model is not None or self.by == "signals"):
            raise InvalidParams("params.models replaces params.model, and asks", path="params.models")
        if len(set(self.models)) != len(self.models) or len(self.models) > 16:
            raise InvalidParams("params.models must be at most 16 different names", path="params.models")
        within("threshold", self.threshold, *self.range)

    @property
    def range(self) -> tuple[float, float]:
        """The range of the scores."""
        low, high, most = self.low, self.high, self.most_steps
        if self.aggregate == "product":
            return 0.0, 1.0
        if self.aggregate == "sum" and not self.bounded:
            return most * min(low, 0.0), most * max(high, 0.0)
        if self.aggregate in ("sum", "delta"):
            return min(low, 0.0), max(high, 0.0)
        if self.aggregate == "clip":
            return most * (low - self.eta), 0.0
        if self.aggregate == "clip_delta":
            return low - self.eta, 0.0
        if self.aggregate == "progress":
            return low - high, high - low
        return low, high

    @property
    def wrong_below(self) -> float:
        """The value below which a step is wrong."""
        return (self.low + self.high) / 2 if self.error is None else self.error

    @property
    def joined_below(self) -> int:
        """The number of characters below which a step is joined with the next one."""
        if self.shortest is not None:
            return self.shortest
        return 8 if self.aggregate in LIFTED else 0
