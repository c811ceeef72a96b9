"""The options of `novelty`, and the outcome for a measured value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from rewarden.types import Outcome
from rewarden_verifiers.models.embeddings import Embedding
from rewarden_verifiers.outcome import scored

METADATA = "metadata."
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class NoveltyParams:
    """Options of `novelty`.

    archive: Where the sample has the archive: its `reference`, or `metadata.NAME`, for recipes whose answer has its own
        reference.
    name: Name of an archive that the server keeps, instead of `archive`: new responses are added to it.
    by: Kind of nearness: `ngrams`, or `embedding`: the cosine of vectors from a model.
    embedding: `{model, prefix, fit}`: the server's model, the prefix of each text, and the treatment of texts beyond
        the model's context.
    n: Length of the longest n-grams, up to 5.
    against: The text of the archive that is `nearest`, or `all` of them as one text, as in self-BLEU.
    same: Lowest share of an archived text's words, in any order, at which a response counts as that text again.
    passing: Lowest score that passes. If unset, verdicts have no `passed`.
    """

    archive: str = "reference"
    name: str | None = None
    by: Literal["ngrams", "embedding"] = "ngrams"
    embedding: Embedding = field(default_factory=Embedding)
    n: int = 4
    against: Literal["nearest", "all"] = "nearest"
    same: float = 0.9
    passing: float | None = None

    def __post_init__(self) -> None:
        if self.archive != "reference" and not self.archive.startswith(METADATA):
            raise ValueError("archive must be reference or metadata.NAME")
        if self.name is not None and not 0 < len(self.name) <= _LONGEST_NAME:
            raise ValueError(f"name must have from 1 to {_LONGEST_NAME} characters")
        if not 1 <= self.n <= 5:
            raise ValueError("n must be from 1 to 5")
        if not 0.5 <= self.same <= 1:
            raise ValueError("same must lie between 0.5 and 1")
        if self.passing is not None and not 0 < self.passing <= 1:
            raise ValueError("passing must be more than 0 and at most 1")


def as_new(novelty: float, params: NoveltyParams, **details: Any) -> Outcome:
    """Returns the outcome for a response that is new to this degree, which rounding can put slightly outside the
    range.
    """
    score = min(1.0, max(0.0, novelty))
    passed = None if params.passing is None else score >= params.passing
    return scored(score, passed=passed, reason="known" if passed is False else None, raw=score, **details)
