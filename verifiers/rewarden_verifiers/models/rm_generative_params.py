"""The options of `rm_generative`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from rewarden.errors import InvalidParams
from rewarden_verifiers.judges.scales import Scale
from rewarden_verifiers.models.generative_params import GenerativeParams, words
from rewarden_verifiers.models.outputs import Output
from rewarden_verifiers.models.params import within


@dataclass(frozen=True, kw_only=True)
class Meta:
    """A scalar reward model that rates critiques (DeepSeek-GRM, arXiv 2504.02495).

    model: Its name.
    keep: How many of the best-rated critiques count; null: all.
    weigh: Whether each critique has the weight 1 / (1 + exp(-rating)), instead of an equal weight.
    output: The output that is the rating, if the head has several.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    model: str
    keep: int | None = None
    weigh: bool = False
    output: Output | None = None


@dataclass(frozen=True, kw_only=True)
class Params(GenerativeParams):
    """Options of `rm_generative`.

    by: `token`: the probability of the accepting words, as a share of that of accepting and rejecting words, as the
        first thing that the model says (GenRM, arXiv 2408.15240); `written`: the model writes principles, a critique
        and a verdict.
    accept, reject: The words that accept or reject. List each spelling that the model can use; their probabilities add
        up. Words that follow a `lead` usually begin with a space.
    says: For `by: written`: whether the verdict is a number on the `scale` (`score`) or one of the words (`word`).
    scale: The scale of numbers. Its worse end scores 0, its better end 1.
    rubric: Principles by which the model must judge; empty: it writes its own first.
    aggregate: How to combine several verdicts: their `mean`, `median` or `sum` (the score is then from 0 to `samples`),
        or whether the `majority` of them reach `passing` (0.5 if not set).
    tie: What to do if `majority` ends in a tie: `fail`, or `undecided`.
    meta: A model that rates the critiques. Either only the best count, or all, weighted by rating.
    passing: The lowest score that passes; null: `passed` is not set.
    """

    by: Literal["token", "written"] = "token"
    accept: tuple[str, ...] = ("Yes", "yes", "YES")
    reject: tuple[str, ...] = ("No", "no", "NO")
    says: Literal["score", "word"] = "score"
    scale: Scale = field(default_factory=Scale)
    rubric: tuple[str, ...] = ()
    aggregate: Literal["mean", "sum", "median", "majority"] = "mean"
    tie: Literal["fail", "undecided"] = "fail"
    meta: Meta | None = None
    passing: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        words((("accept", self.accept), ("reject", self.reject)))
        self.scale.check("params.scale")
        if {word.strip().casefold() for word in self.accept} & {word.strip().casefold() for word in self.reject}:
            raise InvalidParams("params.reject holds a word that accept holds", path="params.reject")
        within("passing", self.passing, *bounds(self))
        if self.by == "token":
            self._check_token()
        if self.meta is not None:
            self._check_meta(self.meta)

    def _check_token(self) -> None:
        for name, free in (
            ("samples", self.samples == 1),
            ("turns", not self.turns),
            ("meta", self.meta is None),
            ("aggregate", self.aggregate == "mean"),
        ):
            if not free:
                raise InvalidParams(f"params.{name} is for written verdicts; set by: written", path=f"params.{name}")

    def _check_meta(self, meta: Meta) -> None:
        within("meta.keep", meta.keep, 1, self.samples)
        if meta.keep is None and not meta.weigh:
            raise InvalidParams("params.meta must keep some of the critiques, or weigh them", path="params.meta")
        if meta.weigh and self.aggregate not in ("mean", "sum"):
            raise InvalidParams("params.meta.weigh is for a mean or sum", path="params.meta.weigh")


def bounds(params: Params) -> tuple[float, float]:
    """The range of the scores."""
    return 0.0, float(params.samples) if params.aggregate == "sum" else 1.0


def lowest(params: Params) -> float:
    """The verdict that counts if the response made a text unreadable."""
    return params.scale.lowest if params.by == "written" and params.says == "score" else 0.0


def share_of(value: float, params: Params) -> float:
    """Converts a verdict to a score from 0 to 1."""
    if params.by == "written" and params.says == "score":
        return params.scale.share(value)
    return min(max(value, 0.0), 1.0) if math.isfinite(value) else 0.0
