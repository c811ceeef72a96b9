"""The options of `rm_process`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rewarden.errors import InvalidParams
from rewarden_verifiers.judges.splitting import Split
from rewarden_verifiers.models.params import ModelParams, within

Aggregate = Literal["min", "product", "mean", "last", "max", "sum", "clip", "delta", "clip_delta", "progress"]

LIFTED = ("mean", "sum")
"""Aggregates that many right steps lift, however little they say."""


@dataclass(frozen=True, kw_only=True)
class Params(ModelParams):
    """Options of `rm_process`, beside those of every verifier that asks models.

    by: where the values of steps come from. `head`: a token-classification head at the mark behind each step. `token`:
        the probability of `good` against `bad` at that place. `prefix`: a sequence-classification head over the
        response up to the end of each step. `written`: verifications that a generative model writes, with a verdict on
        each step. `signals`: the trainer sends them.
    models: names of the server's `[models.named]` that are all asked, instead of `model`.
    ensemble: what a step is worth to several models: the `mean` of theirs, or the `min`.
    split: where the sample names no steps: into `paragraphs`, `lines`, `numbered` steps or `tags`.
    tag: the name of these tags.
    most_steps: of which a response may have no more (`too_many_steps`).
    least_steps: of which it must have as many (`too_few_steps`); by `product`, fewer steps of the same quality are
        worth more.
    shortest: steps of fewer characters are judged together with the next one, unless the sample names the steps; none:
        8 by `mean` and `sum`, which many empty words would lift, otherwise 0.
    input: what is read before the steps: a `chat`, whose assistant's turn they are, or `text`.
    text: by `input: text`, what stands before the steps; `{prompt}` is the prompt.
    system: of a chat, its system turn, unless empty.
    mark: what stands behind each step, by `head` and `token`.
    between: what stands between steps, before each but the first.
    at: whether values are read from the mark, or from what is predicted to follow it (`next`). By `token`, `mark` is
        the probability that `good` or `bad` stands where the mark does. None: `mark` by `head`, `next` by `token`.
    good: the text that says that a step is right, by `token`: one token, of which a blank before it is a part. A model
        that was taught a sign as a word of its own, as Math-Shepherd was, has learned ` +`, which is another token
        than `+`, and says next to nothing of the latter.
    bad: the text that says that it is wrong, likewise.
    output: which output of a head is the value: its index or its label; none: the only one, or the second of two.
    activation: what makes a value of a head's outputs: `sigmoid`, `softmax`, or `none`; `auto`: `sigmoid` of a single
        output or of labels that do not exclude each other, otherwise `softmax`.
    low: the lowest value of a step; beside 0 and 1 only for `activation: none` and `signals`.
    high: the highest; a value beyond is brought in, flagged `clipped`.
    samples: verifications, by `written`.
    temperature: of writing them.
    max_tokens: of one of them.
    seed: of sampling; with a `temperature`, the same seed need not give the same verdicts on another machine.
    instructions: what the writer is told in addition.
    estimate: a step's value by `signals`, where these are successes of continuations: their `rate`, or 1 for `any`.
    aggregate: what the steps come to. `min`, `product`, `mean`, `last` (what the whole is worth to a value model),
        `max` (for a search; a policy would write one good step). `sum`: see `bounded`. `clip`, `delta` and `clip_delta`
        (arXiv 2410.15115), `progress` (differences to the value before): each step has its own reward, and the score is
        their sum.
    bounded: whether a sum may not exceed what one perfect step is worth; if not, as many as `most_steps` are paid.
    eta: the value from which `clip` takes nothing off.
    last_step: its reward by `delta` and `clip_delta`: its own value (`keep`), or none, and the one before it has its
        own value (`drop`; an only step keeps it).
    start: the value before the first step, by `progress`; `signals.start_value` comes first.
    error: the value below which a step is wrong; none: the middle of `low` and `high`.
    threshold: the score from which a response passes; none: nobody passes or fails.
    """

    by: Literal["head", "token", "prefix", "written", "signals"] = "head"
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
            self.by == "signals" or (self.by in ("head", "prefix") and self.activation == "none")
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
        if not re.fullmatch(r"[A-Za-z_][\w.-]{0,63}", self.tag):
            raise InvalidParams("params.tag must be a tag's name", path="params.tag")
        if not self.mark:
            raise InvalidParams("params.mark must not be empty", path="params.mark")
        if not self.good or not self.bad or self.good == self.bad:
            raise InvalidParams("params.good and params.bad must differ and not be empty", path="params.bad")
        if self.models and (self.model is not None or self.by == "signals"):
            raise InvalidParams("params.models stands instead of params.model, and asks", path="params.models")
        if len(set(self.models)) != len(self.models) or len(self.models) > 16:
            raise InvalidParams("params.models must be at most 16 different names", path="params.models")
        within("threshold", self.threshold, *self.range)

    @property
    def range(self) -> tuple[float, float]:
        """Within which the score lies."""
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
        """Characters below which a step is judged together with the next one."""
        if self.shortest is not None:
            return self.shortest
        return 8 if self.aggregate in LIFTED else 0
