"""The options of `style_metric`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from rewarden_verifiers.models.outputs import Activation, Output
from rewarden_verifiers.models.params import ModelParams
from rewarden_verifiers.models.segments import Segments


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One classifier's measure. model (null: that of the parameters), label, better and activation: as the parameters
    of the same names. weight: its weight among the measures."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    model: str | None = None
    label: Output | dict[str, float] | None = None
    better: Literal["higher", "lower"] = "higher"
    activation: Activation = "auto"
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise ValueError("weight must be above 0")
        weights = self.label.values() if isinstance(self.label, dict) else (1.0,)
        if not all(0 <= weight <= 1 for weight in weights) or not any(weights):
            raise ValueError("each label's weight must be from 0 to 1, and one of them above 0")


@dataclass(frozen=True, kw_only=True)
class Params(ModelParams):
    """Options of `style_metric`.

    label: The label that counts, by name or index (not needed if the head has one output), or labels with weights from
        0 to 1: the sum of weight × share for labels that exclude each other, and the weighted mean for others.
    better: Whether a `higher` or a `lower` share is better. `lower` scores 1 - share.
    activation: `auto`: as in the model's configuration; `softmax`; `sigmoid`; `none`: the head already returns numbers
        from 0 to 1.
    measures: Several measures by name, each `{model, label, better, activation, weight}`, instead of the parameters
        above.
    on: Whether the model reads the `response` alone, or the prompt and the response as a `pair`.
    segments: What to classify: the `whole`, or each of its `sentences`, `lines` or `paragraphs`.
    reduce: How to combine segments: the `worst`, the `mean`, or the `best`.
    most_segments: Maximum number of segments; a response with more gets the lowest score.
    copied: What to do with a response that copies the prompt, or eight or more consecutive words of it: `refuse` (the
        lowest score, without calling the model) or `ask`.
    threshold: The lowest score that passes; null: `passed` is not set.
    """

    label: Output | dict[str, float] | None = None
    better: Literal["higher", "lower"] = "higher"
    activation: Activation = "auto"
    measures: dict[str, Measure] = field(default_factory=dict)
    on: Literal["response", "pair"] = "response"
    segments: Segments = "whole"
    reduce: Literal["worst", "mean", "best"] = "worst"
    most_segments: int = 256
    copied: Literal["refuse", "ask"] = "refuse"
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.measures and (self.label is not None or self.better != "higher" or self.activation != "auto"):
            raise ValueError("give label, better and activation within each of measures")
        if "" in self.measures:
            raise ValueError("each of measures needs a name")
        if not self.measures:
            Measure(label=self.label)
        if not 1 <= self.most_segments <= 4096:
            raise ValueError("most_segments must be from 1 to 4096")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise ValueError("threshold must be from 0 to 1")

    @property
    def listed(self) -> Mapping[str, Measure]:
        """The measures by name; a single one has an empty name."""
        return self.measures or {
            "": Measure(label=self.label, better=self.better, activation=self.activation, model=self.model)
        }
