"""The options of `rm_likelihood`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarden.errors import InvalidParams
from rewarden_verifiers.models.params import ModelParams, within


@dataclass(frozen=True, kw_only=True)
class Params(ModelParams):
    """Options of `rm_likelihood`, beside those of every verifier that asks models.

    source: where log-probabilities come from: a `model` that the server hosts, or the trainer (`signals`).
    of: what is likely or not: the `reference`, behind the response's reasoning; or the `response`, behind the prompt.
    measure: what tokens' probabilities come to: their `mean` (RLPR, arXiv 2506.18254), their geometric mean
        (`geometric`, 1 / perplexity), the least (`min`); the mean of their logarithms (`log`), from 0 at `floor` to 1;
        or the sum of these (`sum`, of the whole sequence), a number from `floor` to 0.
    floor: of `log` and `sum`; what lies below counts as this, flagged `clipped`; none: -10 and -1000.
    against: what is subtracted: `nothing`; or what the reference comes to without any reasoning (`no_reasoning`).
    signed: whether a difference may be negative; if not, it is 0 then.
    weighted: whether `signals.reference_weights` says how much each token counts, by `mean`, `geometric` and `log`.
    cut: where the response's answer begins, after a closed thought: what stands before is the reasoning; `""`: all is.
    missing: a response without `cut` is at the bottom (`refuse`), or all of it is the reasoning (`whole`).
    frame: what is put behind the reasoning; `{reference}` is the reference, whose tokens alone count.
    input: what is read: a `chat`, whose assistant's turn begins with the reasoning, or `text`.
    text: by `input: text`, what stands before the reasoning; `{prompt}` is the prompt.
    system: of a chat, its system turn, unless empty.
    per_token: whether each token is a step, whose score is its log-probability.
    threshold: the score from which a response passes; none: nobody passes or fails.
    """

    source: Literal["model", "signals"] = "model"
    of: Literal["reference", "response"] = "reference"
    measure: Literal["mean", "geometric", "min", "log", "sum"] = "mean"
    floor: float | None = None
    against: Literal["nothing", "no_reasoning"] = "nothing"
    signed: bool = False
    weighted: bool = False
    cut: str = "<answer>"
    missing: Literal["refuse", "whole"] = "refuse"
    frame: str = "<answer>{reference}</answer>"
    input: Literal["chat", "text"] = "chat"
    text: str = "{prompt}\n\n"
    system: str = ""
    per_token: bool = False
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.frame.count("{reference}") != 1:
            raise InvalidParams("params.frame must hold {reference} once", path="params.frame")
        within("floor", self.floor, -1e9, -1e-3)
        if self.against == "no_reasoning" and self.of == "response":
            raise InvalidParams("params.against is for the likelihood of a reference", path="params.against")
        if self.signed and self.against == "nothing":
            raise InvalidParams("params.signed is for a difference; see params.against", path="params.signed")
        if self.weighted and (self.of == "response" or self.measure in ("min", "sum")):
            raise InvalidParams(
                "params.weighted is for a reference's tokens, by mean, geometric and log", path="params.weighted"
            )
        within("threshold", self.threshold, *self.range)

    @property
    def lowest(self) -> float:
        """The floor in force, of `log` and `sum`."""
        if self.floor is not None:
            return self.floor
        return -1000.0 if self.measure == "sum" else -10.0

    @property
    def range(self) -> tuple[float, float]:
        """Within which the score lies."""
        low, high = (self.lowest, 0.0) if self.measure == "sum" else (0.0, 1.0)
        if self.against == "nothing":
            return low, high
        return (low - high if self.signed else 0.0), high - low
