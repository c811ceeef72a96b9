"""The verifier `judge`: asks a language model about a response."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from rewarden.errors import InvalidReference, InvalidSample
from rewarden.types import Component, Media, Outcome, Sample, StepScore
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.judges.confirmation import Confirmation
from rewarden_verifiers.judges.final_answer import FinalAnswers
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.grounds import Grounds
from rewarden_verifiers.judges.judge_modes import (
    UNTOLD,
    Vote,
    chance_of,
    lowest,
    scale_of,
    schema_of,
    vote_of,
    worst,
)
from rewarden_verifiers.judges.judge_params import Params
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Inquiry, Opinion, opinions, readings, refused_subject
from rewarden_verifiers.judges.panel import seated
from rewarden_verifiers.judges.panel_passes import Passes
from rewarden_verifiers.judges.pictures import images
from rewarden_verifiers.judges.portions import portions, told
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.references import accepted
from rewarden_verifiers.judges.replies import ALTERNATIVES
from rewarden_verifiers.judges.research import researched, reserved
from rewarden_verifiers.judges.resources import JudgeResources
from rewarden_verifiers.judges.showing import Subject
from rewarden_verifiers.judges.solution import solved
from rewarden_verifiers.judges.toolbox import toolbox
from rewarden_verifiers.judges.unrelated import subject_of
from rewarden_verifiers.judges.votes import combine
from rewarden_verifiers.outcome import scored, undecided
from rewarden_verifiers.view import SHOWN_TO_MODELS

_REASONS = {
    "reference": "judged_wrong",
    "solve": "judged_wrong",
    "accept": "judged_unacceptable",
    "scale": "judged_poor",
    "aspects": "judged_poor",
}


@verifier(
    version="6",
    graded=True,
    determinism="sampled",
    requires=("judge",),
    resources=JudgeResources,
    view=SHOWN_TO_MODELS,
)
async def judge(
    response: str,
    prompt: str | None,
    media: Sequence[Media] | None,
    sample: Sample,
    params: Params,
    ctx: Context,
    reference: str | list[str] | None = None,
) -> Outcome:
    """A language model decides whether the response is right, how good it is, or whether it is acceptable.

    The parameter `mode` selects what is judged:

    - `reference`: whether the final answer matches the reference, or one of several references
    - `solve`: whether the final answer matches the judge's own, which the judge finds before it sees the response
    - `scale`: a number on an anchored scale, with or without a reference
    - `accept`: yes or no, by a description or by examples of what is wanted (Kwon et al. 2023, arXiv 2303.00001), also
      for transcripts
    - `aspects`: a number for each of several named aspects, as in just-eval (arXiv 2312.01552); aspects are components
      and steps, and the score is their weighted mean

    In the modes `reference` and `solve`, a judge that accepts a response must quote its final answer (`quotes`). The
    quote must occur in the response and be more than an opener. The judge then compares the quote alone, without the
    rest of the response. If the quote does not occur in the response, the judge is asked for it one more time. After
    that, Rewarden extracts the answer itself; if it finds none, the response scores 0 (`no_answer`). If an accepted
    quote shares few words with the reference, the judge also compares it with two unrelated references; if it accepts
    both, the response scores 0. With `quotes: require`, credit in the other modes requires a quote of the passage that
    justifies it, to which the judge gives less credit for an unrelated subject (`unquoted`).

    If a response is longer than the judge's context, the modes `reference` and `solve` judge only the last portion,
    which contains the final answer. The other modes judge up to `portions` portions separately, and the lowest verdict
    counts; `evidence.portions` lists them.

    With `tools`, the judge can search the sample's `metadata.documents`, calculate and run programs before its verdict,
    or in the mode `solve` while it solves; `evidence.research` lists its calls. If a tool fails through no fault of the
    judge, the judge is told so (flag `tool_failed`). If the judge's model cannot call tools, the result is an error
    (`provider_refused`).

    With `panel`, several judges each give a verdict; the evidence contains the verdicts and their agreement. Reasons
    for no score: `panel_incomplete`, `tie`, `unsolved` (mode `solve`: the judge has no definite answer of its own).

    Several opinions are combined by mean, median or vote; the evidence contains their spread and confidence. With `by:
    probability`, the score is the share of the yes words in the probability of the first token. If the judge's server
    returns no token probabilities, the verdict is undecided (`no_token_probabilities`). Reasons for the lowest score:
    `judged_wrong`, `judged_poor` and `judged_unacceptable` (these also occur with higher scores), `no_answer`,
    `unquoted`, a response without substance (`blank`, `opener_only`, `claim_only`), `too_long`, `unreadable_reply`.
    """
    answers = [] if params.mode == "solve" else accepted(reference)
    if params.mode == "solve" and not (prompt or "").strip():
        raise InvalidSample("prompt is missing: the problem that the judge should solve", path="prompt")
    if params.mode == "reference" and not answers:
        raise InvalidReference("reference is missing: the answer that the response should give", path="reference")
    subject = Subject(response=response, prompt=prompt, sample=sample, show=params.show)
    early = refused_subject(subject, params, answers, in_portions=params.portions > 1)
    if early is not None:
        return early
    judged = partial(_judged, ctx, subject, answers, media)
    return await seated(params, judged, Passes(params, params.passing))


async def _judged(
    ctx: Context, subject: Subject, answers: Sequence[str], media: Sequence[Media] | None, params: Params
) -> Outcome:
    """The outcome from one judge."""
    ledger = Ledger()
    if params.mode == "solve":
        solution = await solved(ctx, params, subject.prompt or "", subject.sample, media, ledger)
        if solution is None:
            message = "the judge has no definite answer of its own to compare with"
            return undecided("unsolved", feedback=message, evidence=ledger.evidence(), flags=tuple(ledger.flags()))
        answers = [solution]
    shown = [subject]
    if params.portions > 1:
        room = reserved(params.tools)
        asking = partial(_inquiry, answers=answers, media=media, params=params, findings=room)
        cut = await portions(ctx, params, subject, asking, params.portions)
        if isinstance(cut, Outcome):
            return cut
        # The final answer is at the end; an answer that was abandoned earlier must not count.
        shown = cut[-1:] if params.compares else cut
    seen: list[Sequence[Vote]] = []
    for found in await gather(*(_opinions(ctx, one, answers, media, params, ledger) for one in shown)):
        said, early = readings(found, lowest(params), ledger)
        if early is not None:
            return early
        seen.append(said)
    votes = list(seen[0])
    if len(seen) > 1:
        votes = [next((v for v in of if v is UNTOLD), None) or worst(of, params) for of in zip(*seen, strict=False)]
    if any(vote is UNTOLD for vote in votes):
        return undecided(
            "no_token_probabilities",
            feedback=f"the server of {', '.join(sorted(ledger.judges))} gives no token probabilities; use by: text",
            evidence=ledger.evidence(),
            flags=tuple(ledger.flags()),
        )
    outcome = _outcome(votes, params, ledger)
    evidence = {**outcome.evidence, **told(shown)}
    if params.mode == "solve":
        evidence["solution"] = answers[0][: params.shown]
    return replace(outcome, evidence=evidence)


async def _opinions(
    ctx: Context,
    subject: Subject,
    answers: Sequence[str],
    media: Sequence[Media] | None,
    params: Params,
    ledger: Ledger,
) -> list[Opinion[Vote]]:
    """The opinions on a response or a portion, with credit only for what it contains."""
    asking = partial(_inquiry, subject, answers, media, params)
    if params.tools.use and params.mode != "solve":
        box = await toolbox(ctx, params.tools, subject.sample)
        findings = await researched(ctx, params, params.tools, box, asking(), ledger)
        asking = partial(asking, findings=findings)
    found = await opinions(ctx, params, asking(), ledger)
    if not params.quoting:
        return found
    checks: type[Confirmation] = FinalAnswers if params.compares else Grounds
    check = checks(
        ctx=ctx,
        params=params,
        text=subject.text(),
        references=answers,
        asked="\n".join([subject.prompt or "", params.instructions]),
        asking=asking,
        ledger=ledger,
    )
    return await check.confirmed(found)


def _inquiry(
    subject: Subject,
    answers: Sequence[str],
    media: Sequence[Media] | None,
    params: Params,
    *,
    again: bool = False,
    alone: str | None = None,
    against: str | None = None,
    findings: Sequence[Material] = (),
) -> Inquiry[Vote]:
    """Returns the question. again, alone, against: see `confirmation.Asking`. findings: results of the judge's
    tools.
    """
    if against is not None:
        answers = [against] if params.compares else []
    quotes = params.quoting and alone is None
    shown = subject.shown() if alone is None else {"response": Material(alone, candidate=True), "transcript": []}
    variables: dict[str, Any] = {
        "prompt": Material(subject.prompt) if subject.prompt and against is None else None,
        "reference": Material("\n".join(answers)) if answers else None,
        "references": [Material(answer) for answer in answers],
        **shown,
        "quotes": quotes,
        "again": again,
        "alone": alone is not None,
        "scale": params.scale.words(),
        "aspects": [
            {"name": name, "description": one.description, "scale": scale_of(params, one).words()}
            for name, one in params.aspects.items()
        ],
        "examples": [{"response": Material(one.response), "verdict": one.verdict} for one in params.examples],
    }
    if against is not None and not params.compares:
        variables |= _of_subject(against, variables)
    asked: dict[str, Any] = {
        "prompt": "judge.reference" if params.compares else f"judge.{params.mode}",
        "variables": variables,
        "media": images(media) if params.media else (),
        "portion": subject.portion if alone is None else None,
        "findings": findings if alone is None else (),
    }
    if params.by == "text":
        verdicts = max(1, len(params.aspects))
        schema = schema_of(params, quotes=quotes)
        return Inquiry(**asked, schema=schema, read=partial(vote_of, params=params), verdicts=verdicts)
    return Inquiry(
        **asked,
        schema=None,
        direct=partial(chance_of, params=params),
        form=f"Reply with one word and nothing else: {params.yes[0]} or {params.no[0]}.",
        alternatives=ALTERNATIVES,
        max_tokens=params.max_tokens or 1,
    )


def _of_subject(subject: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of a question about an unrelated subject. The caller's wishes may hold for any text, such as
    politeness, so all of them are removed: instructions, examples, descriptions, and meanings of numbers.
    """
    wanted = subject_of(subject)
    return {
        "prompt": Material(f"Describe {subject}."),
        "instructions": wanted,
        "scale": {**variables["scale"], "anchors": []},
        "aspects": [
            {**one, "description": wanted, "scale": {**one["scale"], "anchors": []}} for one in variables["aspects"]
        ],
        "examples": [],
    }


