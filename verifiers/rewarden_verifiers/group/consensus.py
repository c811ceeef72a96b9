"""`consensus`: measures whether a response agrees with its siblings, by any verifier's equivalence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rewarden.errors import InvalidSample, SampleError
from rewarden.types import Outcome, Use
from rewarden_verifiers.contract import Context, Member, VerifierSpec, spec_of, verifier
from rewarden_verifiers.group.answers import SHOWN, Given, Meaning, by_meaning, by_use
from rewarden_verifiers.group.clusters import Cluster, Clustering, cluster
from rewarden_verifiers.models.resources import ModelResources
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.outcome import no_answer, scored, undecided
from rewarden_verifiers.uses import UseLike, parse_use


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusParams:
    """Options of `consensus`.

    use: Verifier whose `Equivalence` decides which answers are equal. A verifier without one judges each member, and
        the extracted answers are compared.
    embedding: In place of `use`, `{model, prefix, fit, threshold}`: the answers are whole responses, and two are equal
        if the cosine of their vectors is at least `threshold`, whatever their words.
    mode: `majority`: 1 for the members of the largest cluster, else 0; `soft`: the share of the member's own cluster.
    ties: If several clusters are largest: `none` of them has the majority, the `first` has (by its first member), or
        `all` have.
    min_share: Share of the group that the largest cluster needs. Members without an answer count in the group, so that
        a few equal answers do not look like agreement.
    min_answered: Members with an answer that the group needs; a single one agrees with no other.
    below: Outcome without a majority: `zero` (disagreeing must not pay), `undecided`, or `exclude` (the answer keeps
        its score, but the trainer should leave the group out). If too few members answered, `undecided` becomes `zero`,
        because silence is not doubt.
    """

    use: UseLike = "math"
    embedding: Meaning | None = None
    mode: Literal["majority", "soft"] = "majority"
    ties: Literal["none", "first", "all"] = "none"
    min_share: float = 0.0
    min_answered: int = 2
    below: Literal["zero", "undecided", "exclude"] = "zero"

    def __post_init__(self) -> None:
        if not 0.0 <= self.min_share <= 1.0:
            raise ValueError("min_share must lie between 0 and 1")
        if self.min_answered < 1:
            raise ValueError("min_answered must be at least 1")


def _children(params: ConsensusParams) -> list[Use]:
    return [] if params.embedding is not None else [parse_use(params.use)]


def _variant(params: ConsensusParams) -> VerifierSpec | None:
    own = spec_of(consensus)
    if own is None or params.embedding is None:
        return None
    return replace(own, resources=ModelResources, determinism="tolerance", variant=None)


@verifier(version="2", graded=True, children=_children, variant=_variant)
async def consensus(samples: list[Member], params: ConsensusParams, ctx: Context) -> Sequence[Outcome | SampleError]:
    """Scores agreement within a group: majority vote (TTRL) or the share of equal answers (EMPO).

    Answers are clustered by another verifier's equivalence, or by the similarity of their vectors (FETCH merges equal
    states of a search this way, arXiv 2502.11183). Groups of a thousand need no n² comparisons. A member without an
    answer is in no cluster and gets the lowest score. No reference is read: agreement is not correctness, and a policy
    can learn to agree on wrong answers. Sources: TTRL (arXiv 2504.16084), EMPO (arXiv 2504.05812).

    A member that the other verifier could not judge (an internal error, or an invalid reference if it needs one) keeps
    that outcome and is excluded from all shares. Raises InvalidSample if the group is smaller than `min_answered`.
    """
    if len(samples) < params.min_answered:
        raise InvalidSample(
            f"the group has {len(samples)} members; consensus needs at least {params.min_answered}", path="group"
        )
    seen = Seen()
    if params.embedding is not None:
        given = await by_meaning(ctx, samples, params.embedding, seen)
    else:
        given = await by_use(ctx, samples, parse_use(params.use))
    found = await cluster(given.answers, given.same)
    return _judge(samples, params, given, found, seen)


def _judge(
    samples: Sequence[Member], params: ConsensusParams, given: Given, found: Clustering, seen: Seen
) -> list[Outcome | SampleError]:
    answers, failed, shown = given.answers, given.failed, given.shown
    size = len(samples) - len(failed)
    answered = sum(answer is not None for answer in answers)
    winners, problem = _winners(params, found, answered, size)
    of = {place: made for made in found.clusters for place in made.members}
    evidence: dict[str, Any] = {
        "size": size,
        "answered": answered,
        "clusters": len(found.clusters),
        "sizes": found.sizes[:8],
        "agreement": len(found.clusters[0].members) / size if answered else None,
        "entropy": found.entropy,
        "consensus": _said(winners[0], params) if winners else None,
        "comparisons": found.comparisons,
        "unclear": found.unclear,
        **(seen.evidence() if seen.tasks else {}),
    }
    flags = (*["no_consensus"] * (problem is not None), *found.flags(), *seen.flags())
    judged: list[Outcome | SampleError] = []
    for place, answer in enumerate(answers):
        known = failed.get(place)
        if isinstance(known, SampleError):
            judged.append(known)
        elif known is not None:
            judged.append(replace(known, evidence={**known.evidence, "group": evidence}))
        elif answer is None:
            why = given.beneath.get(place) or no_answer()
            judged.append(replace(why, evidence={**why.evidence, **evidence}, flags=(*why.flags, *flags)))
        elif problem is not None and problem != "too_few_answers" and params.below == "undecided":
            said = shown.get(place, answer[0])
            judged.append(undecided(problem, extracted=said, evidence=evidence, flags=flags))
        else:
            own = of[place]
            shared = {**evidence, "share": len(own.members) / size}
            agrees = own in winners
            soft = params.mode == "soft" and (problem is None or params.below == "exclude")
            score = len(own.members) / size if soft else float(agrees)
            judged.append(
                scored(
                    score,
                    passed=agrees,
                    fault=None if agrees else "policy",
                    reason=None if agrees else problem or "minority",
                    extracted=shown.get(place, answer[0]),
                    evidence=shared,
                    flags=flags,
                )
            )
    if problem is not None and params.below == "exclude":
        judged = [
            outcome
            if isinstance(outcome, SampleError) or place in failed
            else replace(outcome, exclude=True, exclude_reason=problem)
            for place, outcome in enumerate(judged)
        ]
    return judged


def _said(made: Cluster, params: ConsensusParams) -> str:
    """The answer; for a whole response, its beginning."""
    return made.answer if params.embedding is None else made.answer[:SHOWN]


def _winners(params: ConsensusParams, found: Clustering, answered: int, size: int) -> tuple[list[Cluster], str | None]:
    """The clusters that have the majority, or none and the reason."""
    if answered < params.min_answered:
        return [], "too_few_answers"
    most = len(found.clusters[0].members)
    if most / size < params.min_share:
        return [], "too_little_agreement"
    biggest = [made for made in found.clusters if len(made.members) == most]
    if len(biggest) == 1 or params.ties == "first":
        return biggest[:1], None
    if params.ties == "all":
        return biggest, None
    return [], None if params.mode == "soft" else "tie"
