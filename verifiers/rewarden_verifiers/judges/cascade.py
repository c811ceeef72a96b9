"""`cascade`: a rule first, and a second opinion only where the rule says no or cannot tell."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from rewarden.errors import InvalidParams
from rewarden.types import Component, Outcome, Use
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.uses import UseLike, parse_use


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Options of `cascade`.

    rule: the verifier or recipe that is asked first, and decides where it says yes.
    then: who is asked in its place otherwise, such as a judge.
    when: where that is: `no_or_unsure`: the rule says no, or cannot tell; `unsure`: only where it cannot tell, so that
        its no is final.
    no_answer: what becomes of a no that is none because the rule finds no answer at all: `ask`, as for any other, or
        `keep` it: answering out of form then costs no call, and cannot be made up for.
    failed: what happens where the rule itself fails for a reason that is not the caller's: `ask` the other (flag
        `rule_failed`), or `raise` its error.
    combine: what counts where both have a score: the `last`, or the `max` of both (QwenLong-L1, arXiv 2505.17667); the
        same for scores of 0 and 1.
    threshold: the rule's score from which it says yes; none: where it says `passed`, or gives full marks if it has no
        notion of that.
    """

    rule: UseLike
    then: UseLike
    when: Literal["no_or_unsure", "unsure"] = "no_or_unsure"
    no_answer: Literal["ask", "keep"] = "ask"
    failed: Literal["ask", "raise"] = "ask"
    combine: Literal["last", "max"] = "last"
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise InvalidParams("params.threshold must be a number", path="params.threshold")


def _children(params: Params) -> list[Use]:
    return [parse_use(params.rule, "params.rule"), parse_use(params.then, "params.then")]


@verifier(version="1", graded=True, determinism="sampled", children=_children)
async def cascade(params: Params, ctx: Context) -> Outcome:
    """Rule first: a cheap and certain verifier decides where it says yes; the other is asked about the rest alone.

    The outcome is that of whoever decided, with `branch` (`rule` or `then`) in the evidence and both as components.
    What the rule says no to and the other cannot judge has no score: the rule's no was not to be final. Both must score
    in one range. Rewards of this form: QwenLong-L1 (arXiv 2505.17667), DeepResearcher (arXiv 2504.03160).
    """
    rule, then = _children(params)
    first = await ctx.verify(rule)
    components = {"rule": _component(first, rule)}
    if _final(first, params):
        return _ended(first, "rule", components, ())
    second = await ctx.verify(then)
    components["then"] = _component(second, then)
    flags = ("rule_failed",) if first.status == "error" else ()
    if first.score is None or second.score is None:
        return _ended(second, "then", components, flags)
    if first.range != second.range:
        raise InvalidParams(
            f"params: the rule scores from {first.range[0]:g} to {first.range[1]:g} and the other from "
            f"{second.range[0]:g} to {second.range[1]:g}; they must have one range",
            path="params.then",
        )
    if params.combine == "max" and first.score > second.score:
        return _ended(first, "rule", components, flags)
    return _ended(second, "then", components, flags)


def _final(outcome: Outcome, params: Params) -> bool:
    """Returns whether nobody else is to be asked."""
    if outcome.status == "error":
        return params.failed == "raise" or outcome.fault == "caller"
    if outcome.score is None:
        return False
    return _yes(outcome, params) or params.when == "unsure" or (params.no_answer == "keep" and _empty(outcome))


def _yes(outcome: Outcome, params: Params) -> bool:
    assert outcome.score is not None
    if params.threshold is not None:
        # A sum of floats that should reach it may lack a rounding.
        return outcome.score >= params.threshold - 1e-9
    return outcome.passed if outcome.passed is not None else outcome.score >= outcome.range[1]


def _empty(outcome: Outcome) -> bool:
    return "no_answer" in outcome.flags


def _component(outcome: Outcome, use: Use) -> Component:
    return Component(
        status=outcome.status,
        score=outcome.score,
        reason=outcome.reason,
        fault=outcome.fault,
        verifier=use.name or "recipe",
    )


def _ended(outcome: Outcome, branch: str, components: dict[str, Component], flags: tuple[str, ...]) -> Outcome:
    evidence: dict[str, Any] = {**outcome.evidence, "branch": branch}
    return replace(outcome, components=components, evidence=evidence, flags=(*outcome.flags, *flags))
