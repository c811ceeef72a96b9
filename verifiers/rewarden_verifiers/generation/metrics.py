"""The metrics of `similarity`, each as a function of a hypothesis and its references, from 0 to 1; `embedding`, which
calls a model, is in `meaning.py`.

BLEU and chrF are sacrebleu's, with its sentence-level entry points, and TER counts what sacrebleu counts, in `ter.py`;
sacrebleu and numpy are imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Literal

from rapidfuzz.distance import Levenshtein

from rewarden.errors import MissingDependency
from rewarden_verifiers.generation import rouge
from rewarden_verifiers.generation.texts import Read

Name = Literal["bleu", "chrf", "chrf++", "ter", "rouge1", "rouge2", "rougeL", "rougeLsum", "edit", "embedding"]
Smoothing = Literal["exp", "floor", "add-k", "none"]
Tokenizer = Literal["13a", "intl", "char", "zh", "none"]

Metric = Callable[[Read, Sequence[Read]], float]

MOST_TER_WORDS = 500
"""Maximum number of words of a text for TER, split at white space: the search for shifts then takes up to half a
second.
"""

JOINT = frozenset(("bleu", "chrf", "chrf++", "ter"))
"""Metrics that define their own handling of several references."""


@lru_cache(maxsize=64)
def _sacrebleu(kind: str, options: tuple[tuple[str, Any], ...]) -> Any:
    try:
        from sacrebleu import metrics
    except ImportError as error:
        raise MissingDependency(
            f"the metric {kind!r} needs the package 'sacrebleu': pip install 'rewarden-server[text]'",
            verifier="similarity",
        ) from error
    return getattr(metrics, kind)(**dict(options))


def load() -> None:
    """Imports sacrebleu and numpy, if they are installed."""
    with suppress(MissingDependency):
        _sacrebleu("CHRF", ())
        _edits()


def _sentence_score(kind: str, **options: Any) -> Metric:
    """The score of a sacrebleu metric with these options, divided by 100."""
    given = tuple(options.items())

    def score(hypothesis: Read, references: Sequence[Read]) -> float:
        found = _sacrebleu(kind, given).sentence_score(hypothesis.text, [one.text for one in references])
        return min(1.0, max(0.0, float(found.score) / 100))

    return score


def bleu(
    *,
    tokenizer: Tokenizer,
    smoothing: Smoothing,
    smoothing_value: float | None,
    order: int,
    lowercase: bool,
    effective: bool,
) -> Metric:
    """Sentence BLEU (Papineni 2002), as computed by `BLEU(effective_order=effective).sentence_score`, divided by
    100.
    """
    return _sentence_score(
        "BLEU",
        tokenize=tokenizer,
        smooth_method=smoothing,
        smooth_value=smoothing_value,
        max_ngram_order=order,
        lowercase=lowercase,
        effective_order=effective,  # a sentence of three words has no 4-grams
    )


def chrf(*, word_order: int, lowercase: bool) -> Metric:
    """chrF (Popović 2015), or chrF++ with word bigrams, divided by 100; the best of several references counts."""
    return _sentence_score("CHRF", word_order=word_order, lowercase=lowercase)


def ter(*, lowercase: bool) -> Metric:
    """1 - TER (Snover 2006), at least 0: the number of edits, including shifts of blocks, per word of the reference."""

    def words(text: Read) -> list[str]:
        return (text.text.lower() if lowercase else text.text).split()

    def score(hypothesis: Read, references: Sequence[Read]) -> float:
        ours, theirs = words(hypothesis), [words(reference) for reference in references]
        mean = sum(map(len, theirs)) / len(theirs)
        if len(ours) >= max(map(len, theirs)) + mean:
            return 0.0  # the deletions alone make TER at least 1, so skip the search
        edits = _edits()
        return max(0.0, 1 - min(edits(ours, reference) for reference in theirs) / mean)

    return score


def _edits() -> Callable[[Sequence[str], Sequence[str]], int]:
    try:
        from rewarden_verifiers.generation.ter import edits
    except ImportError as error:
        raise MissingDependency(
            "the metric 'TER' needs the package 'numpy': pip install 'rewarden-server[text]'", verifier="similarity"
        ) from error
    return edits


def _best(one: Callable[[Read, Read], float]) -> Metric:
    return lambda hypothesis, references: max(one(hypothesis, reference) for reference in references)


def rouge_metric(name: Name, measure: rouge.Measure) -> Metric:
    """One kind of ROUGE, as F1, precision or recall; the best of several references counts."""

    def one(hypothesis: Read, reference: Read) -> float:
        if name == "rougeL":
            found = rouge.rouge_l(hypothesis.words, reference.words)
        elif name == "rougeLsum":
            found = rouge.rouge_lsum(hypothesis.lines, reference.lines)
        else:
            found = rouge.rouge_n(hypothesis.words, reference.words, int(name[-1]))
        return float(getattr(found, measure))

    return _best(one)


def edit(*, lowercase: bool) -> Metric:
    """1 - Levenshtein distance / length of the longer text; the best of several references counts."""

    def one(hypothesis: Read, reference: Read) -> float:
        a, b = hypothesis.text, reference.text
        if lowercase:
            a, b = a.casefold(), b.casefold()
        return float(Levenshtein.normalized_similarity(a, b))

    return _best(one)
