"""The options of `similarity`, the forms of its reference, and what becomes of the metrics' values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

from rewarden.types import Component, Outcome
from rewarden_verifiers.extraction import rules_of
from rewarden_verifiers.generation import metrics
from rewarden_verifiers.generation.metrics import Metric, Name, Smoothing, Tokenizer
from rewarden_verifiers.generation.rouge import Measure
from rewarden_verifiers.models.embeddings import Embedding, Near
from rewarden_verifiers.outcome import scored


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearness(Embedding):
    """Settings for turning texts into vectors, and cosines into nearness. See `SimilarityParams`."""

    scale: Near = "positive"


@dataclass(frozen=True, kw_only=True)
class SimilarityParams:
    """Options of `similarity`.

    metrics: what is measured, one or several with weights: `bleu`, `chrf`, `chrf++`, `ter` (as 1 - TER), `rouge1`,
        `rouge2`, `rougeL`, `rougeLsum`, `edit` (1 - Levenshtein's distance by the longer length), `embedding` (the
        cosine of vectors that a model makes of the texts).
    references: of several references the `best` counts, their `mean`, or all `together` as the metric itself defines
        it (BLEU: n-grams of any; the others: the best).
    extraction: where the text stands: None: the whole response; otherwise a preset or an ordered list of rules.
    bleu_tokenizer: sacrebleu's name: `13a`, `intl`, `char`, `zh`, `none`.
    bleu_smoothing: sacrebleu's name: `exp`, `floor`, `add-k`, `none`.
    bleu_smoothing_value: the value of `floor` and `add-k`; None: sacrebleu's.
    bleu_order: the longest n-grams.
    rouge: which of ROUGE's numbers counts.
    lowercase: whether capital and small letters are the same (for ROUGE they always are).
    embedding: of the metric of that name `{model, prefix, fit, scale}`: which model of the server's, what stands before
        each text for it, what happens to a text beyond its context, and what becomes of the cosine: `positive`: itself,
        and 0 below 0; `shifted`: (1 + cosine) / 2.
    copied: the share of the response's words that stand in the prompt, in order, from which on it is a copy of the
        prompt and earns nothing, unless the reference is one too; None: the prompt is not read.
    threshold: the score from which the verdict is `passed`.
    graded: whether scores between the ends occur; otherwise 1 from the threshold on, and 0 below.
    """

    metrics: Name | tuple[Name, ...] | dict[Name, float] = "rougeL"
    references: Literal["together", "best", "mean"] = "together"
    extraction: str | tuple[str | dict[str, str], ...] | None = None
    bleu_tokenizer: Tokenizer = "13a"
    bleu_smoothing: Smoothing = "exp"
    bleu_smoothing_value: float | None = None
    bleu_order: int = 4
    rouge: Measure = "f1"
    lowercase: bool = False
    embedding: Nearness = field(default_factory=Nearness)
    copied: float | None = None
    threshold: float = 1.0
    graded: bool = True

    def __post_init__(self) -> None:
        if self.extraction is not None:
            rules_of(self.extraction)
        if not self.weights or not all(math.isfinite(weight) and weight > 0 for weight in self.weights.values()):
            raise ValueError("metrics must name at least one, with weights above 0")
        if not isinstance(self.metrics, (str, dict)) and len(set(self.metrics)) < len(self.metrics):
            raise ValueError("metrics must differ")
        if not 1 <= self.bleu_order <= 8:
            raise ValueError("bleu_order must lie between 1 and 8")
        value = self.bleu_smoothing_value
        if value is not None and not (math.isfinite(value) and value > 0):
            raise ValueError("bleu_smoothing_value must be above 0")
        if value is not None and self.bleu_smoothing not in ("floor", "add-k"):
            raise ValueError("bleu_smoothing_value belongs to the smoothing 'floor' or 'add-k'")
        if self.copied is not None and not 0.5 <= self.copied <= 1:
            raise ValueError("copied must lie between 0.5 and 1")
        if not 0 < self.threshold <= 1:
            raise ValueError("threshold must be above 0 and at most 1")

    @cached_property
    def weights(self) -> dict[Name, float]:
        """Each metric and its weight."""
        if isinstance(self.metrics, dict):
            return dict(self.metrics)
        return dict.fromkeys((self.metrics,) if isinstance(self.metrics, str) else self.metrics, 1.0)

    def metric(self, name: Name) -> Metric:
        """The metric of that name, with these options."""
        if name == "bleu":
            return metrics.bleu(
                tokenizer=self.bleu_tokenizer,
                smoothing=self.bleu_smoothing,
                smoothing_value=self.bleu_smoothing_value,
                order=self.bleu_order,
                lowercase=self.lowercase,
            )
        if name == "ter":
            return metrics.ter(lowercase=self.lowercase)
        if name == "edit":
            return metrics.edit(lowercase=self.lowercase)
        if name in ("chrf", "chrf++"):
            return metrics.chrf(word_order=2 if name == "chrf++" else 0, lowercase=self.lowercase)
        return metrics.rouge_metric(name, self.rouge)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityReference:
    """A reference that brings the source along.

    texts: what was expected, one or several ways of saying it. source: what was to be translated or summed up; a
    response that copies it earns nothing (read instead of the prompt).
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    texts: str | tuple[str, ...]
    source: str | None = None


Reference = str | tuple[str, ...] | SimilarityReference


def weighed(
    values: Mapping[Name, float], params: SimilarityParams, evidence: Mapping[str, Any], flags: tuple[str, ...] = ()
) -> Outcome:
    """The outcome of a text of which each metric has a value."""
    total = sum(params.weights.values())
    raw = min(1.0, sum(values[name] * weight for name, weight in params.weights.items()) / total)
    if raw >= 1.0 - 1e-9:  # sacrebleu's sums end a little beside 100
        raw = 1.0
    passed = raw >= params.threshold
    return scored(
        raw if params.graded else float(passed),
        passed=passed,
        reason=None if passed else "different" if raw else "wrong",
        raw=raw,
        components={name: Component(status="scored", score=value) for name, value in values.items()},
        evidence=evidence,
        flags=flags,
    )
