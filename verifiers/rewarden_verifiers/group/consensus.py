"""`consensus`: whether a response agrees with its siblings, by any verifier's notion of sameness."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rewarden.errors import InvalidSample, SampleError
from rewarden.types import Outcome, Use
from rewarden_verifiers.contract import Context, Member, verifier
from rewarden_verifiers.fingerprint import canonical
from rewarden_verifiers.group.clusters import Cluster, Clustering, cluster
from rewarden_verifiers.outcome import no_answer, scored, undecided
from rewarden_verifiers.uses import UseLike, parse_use

Answer = tuple[str, str | None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusParams:
    """Options of `consensus`.

    use: the verifier whose `Equivalence` says which answers are the same; one without an equivalence judges each
        member, and what it extracted is compared.
    mode: `majority`: 1 for the members of the biggest cluster, else 0; `soft`: the share of one's own cluster.
    ties: when several clusters are the biggest: `none` of them has the majority, the `first` (by its first member),
        or `all` of them.
    min_share: the share of the group that the biggest cluster needs; members without an answer count in the group, so
        that answering rarely and alike does not look like agreement.
    min_answered: members with an answer that the group needs; one alone agrees with nobody.
    below: what happens where there is no majority: `zero` (disagreeing must not pay), `undecided`, or `exclude` (the
        score that the answer would have had, but the trainer is asked to leave the group out). Where too few answered
        it is `zero` in place of `undecided`: silence is no doubt.
    """

    use: UseLike = "math"
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
    return [parse_use(params.use)]


@verifier(version="1", graded=True, children=_children)
async def consensus(samples: list[Member], params: ConsensusParams, ctx: Context) -> Sequence[Outcome | SampleError]:
    """Agreement with the siblings: majority vote (TTRL) or the mass of one's cluster of equal answers (EMPO).

    Answers are clustered by the sameness of another verifier; groups of a thousand need no n² comparisons. A member
    without an answer is in no cluster and scores at the bottom. No reference is read: agreement is not correctness,
    and a policy can learn to agree on what is wrong. Sources: TTRL (arXiv 2504.16084), EMPO (arXiv 2504.05812).

    A member that the other verifier could not judge (an error of ours, a bad reference where it needs one) keeps that
    outcome and counts in no share. Raises InvalidSample for a group smaller than `min_answered`.
    """
    if len(samples) < params.min_answered:
        raise InvalidSample(
            f"the group has {len(samples)} members; consensus needs at least {params.min_answered}", path="group"
        )
    use = parse_use(params.use)
    equivalence = ctx.equivalence(use)
    failed: dict[int, Outcome | SampleError] = {}
    if equivalence is not None:
        texts = list(dict.fromkeys(member.response for member in samples if member.response is not None))
        read = dict(zip(texts, await equivalence.read(texts), strict=True))
        given = [None if member.response is None else read[member.response] for member in samples]
        failed = {place: found for place, found in enumerate(given) if isinstance(found, SampleError)}
        answers: list[Answer] = [None if isinstance(found, SampleError) else found for found in given]
        found = await cluster(answers, equivalence.same)
    else:
        outcomes = await ctx.verify_group(use, samples)
        failed = {place: outcome for place, outcome in enumerate(outcomes) if _failed(outcome)}
        answers = [None if place in failed else _extracted(outcome) for place, outcome in enumerate(outcomes)]
        found = await cluster(answers, None)
    shown = {place: outcome.extracted for place, outcome in enumerate(outcomes)} if equivalence is None else {}
    return _judge(samples, params, answers, found, failed, shown)


def _failed(outcome: Outcome) -> bool:
    """Whether a member could not be judged for a reason that is not its own, so that nobody knows what it answered."""
    return outcome.status == "error" or (outcome.status == "undecided" and outcome.extracted is None)


def _extracted(outcome: Outcome) -> Answer:
    if outcome.extracted is None or "no_answer" in outcome.flags:
        return None
    text = canonical(outcome.extracted)
    return text, text


def _judge(
    samples: Sequence[Member],
    params: ConsensusParams,
    answers: Sequence[Answer],
    found: Clustering,
    failed: dict[int, Outcome | SampleError],
    shown: dict[int, Any],
) -> list[Outcome | SampleError]:
    size = len(samples) - len(failed)
    answered = sum(answer is not None for answer in answers)
    winners, problem = _winners(params, found, answered, size)
    of = {place: made for made in found.clusters for place in made.members}
    evidence: dict[str, Any] = {
        "size": size,
        "answered": answered,
        "clusters": len(found.clusters),
        "sizes": [len(made.members) for made in found.clusters[:8]],
        "agreement": len(found.clusters[0].members) / size if answered else None,
        "entropy": _entropy(found.clusters, answered),
        "consensus": winners[0].answer if winners else None,
        "comparisons": found.comparisons,
        "unclear": found.unclear,
    }
    flags = tuple(
        flag
        for flag, raised in (
            ("no_consensus", problem is not None),
            ("comparisons_limited", found.limited),
            ("comparisons_unclear", found.unclear > 0),
        )
        if raised
    )
    judged: list[Outcome | SampleError] = []
    for place, answer in enumerate(answers):
        known = failed.get(place)
        if isinstance(known, SampleError):
            judged.append(known)
        elif known is not None:
            judged.append(replace(known, evidence={**known.evidence, "group": evidence}))
        elif answer is None:
            judged.append(no_answer(evidence=evidence, flags=flags))
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


def _winners(params: ConsensusParams, found: Clustering, answered: int, size: int) -> tuple[list[Cluster], str | None]:
    """The clusters that have the majority, or none and why."""
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


def _entropy(clusters: Sequence[Cluster], answered: int) -> float | None:
    """Shannon entropy of the answers, in bits; semantic entropy where the sameness is semantic."""
    if not answered:
        return None
    shares = [len(made.members) / answered for made in clusters]
    return max(0.0, -math.fsum(share * math.log2(share) for share in shares))
