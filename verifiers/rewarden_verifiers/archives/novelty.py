"""`novelty`: measures how much of a response is new beside an archive of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.archives.archive import Archive, archive, entry, share_of
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.judges.empty_responses import empty_reason
from rewarden_verifiers.outcome import no_answer, scored, too_expensive, wrong

MOST_TEXTS = 2_000
MOST_CHARACTERS = 1_000_000
"""Of all texts of an archive together: they are compared with a response within half a second."""
_LONGEST = 100_000
"""Characters of a response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoveltyReference:
    """archive: Texts that are known, at most 2,000 and 1,000,000 characters of them. None is an archive of none."""

    archive: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoveltyParams:
    """Options of `novelty`.

    n: Length of the longest n-grams, up to 8.
    against: The text of the archive that is `nearest`, or `all` of them as one text, as self-BLEU has it.
    same: Share of an archived text's words, in whatever order, from which on a response is that text again.
    passing: Lowest score that passes. If unset, verdicts have no `passed`.
    """

    n: int = 4
    against: Literal["nearest", "all"] = "nearest"
    same: float = 0.9
    passing: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.n <= 8:
            raise ValueError("n must be from 1 to 8")
        if not 0.5 <= self.same <= 1:
            raise ValueError("same must lie between 0.5 and 1")
        if self.passing is not None and not 0 < self.passing <= 1:
            raise ValueError("passing must be more than 0 and at most 1")


def known(reference: NoveltyReference | list[str], params: NoveltyParams) -> Archive:
    """Returns the archive, read. Raises InvalidReference for a blank text, or more than is compared."""
    texts = reference.archive if isinstance(reference, NoveltyReference) else reference
    if len(texts) > MOST_TEXTS or sum(map(len, texts)) > MOST_CHARACTERS:
        message = f"the archive may have {MOST_TEXTS} texts and {MOST_CHARACTERS} characters at most"
        raise InvalidReference(message, path="reference.archive")
    for place, text in enumerate(texts):
        if not text.strip():
            raise InvalidReference("a text of the archive is blank", path=f"reference.archive[{place}]")
    return archive(texts, params.n)


@verifier(version="1", graded=True, prepare=known)
def novelty(response: str, prepared: Archive, params: NoveltyParams) -> Outcome:
    """Scores how much of a response is new beside an archive: 1 if no text of it shares a word, 0 for a copy.

    The reference is the archive: a list of texts, or `{archive: texts}`. The score is 1 less the nearness to the text
    that is nearest, which is the share of n-grams that the two have in common: of the response's or of the archived
    text's, whichever is larger, so that no padding makes a copy new. Case, accents, invisible characters and look-alike
    letters make no difference.

    A text of the archive again scores 0 (`known`): the same words in any order, or the whole text within a longer one.
    So does a response without substance (`blank`, `opener_only`, `claim_only`), a loop (`repeated`), and one of more
    than 100,000 characters (`too_expensive`).

    New is not good: gibberish and paraphrases are new. Pay for novelty only what another verifier passes, in a recipe:
    `answer.passed ? 0.8 + 0.2 * novelty.score : 0.0`. The archive stands in the row, so that a verdict does not depend
    on what was judged before; the evidence has its size and digest. Do not put a sample's own earlier response into it
    when it is judged again: that would be its own copy.
    """
    if (why := empty_reason(response)) is not None:
        return no_answer(why)
    about: dict[str, Any] = {"archive": {"size": len(prepared.entries), "digest": prepared.digest}}
    if len(response) > _LONGEST:
        return too_expensive(evidence={**about, "characters": len(response), "most": _LONGEST})
    text = entry(response, params.n)
    if text.loops:
        return wrong("repeated", flags=("repeated",), evidence=about)
    found = prepared.nearest(text, params.same)
    if found is None:
        return _scored(1.0, params, about, ())
    place, near = found
    about |= {"nearest": place, "own": near.own, "theirs": near.theirs}
    if near.copied or near.nearness >= 1.0 - 1e-9:
        return wrong("known", raw=0.0, flags=("known",), evidence=about)
    nearness = near.nearness
    if params.against == "all":
        about["all"] = share_of(text, prepared.union)
        nearness = max(nearness, about["all"])
    return _scored(min(1.0, max(0.0, 1.0 - nearness)), params, about, ())


def _scored(score: float, params: NoveltyParams, evidence: dict[str, Any], flags: Sequence[str]) -> Outcome:
    passed = None if params.passing is None else score >= params.passing
    reason = "known" if passed is False else None
    return scored(score, passed=passed, reason=reason, raw=score, evidence=evidence, flags=flags)
