"""The verifier `consistency`: checks that the reasoning of a response supports its final answer."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rewarden.errors import InvalidParams
from rewarden.types import Outcome, StepScore
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.extraction import Rule, rules_of
from rewarden_verifiers.judges.empty_responses import empty_reason
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.mentions import Of, mentioned, overlap
from rewarden_verifiers.judges.opinions import Inquiry, opinions, readings, refused
from rewarden_verifiers.judges.params import JudgeParams, positive_share
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.reasoning import Sides, Tags, Where, sides_of
from rewarden_verifiers.judges.references import accepted
from rewarden_verifiers.judges.replies import object_of
from rewarden_verifiers.judges.resources import JudgeResources
from rewarden_verifiers.judges.votes import combine
from rewarden_verifiers.outcome import no_answer, scored, undecided, wrong
from rewarden_verifiers.view import ALL_SHOWN_TO_MODELS
from rewarden_verifiers.words import words

LABELS = ("supports", "contradicts", "unrelated")

_SCHEMA = object_of(
    {
        "conclusion": {"type": "string"},
        "reason": {"type": "string"},
        "verdict": {"type": "string", "enum": list(LABELS)},
    }
)


@dataclass(frozen=True, kw_only=True)
class Values:
    """The value of each label, from 0 to 1."""

    supports: float = 1.0
    contradicts: float = 0.0
    unrelated: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Params(JudgeParams):
    """Options of `consistency`, in addition to those of every verifier that asks a judge.

    rule: How to decide. `judge`: a language model decides. `mentions`, without a judge: the answer occurs as a whole in
        the reasoning; with a reference (names, for example of planned subgoals), these names occur in the answer.
        `overlap`, without a judge: the share of words that the answer and the reasoning have in common.
    of: The text whose words `overlap` counts: those of the `answer`, of the `reasoning`, or of `both` (F1).
    reasoning: Where to find the reasoning: in the closed thinking block (`thinking`), in the text before the final
        answer (`before`), or in the thinking block if there is one, else before the answer (`either`).
    answer: How to find the final answer in the text after the thinking block: `final` (all of it), or a preset or list
        of rules of `extraction`. If the reasoning is the text before the answer, the answer must be found by rules.
    tags: The tags that delimit the thinking block.
    least_words: Minimum number of words in the reasoning.
    values: The value of each of the judge's labels.
    threshold: The lowest score that passes; null: any score above 0.5, and for `mentions` only 1.
    """

    rule: Literal["judge", "mentions", "overlap"] = "judge"
    of: Of = "answer"
    reasoning: Where = "either"
    answer: str | tuple[str | dict[str, str], ...] = "explicit"
    tags: Tags = field(default_factory=Tags)
    least_words: int = 1
    values: Values = field(default_factory=Values)
    threshold: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.answer != "final":
            rules_of(self.answer)
        elif self.reasoning == "before":
            raise InvalidParams(
                "params.answer: there is nothing before an answer that is the whole response", path="params.answer"
            )
        for name in ("open", "close"):
            if not getattr(self.tags, name):
                raise InvalidParams(f"params.tags.{name} must be a string", path=f"params.tags.{name}")
        if self.tags.open == self.tags.close:
            raise InvalidParams("params.tags must differ", path="params.tags.close")
        for label in LABELS:
            if not 0 <= getattr(self.values, label) <= 1:
                raise InvalidParams(f"params.values.{label} must be from 0 to 1", path=f"params.values.{label}")
        if self.least_words < 1:
            raise InvalidParams("params.least_words must be at least 1", path="params.least_words")
        positive_share("threshold", self.threshold)

    @property
    def passing(self) -> float:
        """The lowest score that passes."""
        if self.threshold is not None:
            return self.threshold
        return 1.0 if self.rule == "mentions" else math.nextafter(0.5, 1)

    @property
    def rules(self) -> tuple[Rule, ...] | None:
        """Returns the rules that find the answer; None: the answer is the whole final part."""
        return None if self.answer == "final" else rules_of(self.answer)


@verifier(
    version="2",
    graded=True,
    determinism="sampled",
    requires=("judge",),
    resources=JudgeResources,
    view=ALL_SHOWN_TO_MODELS,
)
async def consistency(
    response: str,
    prompt: str | None,
    params: Params,
    ctx: Context,
    reference: str | list[str] | None = None,
) -> Outcome:
    """The reasoning of the response supports its own final answer or action, regardless of whether either is right.

    A judge answers `supports`, `contradicts` or `unrelated` (R1-Reward, arXiv 2505.02835; Alpamayo-R1, arXiv
    2511.00088), or a rule decides: the words of the answer occur in the reasoning, or names from the reference, such as
    planned subgoals, occur in the answer (DeepSeek-Prover-V2, arXiv 2504.21801).

    The view must be `full`, which is the default: this verifier separates the reasoning from the answer itself. Reasons
    with score 0: `no_reasoning`, `no_answer`, `unclosed_thought`, `contradicts`, `unrelated`, `too_long`,
    `unreadable_reply`. `not_mentioned` and `little_overlap` also occur with higher scores.
    """
    names = accepted(reference)
    sides = sides_of(response, params.reasoning, params.rules, params.tags)
    if sides.answer is None:
        return no_answer(sides.reason or "no_answer")
    if params.rule == "mentions" and names:
        if len(sides.answer) > params.most_shown:
            return wrong("too_long", flags=("too_long",))
        return _named(names, sides.answer, params)
    if not _reasoned(sides, params):
        return wrong(
            "no_reasoning", feedback="There is no reasoning that could support the answer.", extracted=sides.answer
        )
    assert sides.reasoning is not None
    # Check both together: a short answer may have no substance on its own.
    early = refused(f"{sides.reasoning}\n\n{sides.answer}", params)
    if early is not None:
        return early
    if params.rule == "judge":
        return await _judged(sides.reasoning, sides.answer, prompt, params, ctx)
    return _by_rule(sides.reasoning, sides.answer, params)


def _reasoned(sides: Sides, params: Params) -> bool:
    if sides.reasoning is None or (params.hollow == "refuse" and empty_reason(sides.reasoning) is not None):
        return False
    return len(words(sides.reasoning)) >= params.least_words


def _named(names: Sequence[str], answer: str, params: Params) -> Outcome:
    found = set(mentioned(names, answer))
    lacking = [name for name in names if name not in found]
    score = 1 - len(lacking) / len(names)
    passed = score >= params.passing
    steps = [StepScore(index=place, score=float(name in found), label=name) for place, name in enumerate(names)]
    return scored(
        score,
        passed=passed,
        reason=None if passed else "not_mentioned",
        steps=steps,
        feedback=f"The answer does not mention {', '.join(lacking)}."[: params.shown] if lacking else None,
        evidence={"rule": "mentions", "lacking": lacking},
    )


def _by_rule(reasoning: str, answer: str, params: Params) -> Outcome:
    if params.rule == "mentions":
        if mentioned([answer], reasoning):
            return scored(1.0, passed=True, extracted=answer, evidence={"rule": "mentions"})
        message = "The final answer does not occur in the reasoning."
        return wrong("not_mentioned", extracted=answer, feedback=message, evidence={"rule": "mentions"})
    share = overlap(answer, reasoning, params.of)
    if share is None:
        return no_answer("no_answer", extracted=answer)
    passed = share >= params.passing
    reason = None if passed else "little_overlap"
    return scored(share, passed=passed, reason=reason, extracted=answer, evidence={"rule": "overlap", "of": params.of})


async def _judged(reasoning: str, answer: str, prompt: str | None, params: Params, ctx: Context) -> Outcome:
    variables = {
        "prompt": Material(prompt) if prompt else None,
        "reasoning": Material(reasoning, candidate=True),
        "answer": Material(answer, candidate=True),
    }

    def read(found: Mapping[str, Any]) -> tuple[str, str]:
        return found["verdict"], found["reason"]

    ledger = Ledger()
    inquiry = Inquiry(prompt="consistency.judge", variables=variables, schema=_SCHEMA, read=read)
    lowest = min(LABELS, key=lambda label: getattr(params.values, label))
    votes, early = readings(await opinions(ctx, params, inquiry, ledger), (lowest, ""), ledger)
    if early is not None:
        return early
    scores = [float(getattr(params.values, label)) for label, _ in votes]
    verdict = combine(scores, params.passing, params)
    evidence = {"labels": [label for label, _ in votes], **verdict.evidence(scores), **ledger.evidence()}
    if verdict.score is None:
        return undecided("tie", extracted=answer, evidence=evidence, flags=tuple(ledger.flags()))
    passed = verdict.score >= params.passing
    # Among the labels that agree with the outcome, the most frequent one.
    agreeing = [vote for vote, score in zip(votes, scores, strict=True) if (score >= params.passing) == passed] or votes
    label = statistics.mode(label for label, _ in agreeing)
    return scored(
        verdict.score,
        passed=passed,
        reason=None if passed else label if label != "supports" else "not_supported",
        extracted=answer,
        feedback=next(reason for said, reason in agreeing if said == label)[: params.shown] or None,
        evidence=evidence,
        flags=ledger.flags(),
    )
