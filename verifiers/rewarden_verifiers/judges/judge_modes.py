"""The modes of `judge`: the schema of the reply in each mode, and the score of a reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rewarden_verifiers.chat import Reply
from rewarden_verifiers.judges.judge_params import Aspect, Params
from rewarden_verifiers.judges.replies import UnreadableError, object_of, probability
from rewarden_verifiers.judges.scales import Scale


@dataclass(frozen=True, slots=True)
class Vote:
    """The vote of one reply: a score from 0 to 1, the reason, and the numbers on their scales, by name (`""`: the only
    one).

    answer: the response's final answer, as quoted by the judge. quotes: the passages that justify the credit, by the
    same names. credited: the names with more than the lowest credit. unquoted: the credit was withdrawn because no
    quote supports it.
    """

    score: float
    reason: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""
    quotes: Mapping[str, str] = field(default_factory=dict)
    credited: tuple[str, ...] = ()
    unquoted: bool = False


UNTOLD = Vote(0.0, "no token probabilities")
"""The vote of a reply without token probabilities."""


def schema_of(params: Params, *, quotes: bool = False) -> dict[str, Any]:
    """Returns the schema of a reply. The reason comes first, so that it is not a justification written after the
    verdict.

    quotes: the reply first quotes the final answer or the passage that justifies the credit.
    """
    reason = {"type": "string"}
    passage = {"evidence": {"type": "string"}} if quotes else {}
    if params.mode == "aspects":
        return object_of(
            {
                name: object_of({**passage, "reason": reason, "score": scale_of(params, one).schema()})
                for name, one in params.aspects.items()
            }
        )
    if params.mode == "scale":
        return object_of({**passage, "reason": reason, "score": params.scale.schema()})
    if params.mode == "accept":
        return object_of({**passage, "reason": reason, "verdict": {"type": "string", "enum": ["yes", "no"]}})
    answer = {"answer": {"type": "string"}} if quotes else {}
    return object_of({**answer, "reason": reason, "verdict": {"type": "string", "enum": ["correct", "incorrect"]}})


def vote_of(found: Mapping[str, Any], params: Params) -> Vote:
    """Reads the vote from a reply's object, which matches the schema."""
    if params.mode == "aspects":
        numbers = {name: found[name]["score"] for name in params.aspects}
        reasons = {name: found[name]["reason"] for name in params.aspects}
        return Vote(
            _mean(numbers, params),
            _told(reasons),
            numbers,
            reasons,
            quotes={name: found[name].get("evidence", "") for name in params.aspects},
            credited=tuple(name for name, one in params.aspects.items() if scale_of(params, one).share(numbers[name])),
        )
    quotes = {"": found.get("evidence", "")}
    if params.mode == "scale":
        share = params.scale.share(found["score"])
        return Vote(share, found["reason"], {"": found["score"]}, quotes=quotes, credited=("",) if share else ())
    yes = found["verdict"] in ("correct", "yes")
    return Vote(
        float(yes), found["reason"], answer=found.get("answer", ""), quotes=quotes, credited=("",) if yes else ()
    )


def without_credit(vote: Vote, names: Sequence[str], params: Params, why: str) -> Vote:
    """The vote with the lowest credit for these parts, which no passage of the response earns. why: for the reasons."""
    if params.mode != "aspects":
        numbers = {"": params.scale.lowest} if params.mode == "scale" else {}
        return Vote(0.0, f"{vote.reason} {why}".strip(), numbers, unquoted=True)
    credited = tuple(name for name in vote.credited if name not in names)
    numbers = {**vote.numbers, **{name: scale_of(params, params.aspects[name]).lowest for name in names}}
    reasons = {**vote.reasons, **{name: f"{vote.reasons[name]} {why}".strip() for name in names}}
    return replace(
        vote,
        score=_mean(numbers, params),
        reason=_told(reasons),
        numbers=numbers,
        reasons=reasons,
        credited=credited,
        unquoted=True,
    )


def worst(votes: Sequence[Vote], params: Params) -> Vote:
    """Combines the votes on portions into one on the response: the lowest, or the lowest for each aspect."""
    if params.mode != "aspects":
        return min(votes, key=lambda vote: vote.score)
    by = {
        name: min(votes, key=lambda vote: scale_of(params, aspect).share(vote.numbers[name]))
        for name, aspect in params.aspects.items()
    }
    numbers = {name: vote.numbers[name] for name, vote in by.items()}
    reasons = {name: vote.reasons.get(name, "") for name, vote in by.items()}
    unquoted = any(vote.unquoted for vote in by.values())
    return Vote(_mean(numbers, params), _told(reasons), numbers, reasons, unquoted=unquoted)


def lowest(params: Params) -> Vote:
    """Returns the vote that counts if the response made the replies unreadable."""
    if params.mode == "aspects":
        return Vote(0.0, numbers={name: scale_of(params, one).lowest for name, one in params.aspects.items()})
    return Vote(0.0, numbers={"": params.scale.lowest} if params.mode == "scale" else {})


def chance_of(reply: Reply, params: Params) -> Vote:
    """Reads the vote from the reply's first token; `UNTOLD` if the server gives no probabilities. Raises
    UnreadableError.
    """
    if not reply.alternatives and reply.finish in ("stop", "length"):
        if not reply.text.strip():
            raise UnreadableError("empty")
        return UNTOLD
    return Vote(probability(reply, params.yes, params.no, params.least))


def share_of(vote: Vote, name: str, params: Params) -> float:
    """The credit of a part, from 0 to 1; of the whole, if it has only one."""
    if params.mode != "aspects":
        return vote.score
    return scale_of(params, params.aspects[name]).share(vote.numbers[name])


def scale_of(params: Params, aspect: Aspect) -> Scale:
    """The scale of an aspect."""
    return aspect.scale if aspect.scale is not None else params.scale


UNQUOTED = "(the response does not contain the quote)"
CREDULOUS = "(the judge gives the quote as much credit for unrelated subjects)"
"""Reasons for withdrawing credit."""


def _told(reasons: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {reason}" for name, reason in reasons.items())


def _mean(numbers: Mapping[str, float], params: Params) -> float:
    total = sum(aspect.weight for aspect in params.aspects.values())
    weighted = sum(one.weight * scale_of(params, one).share(numbers[name]) for name, one in params.aspects.items())
    return min(weighted / total, 1.0)
