"""`diversity`: measures how much a response differs from its siblings."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rewarden.errors import InvalidParams, InvalidSample, SampleError
from rewarden.types import Outcome, Use
from rewarden_verifiers.contract import Context, Member, VerifierSpec, spec_of, verifier
from rewarden_verifiers.group.answers import by_use, unfit
from rewarden_verifiers.group.clusters import cluster
from rewarden_verifiers.group.ngrams import novelty
from rewarden_verifiers.models.embeddings import Embedding, mean_distances, nearest_distances, vectors
from rewarden_verifiers.models.model_tasks import excess
from rewarden_verifiers.models.resources import ModelResources
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.outcome import no_answer, scored, wrong
from rewarden_verifiers.uses import UseLike, parse_use

Ended = Outcome | SampleError


@dataclass(frozen=True, slots=True, kw_only=True)
class DiversityParams:
    """Options of `diversity`.

    by: Kind of distance: `ngrams`: word sequences that no sibling has; `embedding`: the cosine distance of the
        responses' vectors from a model; `answers`: another verifier decides whether the answers are equal.
    n: Length of the longest n-grams, up to 8.
    embedding: `{model, prefix, fit}`: the server's model, the prefix of each text, and the treatment of texts beyond
        the model's context.
    use: Verifier whose `Equivalence` decides which answers are equal. For a verifier without one, the extracted answers
        are compared.
    reduce: The `mean` distance to the siblings, or that to the `nearest`. By n-grams all siblings are one text.
    among: Verifier or recipe: only members that pass it are compared and earn credit (DSDR: among the correct ones).
        Without it, anything unlike the others earns credit, even nonsense.
    passing: Lowest score at which a member passes `among`. If unset, its own `passed` decides.
    copies: Credit for a response that another one repeats, apart from case and punctuation: `nothing`, or that of its
        distances (`counted`). For short plans the more frequent ones then earn less.
    """

    by: Literal["ngrams", "embedding", "answers"] = "ngrams"
    n: int = 4
    embedding: Embedding = field(default_factory=Embedding)
    use: UseLike = "math"
    reduce: Literal["mean", "nearest"] = "mean"
    among: UseLike | None = None
    passing: float | None = None
    copies: Literal["nothing", "counted"] = "nothing"

    def __post_init__(self) -> None:
        if not 1 <= self.n <= 8:
            raise ValueError("n must be from 1 to 8")
        if self.passing is not None and self.among is None:
            raise ValueError("passing is for what among names")


@dataclass(slots=True)
class _Compared:
    """The result of one kind of comparison. distances: by index; ended: outcomes of members that it could not
    compare.
    """

    distances: Mapping[int, float]
    ended: Mapping[int, Ended] = field(default_factory=dict)
    evidence: Mapping[str, Any] = field(default_factory=dict)
    flags: Sequence[str] = ()


def _children(params: DiversityParams) -> list[Use]:
    found = [] if params.among is None else [parse_use(params.among, "params.among")]
    return [*found, parse_use(params.use)] if params.by == "answers" else found


def _variant(params: DiversityParams) -> VerifierSpec | None:
    own = spec_of(diversity)
    if own is None or params.by != "embedding":
        return None
    return replace(own, resources=ModelResources, determinism="tolerance", variant=None)


@verifier(version="2", graded=True, children=_children, variant=_variant)
async def diversity(samples: list[Member], params: DiversityParams, ctx: Context) -> Sequence[Outcome | SampleError]:
    """Scores how much a response differs from its siblings, from 0 to 1: by n-grams, by meaning, or by answer.

    Each member's score is its distance to the others that are compared. The evidence has the group's mean distance, and
    distinct-n, or the clusters and their entropy. By n-grams the distance is the share of the member's n-grams that no
    sibling has (1 - self-BLEU); by embedding it is 1 - cosine; by answers, 1 for another answer and 0 for the same.
    Outcomes have no `passed`. Sources: DSDR (arXiv 2602.19895), Kirk et al. 2023 (arXiv 2310.06452), AlphaDrive.

    A member gets the lowest score if it has no answer, has no substance or loops (`repeated`), is too long for the
    model by its own doing (`too_long`), fails `among` (`not_among`), is a copy (`copy`), or has no other member left to
    compare with (`alone`). A member that could not be judged keeps that outcome and is not compared.

    Raises InvalidSample for a group of one, and InvalidParams if `among` has no notion of passing and `passing` is
    unset.
    """
    if len(samples) < 2:
        raise InvalidSample("the group has one member; diversity needs at least 2", path="group")
    refused, words = await unfit(samples)
    ended: dict[int, Ended] = dict(refused)
    if params.among is not None:
        ended |= await _outside(ctx, samples, ended, params)
    seen = Seen()
    places = [place for place in range(len(samples)) if place not in ended]
    words = {place: words[place] for place in places}
    copies = _copies(samples, words) if params.copies == "nothing" else set()
    if params.by == "ngrams":
        found = await asyncio.to_thread(_by_ngrams, words, params)
    elif params.by == "embedding":
        found = await _by_embedding(ctx, samples, places, params, seen)
    else:
        found = await _by_answers(ctx, [samples[place] for place in places], places, params)
    ended |= found.ended
    distances = found.distances
    evidence = {
        "by": params.by,
        "size": len(samples),
        "compared": len(distances),
        "mean": math.fsum(distances.values()) / len(distances) if len(distances) > 1 else None,
        **found.evidence,
        **(seen.evidence() if seen.tasks else {}),
    }
    flags = (*found.flags, *seen.flags())
    return [
        _ended(ended[place], evidence)
        if place in ended
        else _outcome(distances[place], len(distances), place in copies, evidence, flags)
        for place in range(len(samples))
    ]


def _outcome(distance: float, compared: int, copy: bool, evidence: Mapping[str, Any], flags: Sequence[str]) -> Outcome:
    if compared < 2:
        return scored(0.0, reason="alone", evidence=evidence, flags=flags)
    if copy:
        return scored(0.0, reason="copy", raw=distance, evidence=evidence, flags=(*flags, "copy"))
    return scored(distance, raw=distance, evidence=evidence, flags=flags)


def _ended(known: Ended, evidence: Mapping[str, Any]) -> Ended:
    if isinstance(known, SampleError):
        return known
    return replace(known, evidence={**known.evidence, "group": evidence})


async def _outside(
    ctx: Context, samples: Sequence[Member], ended: Mapping[int, Ended], params: DiversityParams
) -> dict[int, Ended]:
    """The outcomes of members that `among` does not pass, or cannot decide about."""
    assert params.among is not None
    places = [place for place in range(len(samples)) if place not in ended]
    if not places:
        return {}
    outcomes = await ctx.verify_group(parse_use(params.among, "params.among"), [samples[place] for place in places])
    found: dict[int, Ended] = {}
    for place, outcome in zip(places, outcomes, strict=True):
        if outcome.status != "scored" or outcome.score is None:
            found[place] = replace(outcome, components={}, steps=())
        elif params.passing is None and outcome.passed is None:
            raise InvalidParams(
                "params.among does not decide passed or failed: give params.passing", path="params.passing"
            )
        elif not (outcome.passed if params.passing is None else outcome.score >= params.passing):
            found[place] = wrong("not_among", feedback=outcome.feedback)
    return found


def _copies(samples: Sequence[Member], words: Mapping[int, tuple[str, ...]]) -> set[int]:
    """The indices of members whose words another member has too."""
    alike: dict[tuple[str, ...] | str, list[int]] = {}
    for place, found in words.items():
        # Texts of symbols alone have no words, so compare them as they are.
        alike.setdefault(found or (samples[place].response or "").strip(), []).append(place)
    return {place for same in alike.values() if len(same) > 1 for place in same}


def _by_ngrams(words: Mapping[int, Sequence[str]], params: DiversityParams) -> _Compared:
    found = novelty(list(words.values()), params.n)
    distinct = {str(order): share for order, share in enumerate(found.distinct, start=1)}
    flags = ("compared_in_part",) if found.cut else ()
    return _Compared(dict(zip(words, found.distances, strict=True)), {}, {"distinct": distinct}, flags)


async def _by_embedding(
    ctx: Context, samples: Sequence[Member], places: Sequence[int], params: DiversityParams, seen: Seen
) -> _Compared:
    texts = {place: samples[place].response or "" for place in places}
    found = await vectors(ctx, list(texts.values()), params.embedding, seen)
    ended = {place: excess(found.long[text]) for place, text in texts.items() if text in found.long}
    left = [place for place in places if place not in ended]
    if len(left) < 2:
        return _Compared(dict.fromkeys(left, 0.0), ended)
    distances = mean_distances if params.reduce == "mean" else nearest_distances
    return _Compared(dict(zip(left, await distances([found.of[texts[place]] for place in left]), strict=True)), ended)


async def _by_answers(
    ctx: Context, samples: Sequence[Member], places: Sequence[int], params: DiversityParams
) -> _Compared:
    if not samples:
        return _Compared({})
    given = await by_use(ctx, samples, parse_use(params.use))
    found = await cluster(given.answers, given.same)
    ended: dict[int, Ended] = {
        place: given.failed.get(own, given.beneath.get(own, no_answer()))
        for own, place in enumerate(places)
        if given.answers[own] is None
    }
    others = sum(found.sizes) - 1
    distances = {
        places[own]: _apart(len(made.members), others, params.reduce) for made in found.clusters for own in made.members
    }
    evidence = {
        "clusters": len(found.clusters),
        "sizes": found.sizes[:8],
        "entropy": found.entropy,
        "unclear": found.unclear,
    }
    return _Compared(distances, ended, evidence, found.flags())


def _apart(size: int, others: int, reduce: str) -> float:
    """The distance of a cluster's member to the others: the share of them with a different answer."""
    if reduce == "nearest" or others < 1:
        return float(size == 1 and others > 0)
    return (others - (size - 1)) / others
