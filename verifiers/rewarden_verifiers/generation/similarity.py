"""`similarity`: how close a text comes to the texts that were expected."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from rewarden.errors import InvalidReference
from rewarden.types import Component, Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import extract, rules_of
from rewarden_verifiers.generation import metrics, rouge
from rewarden_verifiers.generation.metrics import JOINT, Metric, Name, Smoothing, Tokenizer
from rewarden_verifiers.generation.rouge import Measure, lcs
from rewarden_verifiers.generation.texts import Read, read
from rewarden_verifiers.outcome import no_answer, right, scored, too_expensive, wrong

MOST_CHARACTERS: Mapping[str, int] = {
    "bleu": 100_000,
    "chrf": 50_000,
    "chrf++": 50_000,
    "ter": 4_000,  # and MOST_TER_WORDS
    "rouge1": 200_000,
    "rouge2": 200_000,
    "rougeL": 100_000,
    "rougeLsum": 50_000,
    "edit": 50_000,
}
"""Characters of a text that each metric looks at: what it takes for them stays within half a second."""
_MOST_LSUM_WORK = 500_000
"""Steps of ROUGE-Lsum: two texts of 2,500 words in 100 lines each."""
_LOOP_WORDS = 12
"""Words from which on a text can be a loop."""
_LOOP_DISTINCT = 0.4
"""The share of distinct 4-grams below which it is one."""
_COPIED_WORDS = 4
_LONGEST_SOURCE = 100_000


@dataclass(frozen=True, kw_only=True)
class SimilarityParams:
    """Options of `similarity`.

    metrics: what is measured, one or several with weights: `bleu`, `chrf`, `chrf++`, `ter` (as 1 - TER), `rouge1`,
        `rouge2`, `rougeL`, `rougeLsum`, `edit` (1 - Levenshtein's distance by the longer length).
    references: of several references the `best` counts, their `mean`, or all `together` as the metric itself defines
        it (BLEU: n-grams of any; the others: the best).
    extraction: where the text stands: None: the whole response; otherwise a preset or an ordered list of rules.
    bleu_tokenizer: sacrebleu's name: `13a`, `intl`, `char`, `zh`, `none`.
    bleu_smoothing: sacrebleu's name: `exp`, `floor`, `add-k`, `none`.
    bleu_smoothing_value: the value of `floor` and `add-k`; None: sacrebleu's.
    bleu_order: the longest n-grams.
    rouge: which of ROUGE's numbers counts.
    lowercase: whether capital and small letters are the same (for ROUGE they always are).
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


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """The references, read, with the metrics that compare them."""

    references: tuple[Read, ...]
    source: Read | None
    metrics: Mapping[Name, Metric]
    limit: int


def expect(reference: Reference, params: SimilarityParams) -> Expected:
    """The references, read. Raises InvalidReference where there is none, one is blank or beyond the metrics' bounds."""
    given = reference.texts if isinstance(reference, SimilarityReference) else reference
    texts = (given,) if isinstance(given, str) else given
    if not texts:
        raise InvalidReference("the reference holds no text", path="reference")
    limit = min(MOST_CHARACTERS[name] for name in params.weights)
    for text in texts:
        if not text.strip():
            raise InvalidReference("the reference is blank", path="reference")
        if len(text) > limit:
            raise InvalidReference(
                f"the reference has {len(text)} characters; these metrics take at most {limit}", path="reference"
            )
    source = reference.source if isinstance(reference, SimilarityReference) else None
    references = tuple(read(text) for text in texts)
    for one in references:
        if not _affordable(one, one, params):
            raise InvalidReference(
                f"a reference of {len(one.words)} words in {len(one.lines)} lines is too long for TER (at most "
                f"{metrics.MOST_TER_WORDS} words) or ROUGE-Lsum (at most {_MOST_LSUM_WORK} steps)",
                path="reference",
            )
    return Expected(
        references,
        read(source[:_LONGEST_SOURCE]) if source is not None else None,
        {name: params.metric(name) for name in params.weights},
        limit,
    )


def _affordable(hypothesis: Read, reference: Read, params: SimilarityParams) -> bool:
    """Whether the metrics that take more than linear time are within their bounds."""
    if "ter" in params.weights:
        found, wanted = len(hypothesis.text.split()), len(reference.text.split())
        if wanted > metrics.MOST_TER_WORDS or metrics.MOST_TER_WORDS < found < 2 * wanted:
            return False
    return "rougeLsum" not in params.weights or (rouge.lsum_work(hypothesis.lines, reference.lines) <= _MOST_LSUM_WORK)


def _measured(metric: Metric, name: Name, hypothesis: Read, references: Sequence[Read], how: str) -> float:
    if how == "together" and (len(references) == 1 or name in JOINT):
        return metric(hypothesis, references)
    each = [metric(hypothesis, (reference,)) for reference in references]
    return sum(each) / len(each) if how == "mean" else max(each)


@verifier(version="1", graded=True, prepare=expect, libraries=("rapidfuzz", "sacrebleu"), warm=metrics.load)
def similarity(response: str, prepared: Expected, params: SimilarityParams, prompt: str | None = None) -> Outcome:
    """How close the response comes to one or several references, by BLEU, chrF, TER, ROUGE or edit distance.

    The reference is a text, a list of texts, or `{texts, source}`. BLEU, chrF and TER are sacrebleu's numbers over 100
    (extra `text`); ROUGE is that of the reference implementation on ASCII, and works in every script; several metrics
    are a weighted mean. Each metric's value stands in the components; the score is graded, or 1 from `threshold` on.

    What earns nothing: a blank response (`no_answer`), one without a single word where the references have words, a
    loop (`repeated`: few of its 4-grams are distinct while the references' are), a copy of the source or, with
    `copied`, of the prompt (`copied`), several answers where one is asked (`hedged`), one beyond the bounds of the
    metrics (`too_expensive`; see MOST_CHARACTERS). A number by itself says little about quality: use it beside others.
    """
    text = response
    evidence: dict[str, Any] = {}
    if params.extraction is not None:
        found = extract(response, params.extraction)
        if found is None:
            return no_answer()
        evidence["rule"] = found.rule
        if len(set(found.texts)) > 1:
            return wrong("hedged", flags=("hedged",), evidence=evidence)
        text = found.text
    if len(text) > prepared.limit:
        return too_expensive(evidence={**evidence, "characters": len(text), "most": prepared.limit})
    hypothesis = read(text)
    if not hypothesis.text or (not hypothesis.words and all(one.words for one in prepared.references)):
        return no_answer(evidence=evidence)
    if not all(_affordable(hypothesis, one, params) for one in prepared.references):
        return too_expensive(evidence={**evidence, "words": len(hypothesis.words), "lines": len(hypothesis.lines)})
    problem = _degenerate(hypothesis, prepared, params, prompt)
    if problem is not None:
        return wrong(problem, flags=(problem,), extracted=text[:200], evidence=evidence)
    values = {
        name: _measured(metric, name, hypothesis, prepared.references, params.references)
        for name, metric in prepared.metrics.items()
    }
    total = sum(params.weights.values())
    score = min(1.0, sum(values[name] * weight for name, weight in params.weights.items()) / total)
    if score >= 1.0 - 1e-9:  # sacrebleu's sums end a little beside 100
        score = 1.0
    components = {name: Component(status="scored", score=value) for name, value in values.items()}
    details: dict[str, Any] = {"raw": score, "components": components, "evidence": evidence}
    passed = score >= params.threshold
    if not params.graded:
        score = float(passed)
    if score == 1.0:
        return right(**details)
    return scored(
        score, passed=passed, reason=None if passed else "different" if details["raw"] else "wrong", **details
    )


def _degenerate(hypothesis: Read, prepared: Expected, params: SimilarityParams, prompt: str | None) -> str | None:
    """Why a text is paid by no metric, or None."""
    if _loops(hypothesis) and not all(_loops(one) for one in prepared.references):
        return "repeated"  # a loop over the reference's frequent words earns unigram overlap
    source = prepared.source
    if source is None and params.copied is not None and prompt is not None:
        source = read(prompt[:_LONGEST_SOURCE])
    if source is None:
        return None
    share = params.copied if params.copied is not None else 0.9
    if _copies(hypothesis, source, share) and not any(_copies(one, source, share) for one in prepared.references):
        return "copied"  # returning the source is close to its translation, summary or correction
    return None


def _loops(text: Read) -> bool:
    count = len(text.words) - 3
    if len(text.words) < _LOOP_WORDS:
        return False
    return len(set(zip(*(text.words[place:] for place in range(4)), strict=False))) < _LOOP_DISTINCT * count


def _copies(text: Read, source: Read, share: float) -> bool:
    if len(text.words) < _COPIED_WORDS:
        return text.words == source.words
    return lcs(text.words, source.words) >= share * len(text.words)
