"""`novelty`: measures how much of a response is new compared with an archive of texts."""

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
"""Maximum number of characters of a response."""


@lru_cache(maxsize=8)
def _read(texts: tuple[str, ...], orders: int) -> Archive:
    """Prepares the archive. Cached, since siblings are compared with the same one in turn."""
    return archive(texts, orders)


def _variant(params: NoveltyParams) -> VerifierSpec | None:
    return spec_of(by_name) if params.name is not None else spec_of(by_meaning) if params.by == "embedding" else None


@verifier(version="1", graded=True, variant=_variant)
def novelty(
    response: str, params: NoveltyParams, reference: Any = None, metadata: Mapping[str, Any] | None = None
) -> Outcome:
    """Scores how new a response is compared with an archive: 1 if it shares no word with any text in it, 0 for a copy.

    The reference is the archive: a list of texts, or `{archive: texts}`. For the first response, the list is empty. At
    most 2,000 texts and 200,000 characters are compared. The score is 1 minus the similarity to the most similar text:
    the share of n-grams in common, relative to the response or to the archived text, whichever is larger, so padding
    does not make a copy new. Case, accents, invisible characters and look-alike letters are ignored.

    A response that repeats an archived text scores 0 (`known`): the same words in any order, or the whole text inside a
    longer one. So does a response without substance (`blank`, `opener_only`, `claim_only`), a loop (`repeated`), and a
    response of more than 50,000 characters (`too_expensive`).

    With `by: embedding`, the similarity is the highest cosine between the response's vector and those of at most 256
    archived texts (the newest, if the server keeps the archive), from one of the server's models, so paraphrases are
    similar too. Whatever scores 0 by n-grams scores 0 here as well.

    New does not mean good: gibberish is new. In a recipe, reward novelty only if another verifier passes the response:
    `answer.passed ? 0.8 + 0.2 * novelty.score : 0.0`. If the archive is in the row, a verdict does not depend on
    earlier ones. Before you judge a sample again, remove its own earlier response from the archive; otherwise the
    sample is a copy of itself.

    With `name`, the server keeps the archive. It adds every response that scores more than 0. It drops the oldest texts
    beyond 1,000 texts or 200,000 characters, and the least recently extended archives beyond 500. Such verdicts depend
    on the order in which samples are judged, even when you rescore them. They are never cached, they have the flag
    `kept_archive`, and their evidence has the archive's name, size and digest at that moment. Siblings that are judged
    at the same time may not see each other. Each sample needs its own `id`: the same id with the same response counts
    as a retry, not as a copy.
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