def _outcome(votes: Sequence[Vote], params: Params, ledger: Ledger) -> Outcome:
    scores = [vote.score for vote in votes]
    verdict = combine(scores, params.passing, params)
    evidence: dict[str, Any] = {"mode": params.mode, **verdict.evidence(scores), **ledger.evidence()}
    if params.by == "probability":
        share = statistics.fmean(scores)
        evidence |= {"probability": share, "confidence": max(share, 1 - share)}
    if params.mode == "scale":
        evidence["numbers"] = [vote.numbers[""] for vote in votes]
    if verdict.score is None:
        return undecided("tie", evidence=evidence, flags=tuple(ledger.flags()))
    score = verdict.score
    passed = score >= params.passing
    # The opinion closest to the outcome supplies the reasons.
    nearest = min(votes, key=lambda vote: abs(vote.score - score))
    unquoted = nearest.unquoted and not passed
    lacking = "no_answer" if params.compares else "unquoted"
    components, steps = _parts(votes, nearest, params)
    return scored(
        score,
        passed=passed,
        reason=None if passed else lacking if unquoted else _REASONS[params.mode],
        raw=_raw(votes, params),
        components=components,
        steps=steps,
        feedback=nearest.reason[: params.shown] or None,
        extracted=nearest.answer or None,
        evidence=evidence,
        flags=[*ledger.flags(), *[lacking] * unquoted],
    )


def _raw(votes: Sequence[Vote], params: Params) -> Any:
    """The means of the numbers, on their own scales."""
    if params.mode == "scale":
        return statistics.fmean(vote.numbers[""] for vote in votes)
    if params.mode == "aspects":
        return {name: statistics.fmean(vote.numbers[name] for vote in votes) for name in params.aspects}
    return None


def _parts(votes: Sequence[Vote], nearest: Vote, params: Params) -> tuple[Mapping[str, Component], Sequence[StepScore]]:
    """The aspects' scores: each is the mean of its numbers, reported as a component and, in order, as a step."""
    components: dict[str, Component] = {}
    steps: list[StepScore] = []
    for place, (name, aspect) in enumerate(params.aspects.items()):
        scale = scale_of(params, aspect)
        score = math.fsum(scale.share(vote.numbers[name]) for vote in votes) / len(votes)
        components[name] = Component(status="scored", score=score)
        reason = nearest.reasons.get(name, "")[: params.shown]
        steps.append(StepScore(index=place, score=score, label=name, feedback=reason or None))
    return components, steps
