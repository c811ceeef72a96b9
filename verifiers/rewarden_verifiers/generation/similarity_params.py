"""Options of `similarity`, the forms of its reference, and the outcome for the values of the metrics."""

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
    """Settings for the vectors of texts, and for the score of a cosine. See `SimilarityParams`."""

    scale: Near = "positive"


@dataclass(frozen=True, kw_only=True)
class SimilarityParams:
    """Options of `similarity`.

    metrics: One metric, or several with weights: `bleu`, `chrf`, `chrf++`, `ter` (as 1 - TER), `rouge1`, `rouge2`,
        `rougeL`, `rougeLsum`, `edit` (1 - Levenshtein distance / longer length), `embedding` (the cosine of the texts'
        vectors from a model).
    references: Several references: the `best` one counts, their `mean`, or all `together` as the metric defines it
        (BLEU: n-grams of any; the others: the best).
    extraction: Rules that find the text: a preset or an ordered list of rules. If unset, the whole response.
    bleu_tokenizer: sacrebleu's name: `13a`, `intl`, `char`, `zh`, `none`.
    bleu_smoothing: sacrebleu's name: `exp`, `floor`, `add-k`, `none`.
    bleu_smoothing_value: Value for `floor` and `add-k`. If unset, sacrebleu's default.
    bleu_order: Length of the longest n-grams.
    bleu_effective: Leaves out n-grams that are longer than the text, such as a sentence of three words. If false, the
        BLEU of such a sentence is 0, as for a corpus.
    rouge: The value of ROUGE that counts.
    lowercase: Ignores case (ROUGE always does).
    embedding: Settings of the metric `embedding`, `{model, prefix, fit, scale}`: the server's model, the prefix of each
        text, the treatment of texts beyond the model's context, and the score of a cosine: `positive`: the cosine, or 0
        if negative; `shifted`: (1 + cosine) / 2.
    copied: Share of the response's words that occur in the prompt, in order. From this share on the response is a copy
        of the prompt and scores 0, unless the reference is a copy too. If unset, the prompt is not read.
    shortest, longest: Limits for the number of letters and digits of the response, as a share of the reference's (of
        any one, if there are several). A response outside them scores 0. If unset, any length.
    threshold: Lowest score that passes.
    graded: Gives intermediate scores; if false, 1 from the threshold up, and 0 below it.
    """

    metrics: Name | tuple[Name, ...] | dict[Name, float] = "rougeL"
    references: Literal["together", "best", "mean"] = "together"
    extraction: str | tuple[str | dict[str, str], ...] | None = None
    bleu_tokenizer: Tokenizer = "13a"
    bleu_smoothing: Smoothing = "exp"
    bleu_smoothing_value: float | None = None
    bleu_order: int = 4
    bleu_effective: bool = True
    rouge: Measure = "f1"
    lowercase: bool = False
    embedding: Nearness = field(default_factory=Nearness)
    copied: float | None = None
    shortest: float | None = None
    longest: float | None = None
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
        if self.shortest is not None and not 0 < self.shortest <= 1:
            raise ValueError("shortest must be above 0 and at most 1")
        if self.longest is not None and not 1 <= self.longest <= 100:
            raise ValueError("longest must lie between 1 and 100")
        if not 0 < self.threshold <= 1:
            raise ValueError("threshold must be above 0 and at most 1")

    @cached_property
    def weights(self) -> dict[Name, float]:
        """Each metric with its weight."""
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
                effective=self.bleu_effective,
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
    """A reference with its source.

    texts: the expected text, in one or several wordings. source: the text to translate or summarise; a response that
    copies it scores 0. It is compared in place of the prompt.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    texts: str | tuple[str, ...]
    source: str | None = None


Reference = str | tuple[str, ...] | SimilarityReference


def weighed(
    values: Mapping[Name, float], params: SimilarityParams, evidence: Mapping[str, Any], flags: tuple[str, ...] = ()
) -> Outcome:
    """Combines a text's values of all metrics into an outcome."""
    total = sum(params.weights.values())
    raw = min(1.0, sum(values[name] * weight for name, weight in params.weights.items()) / total)
    if raw >= 1.0 - 1e-9:  # sacrebleu's sums can miss 100 slightly
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
