"""The verifier `cascade`: asks a rule first, and a second verifier only if the rule says no or cannot tell."""

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

    rule: The verifier or recipe to ask first. Its yes is final.
    then: The verifier or recipe to ask otherwise, such as a judge.
    when: When to ask it. `no_or_unsure`: if the rule says no or cannot tell; `unsure`: only if the rule cannot tell, so
        that its no is final.
    no_answer: What to do with a no because the rule found no answer: `ask`, as for any other no, or `keep` it, so that
        a response in the wrong form costs no call and earns nothing.
    failed: What to do if the rule itself fails for a reason other than the caller's: `ask` the other verifier (flag
        `rule_failed`), or `raise` the error.
    combine: Which score counts if both give one: the `last`, or the `max` of the two (QwenLong-L1, arXiv 2505.17667).
        For scores of 0 and 1 these are the same.
    threshold: The lowest score of the rule that means yes; null: its `passed`, or full marks if it has none.
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
    """A cheap, reliable rule decides if it says yes; a second verifier, such as a judge, decides the rest.

    The outcome is that of the verifier that decided, with `branch` (`rule` or `then`) in the evidence and both
    verifiers as components. If the rule says no and the second verifier cannot judge, there is no score. Both must have
    the same score range. Published rewards of this form: QwenLong-L1 (arXiv 2505.17667), DeepResearcher (arXiv
    2504.03160).
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
