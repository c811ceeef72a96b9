"""The options of `rm_likelihood`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarden.errors import InvalidParams
from rewarden_verifiers.models.implicit import check_reference
from rewarden_verifiers.models.params import ModelParams, within


@dataclass(frozen=True, kw_only=True)
class Params(ModelParams):
    """Options of `rm_likelihood`, in addition to those of every verifier that uses a model.

    source: Where log-probabilities come from: a `model` that the server hosts, or the trainer (`signals`).
    of: Whose likelihood: that of the `reference` after the response's reasoning, or of the `response` after the prompt.
    measure: How to combine the probabilities of tokens: `mean` (RLPR, arXiv 2506.18254), `geometric` (the geometric
        mean, 1 / perplexity), `min`; `log` (the mean of their logarithms, scaled from 0 at `floor` to 1); or `sum` (the
        sum of the logarithms, that of the whole sequence, from `floor` to 0).
    floor: The lower limit for `log` and `sum`; lower values are raised to it, with the flag `clipped`; null: -10 and
        -1000.
    against: What to subtract: `nothing`, the reference's likelihood without any reasoning (`no_reasoning`), or the
        likelihood of the response by another model (`model`): the implicit reward of DPO (arXiv 2305.18290), beta *
        (log p - log p_reference), for `of: response` with `measure: sum`, or per token with `log`. The score is its
        sigmoid.
    reference_model: For `against: model`: the name of the model with which the training of `model` began.
    beta: For `against: model`: the factor; use that of the training.
    signed: Whether a difference can be negative. If not, negative differences become 0.
    weighted: Whether `signals.reference_weights` gives each token's weight, for `mean`, `geometric` and `log`.
    cut: The text with which the answer begins, after the closed thinking block. Everything before it is the reasoning.
        `""`: everything is reasoning.
    missing: What to do with a response without `cut`: `refuse` (the lowest score), or treat the `whole` response as
        reasoning.
    frame: The text after the reasoning; `{reference}` stands for the reference, whose tokens alone count.
    input: What the model reads: a `chat`, in which the assistant's turn begins with the reasoning, or `text`.
    text: For `input: text`: the text before the reasoning; `{prompt}` stands for the prompt.
    system: For `input: chat`: the system message, if not empty.
    per_token: Whether each token is a step, with its log-probability as its score.
    threshold: The lowest score that passes; null: `passed` is not set.
    """

    source: Literal["model", "signals"] = "model"
    of: Literal["reference", "response"] = "reference"
    measure: Literal["mean", "geometric", "min", "log", "sum"] = "mean"
    floor: float | None = None
    against: Literal["nothing", "no_reasoning", "model"] = "nothing"
    reference_model: str | None = None
    beta: float = 0.1
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
        implicit = self.against == "model"
        check_reference(self.reference_model, implicit, self.model, "against: model")
        within("beta", self.beta, 1e-6, 1e3)
        if implicit and (self.of, self.source) != ("response", "model"):
            raise InvalidParams("params.against: model needs of: response and source: model", path="params.against")
        if implicit and self.measure not in ("sum", "log"):
            raise InvalidParams("params.against: model has the measures sum and log", path="params.measure")
        if implicit and (self.per_token or self.floor is not None):
            name = "per_token" if self.per_token else "floor"
            raise InvalidParams(f"params.{name} is not for against: model", path=f"params.{name}")
        if self.against == "no_reasoning" and self.of == "response":
            raise InvalidParams("params.against is for the likelihood of a reference", path="params.against")
        if self.signed and self.against != "no_reasoning":
            raise InvalidParams("params.signed is for a difference; see params.against", path="params.signed")
        if self.weighted and (self.of == "response" or self.measure in ("min", "sum")):
            raise InvalidParams(
                "params.weighted is for a reference's tokens, by mean, geometric and log", path="params.weighted"
            )
        within("threshold", self.threshold, *self.range)

    @property
    def lowest(self) -> float:
        """The effective floor of `log` and `sum`."""
        if self.floor is not None:
            return self.floor
        return -1000.0 if self.measure == "sum" else -10.0

    @property
    def range(self) -> tuple[float, float]:
        """The range of the scores."""
        if self.against == "model":
            return 0.0, 1.0
        low, high = (self.lowest, 0.0) if self.measure == "sum" else (0.0, 1.0)
        if self.against == "nothing":
            return low, high
        return (low - high if self.signed else 0.0), high - low
