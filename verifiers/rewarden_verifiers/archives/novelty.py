"""`novelty`: measures how much of a response is new beside an archive of texts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rewarden.types import Outcome
from rewarden_verifiers.archives.archive import Archive, archive, entry, share_of
from rewarden_verifiers.archives.by_meaning import by_meaning
from rewarden_verifiers.archives.by_name import by_name
from rewarden_verifiers.archives.known_texts import known_texts
from rewarden_verifiers.archives.novelty_params import NoveltyParams, as_new
from rewarden_verifiers.contract import VerifierSpec, spec_of, verifier
from rewarden_verifiers.judges.empty_responses import empty_reason
from rewarden_verifiers.outcome import no_answer, too_expensive, wrong

_LONGEST = 50_000
"""Characters of a response."""


@lru_cache(maxsize=8)
def _read(texts: tuple[str, ...], orders: int) -> Archive:
    """Returns the archive. Siblings are compared with the same one, one after another."""
    return archive(texts, orders)


def _variant(params: NoveltyParams) -> VerifierSpec | None:
    return spec_of(by_name) if params.name is not None else spec_of(by_meaning) if params.by == "embedding" else None


@verifier(version="1", graded=True, variant=_variant)
def novelty(
    response: str, params: NoveltyParams, reference: Any = None, metadata: Mapping[str, Any] | None = None
) -> Outcome:
    """Scores how much of a response is new beside an archive: 1 if no text of it shares a word, 0 for a copy.

    The reference is the archive: a list of texts, or `{archive: texts}`; an empty list is that of the first response.
    At most 2,000 texts and 200,000 characters are compared. The score is 1 less the nearness to the nearest text: the
    share of n-grams that the two have in common, of the response's or of the archived text's, whichever is larger, so
    that no padding makes a copy new. Case, accents, invisible characters and look-alike letters make no difference.

    A text of the archive again scores 0 (`known`): the same words in any order, or the whole text within a longer one.
    So does a response without substance (`blank`, `opener_only`, `claim_only`), a loop (`repeated`), and one of more
    than 50,000 characters (`too_expensive`).

    With `by: embedding` the nearness is the largest cosine of the response's vector with one of at most 256 archived
    texts, of a kept archive the newest, from one of the server's models: paraphrases are near, too. What scores 0 by
    n-grams scores 0 here.

    New is not good: gibberish and paraphrases are new. Pay for novelty only what another verifier passes, in a recipe:
    `answer.passed ? 0.8 + 0.2 * novelty.score : 0.0`. With the archive in the row a verdict does not depend on what was
    judged before. Do not put a sample's own earlier response into it when it is judged again: it would be its copy.

    With `name` the server keeps the archive: it adds each response that scores more than 0, and forgets the oldest
    beyond 1,000 texts or 200,000 characters, and the archive that was added to longest ago beyond 500. Such verdicts
    depend on the order in which samples are judged, also when they are rescored; they are never cached, have the flag
    `kept_archive`, and their evidence has the archive's name, size and digest at that moment. Siblings that are judged
    at the same time may not see each other. Each sample needs an `id` of its own: the same id with the same response is
    a retry, and not its own copy.
    """
    known = _read(known_texts(reference, metadata, params), params.n)
    if (why := empty_reason(response)) is not None:
        return no_answer(why)
    about: dict[str, Any] = {"archive": {"size": len(known.entries), "digest": known.digest}}
    if len(response) > _LONGEST:
        return too_expensive(evidence={**about, "characters": len(response), "most": _LONGEST})
    text = entry(response, params.n)
    if text.loops:
        return wrong("repeated", flags=("repeated",), evidence=about)
    found = known.nearest(text, params.same)
    if found is None:
        return as_new(1.0, params, evidence=about)
    place, near = found
    about |= {"nearest": place, "own": near.own, "theirs": near.theirs}
    if near.copied or near.nearness >= 1.0 - 1e-9:
        return wrong("known", raw=0.0, flags=("known",), evidence=about)
    nearness = near.nearness
    if params.against == "all":
        about["all"] = share_of(text, known.union())
        nearness = max(nearness, about["all"])
    return as_new(1.0 - nearness, params, evidence=about)
