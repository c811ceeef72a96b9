"""The verifier `cascade`: calls a rule first, and a second verifier only if the rule says no or cannot decide."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from rewarden.errors import InvalidParams
from rewarden.types import Component, Outcome, Sample, Use
from rewarden_verifiers.canonical import canonical
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.recheck import Recheck
from rewarden_verifiers.uses import UseLike, parse_use


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Options of `cascade`.

    rule: The verifier or recipe to call first. Its yes is final.
    then: The verifier or recipe to call otherwise, such as a judge.
    when: When to call it. `no_or_unsure`: if the rule says no or cannot tell; `unsure`: only if the rule cannot tell,
        so that its no is final.
    no_answer: What to do if the rule says no because it found no answer: `ask`, as for any other no, or `keep` the no,
        so that a response in the wrong form costs no call and earns nothing.
    failed: What to do if the rule itself fails for a reason other than the caller's: `ask` the other verifier (flag
        `rule_failed`), or `raise` the error.
    combine: Which score counts if both give one: the `last`, or the `max` of the two (QwenLong-L1, arXiv 2505.17667).
        For scores of 0 and 1 these are the same.
    threshold: The lowest score of the rule that means yes; null: its `passed`, or full marks if it has none.
    reject: The highest score of the rule that means no. A score between `reject` and `threshold` means that the rule is
        unsure; only then is the other verifier called, and `when` is ignored. null: no such score.
    recheck: Of the samples that the rule decided, the share that the other verifier also judges, after the verdict. The
        two verdicts are compared and counted; the recheck neither changes nor delays the rule's verdict. Samples are
        drawn by their id.
    agreement: The expected agreement of rechecks. If the latest ones show that it is lower, the cascade counts as
        drifted.
    """

    rule: UseLike
    then: UseLike
    when: Literal["no_or_unsure", "unsure"] = "no_or_unsure"
    no_answer: Literal["ask", "keep"] = "ask"
    failed: Literal["ask", "raise"] = "ask"
    combine: Literal["last", "max"] = "last"
    threshold: float | None = None
    reject: float | None = None
    recheck: float = 0.0
    agreement: float = 0.95

    def __post_init__(self) -> None:
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise InvalidParams("params.threshold must be a number", path="params.threshold")
        # Phrased positively so that NaN, for which every comparison is false, is rejected.
        if self.reject is not None and not (self.threshold is not None and -math.inf < self.reject < self.threshold):
            raise InvalidParams("params.reject must be below params.threshold", path="params.reject")
        for name in ("recheck", "agreement"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidParams(f"params.{name} must be from 0 to 1", path=f"params.{name}")


def _children(params: Params) -> list[Use]:
    return [parse_use(params.rule, "params.rule"), parse_use(params.then, "params.then")]


@verifier(version="1", graded=True, determinism="sampled", children=_children)
async def cascade(sample: Sample, params: Params, ctx: Context) -> Outcome:
    """A cheap, reliable rule decides if it accepts a response; a second verifier, such as a judge, decides the rest.

    The outcome is that of the verifier that decided, with `branch` (`rule` or `then`) in the evidence and both
    verifiers as components. If the rule says no and the second verifier cannot judge, there is no score. Both must have
    the same score range.

    With `threshold` and `reject`, for which `rewarden judge calibrate` finds values, a cheap judge decides if it is
    sure, and a strong one decides the rest. With `recheck`, the strong judge also judges a share of the samples that
    the cheap one decided, in the background; `/metrics` and `/v1/info` count how often it agrees. `evidence.recheck`
    marks the samples that were drawn.

    Published rewards of this form: QwenLong-L1 (arXiv 2505.17667), DeepResearcher (arXiv 2504.03160).
    """
    rule, then = _children(params)
    first = await ctx.verify(rule)
    components = {"rule": _component(first, rule)}
    if _final(first, params):
        ended = _ended(first, "rule", components, ())
        if first.score is None or not _drawn(sample, params.recheck):
            return ended
        names = {"rule": _named(rule), "then": _named(then)}
        ctx.recheck(
            Recheck(
                use=then,
                **names,
                passed=_yes(first, params),
                threshold=params.threshold,
                expected=params.agreement,
            )
        )
        return replace(ended, evidence={**ended.evidence, "recheck": names})
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
    """Returns whether the rule's outcome is final, so that the second verifier is not asked."""
    if outcome.status == "error":
        return params.failed == "raise" or outcome.fault == "caller"
    if outcome.score is None:
        return False
    if _yes(outcome, params) or (params.no_answer == "keep" and _empty(outcome)):
        return True
    if params.reject is not None:
        return outcome.score <= params.reject + 1e-9
    return params.when == "unsure"


def _yes(outcome: Outcome, params: Params) -> bool:
    assert outcome.score is not None
    if params.threshold is not None:
        # Rounding can leave a sum of floats just below the threshold.
        return outcome.score >= params.threshold - 1e-9
    return outcome.passed if outcome.passed is not None else outcome.score >= outcome.range[1]


def _empty(outcome: Outcome) -> bool:
    return "no_answer" in outcome.flags


def _drawn(sample: Sample, share: float) -> bool:
    """Returns whether a sample is drawn for a recheck. The draw hashes the sample's id, so the same sample is drawn in
    every run and on every server. Without an id, the response is hashed instead, which influences nothing else.
    """
    if not share:
        return False
    seed = sample.id if sample.id is not None else canonical(sample.response)
    place = int.from_bytes(hashlib.blake2b(seed.encode("utf-8", "replace"), digest_size=8).digest(), "big")
    return place < share * 2**64


def _named(use: Use) -> str:
    """A verifier's name, followed by the name of its judge if it has one."""
    judge = use.params.get("judge")
    return f"{use.name or 'recipe'} ({judge})" if isinstance(judge, str) else use.name or "recipe"


def _component(outcome: Outcome, use: Use) -> Component:
    return Component(
        status=outcome.status,
        score=outcome.score,
        reason=outcome.reason,
        fault=outcome.fault,
        verifier=use.name or "recipe",
    )


def _ended(outcome: Outcome, branch: str, components: dict[str, Component], flags: tuple[str, ...]) -> Outcome:
    # Drop the recheck of a nested cascade: it belongs to that cascade, not to this one.
    inner = {name: value for name, value in outcome.evidence.items() if name != "recheck"}
    evidence: dict[str, Any] = {**inner, "branch": branch}
    return replace(outcome, components=components, evidence=evidence, flags=(*outcome.flags, *flags))
