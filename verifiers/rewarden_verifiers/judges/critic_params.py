"""The options of `critic`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Literal

from rewarden.errors import InvalidParams
from rewarden_verifiers.judges.params import JudgeParams, positive_share
from rewarden_verifiers.judges.scales import Scale
from rewarden_verifiers.judges.splitting import Split

Overall = Literal["min", "mean", "product", "first_error", "all"]


@dataclass(frozen=True, kw_only=True)
class Params(JudgeParams):
    """Options of `critic`, in addition to those of every verifier that asks a judge.

    mode: What to ask. `steps`: each step of the response, in one question. `spans`: quotes of parts of the response,
        with a score for each. `verdict`: whether the reasoning as a whole is right. `trace`: how good the reasoning is
        compared with the reference's, on `scale`.
    split: How to split the response if the sample has no steps: into `paragraphs`, `lines`, `numbered` steps or `tags`.
    tag: The name of the tags for `split: tags`.
    max_steps: Maximum number of steps; a response with more gets score 0 (`too_many_steps`).
    grade: How to grade a step or span: by a `label` (correct or incorrect), or by a number on `scale`.
    scale: The scale for `grade: scale` and for the mode `trace`.
    error: A step that scores below this is an error.
    overall: How to combine the scores of steps or spans: their `min`, `mean` or `product`; `all`: 1 if none is an
        error, else 0; `first_error`: the share of steps before the first error.
    no_spans: The score if the judge quotes nothing.
    max_spans: How many spans the judge can quote.
    threshold: The lowest score that passes; null: any score above 0.5, and for `first_error` and `all` only a response
        without an error.
    """

    mode: Literal["steps", "spans", "verdict", "trace"] = "steps"
    split: Split = "paragraphs"
    tag: str = "step"
    max_steps: int = 64
    grade: Literal["label", "scale"] = "label"
    scale: Scale = field(default_factory=lambda: Scale(low=0, high=5))
    error: float = 0.5
    overall: Overall = "min"
    no_spans: float = 1.0
    max_spans: int = 32
    threshold: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.scale.check("params.scale")
        for name, low, high in (("max_steps", 1, 512), ("max_spans", 1, 512), ("no_spans", 0, 1), ("error", 0, 1)):
            if not low <= getattr(self, name) <= high:
                raise InvalidParams(f"params.{name} must be from {low} to {high}", path=f"params.{name}")
        if not re.fullmatch(r"[A-Za-z_][\w.-]{0,63}", self.tag):
            raise InvalidParams("params.tag must be a tag's name", path="params.tag")
        if self.mode == "spans" and self.overall == "first_error":
            raise InvalidParams("params.overall first_error is for steps, which have an order", path="params.overall")
        positive_share("threshold", self.threshold)

    @property
    def passing(self) -> float:
        """The lowest score that passes."""
        if self.threshold is not None:
            return self.threshold
        whole = self.mode in ("steps", "spans") and self.overall in ("first_error", "all")
        return 1.0 if whole else math.nextafter(0.5, 1)

    def total(self, scores: list[float]) -> float:
        """Combines the scores of steps or spans, of which there must be at least one."""
        if self.overall == "min":
            return min(scores)
        if self.overall == "mean":
            return math.fsum(scores) / len(scores)
        if self.overall == "product":
            return math.prod(scores)
        first = self.first_error(scores)
        if self.overall == "all":
            return float(first is None)
        return 1.0 if first is None else first / len(scores)

    def first_error(self, scores: list[float]) -> int | None:
        """The index of the first score that counts as an error."""
        return next((place for place, score in enumerate(scores) if score < self.error), None)
