"""The verifier `rm_generative`: asks a hosted generative reward model about a response."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewarden.errors import InputTooLong
from rewarden.types import Media, Outcome, Sample
from rewarden_verifiers.chat import Message, Reply
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.inference import Classify, Input
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.judges.opinions import Inquiry, Opinion, opinions, readings, rendered
from rewarden_verifiers.judges.params import JudgeParams
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.references import accepted
from rewarden_verifiers.judges.votes import combine
from rewarden_verifiers.models.hosted import Hosted, ModelLedger, pictures, share
from rewarden_verifiers.models.model_tasks import ask, refused, too_long
from rewarden_verifiers.models.outputs import place_of, sigmoid
from rewarden_verifiers.models.resources import OWN_MODELS, ModelResources
from rewarden_verifiers.models.rm_generative_params import Meta, Params, bounds, lowest, share_of
from rewarden_verifiers.models.verdicts import on_scale, one_of, verdict_in
from rewarden_verifiers.outcome import scored, undecided
from rewarden_verifiers.view import SHOWN_TO_MODELS


@dataclass(frozen=True, slots=True)
class _Reading:
    """One verdict: its value on its own scale, and the text before it. rating: the meta model's."""

    value: float
    text: str = ""
    rating: float | None = None


@verifier(
    version="2",
    graded=True,
    determinism="sampled",
    resources=ModelResources,
    optional=OWN_MODELS,
    bounds=bounds,
    view=SHOWN_TO_MODELS,
)
async def rm_generative(
    response: str,
    prompt: str | None,
    media: Sequence[Media] | None,
    sample: Sample,
    params: Params,
    ctx: Context,
    reference: str | list[str] | None = None,
) -> Outcome:
    """A generative reward model's verdict on the response: a token probability, or a vote of written verdicts.

    `by: token`: the probability of the accepting words, divided by that of accepting and rejecting words together. `by:
    written`: the model writes principles, a critique and a verdict. Its reasoning is not part of the text, and a
    verdict in a form other than the requested one does not count. If there is a reference, the model sees it; if there
    are several, each is acceptable. A reference is not required (Libra-RM).

    An unreadable text is requested again. If the response makes it unreadable, it counts as the lowest verdict; if all
    are, the score is the lowest (`unreadable_reply`). If at least half of the verdicts are missing for another reason,
    the result is undecided: `unreadable_reply`, or `verdict_mass` if the words have too little probability. `raw` is
    the mean (or sum, or median) of the verdicts on their own scale. Responses without substance get the lowest score
    without a call to the model, and so do those that make the input longer than the model's context (`too_long`),
    unless `fit` truncates it.
    """
    span = bounds(params)
    answers = accepted(reference)
    early = await offload(len(response), refused, response, params, answers, prompted=True, range=span)
    if early is not None:
        return early
    ledger = ModelLedger()
    shown = pictures(sample, media) if params.media else ()
    inquiry = _inquiry(response, prompt, answers, shown, params)
    judged = _judge_params(params)
    choices = (*params.accept, *params.reject) if params.by == "token" else ()
    size = len(response)
    hosted = await offload(size, Hosted, ctx, params, ledger.seen, response, choices, _form(params))
    try:
        found = await opinions(hosted, judged, inquiry, ledger)
        if params.meta is not None:
            chat = await offload(size, rendered, judged, inquiry)
            found = await _rated(found, chat.messages, params.meta, hosted)
    except InputTooLong as error:
        return too_long(error, range=span)
    votes, early = readings(found, _Reading(lowest(params)), ledger, range=span)
    if early is not None:
        return _unread(early, params)
    return _outcome(_kept(votes, params), ledger, params)


def _inquiry(
    response: str, prompt: str | None, answers: Sequence[str], media: Sequence[Media], params: Params
) -> Inquiry[_Reading]:
    variables: dict[str, Any] = {
        "prompt": Material(prompt) if prompt else None,
        "references": [Material(answer) for answer in answers],
        "response": Material(response, candidate=True),
        "rubric": list(params.rubric),
        "scale": params.scale.words() if params.says == "score" else None,
        "turns": len(params.turns),
    }

    def direct(reply: Reply) -> _Reading:
        if params.by == "token":
            return _Reading(share(reply, len(params.accept), params.least_mass))
        if params.says == "word":
            read = one_of(params.accept, params.reject)
            said, text = verdict_in(reply, params.form, "Verdict", {"type": "string"}, read, params.opened)
            return _Reading(float(said), text)
        schema = params.scale.schema()
        value, text = verdict_in(reply, params.form, "Score", schema, on_scale(params.scale), params.opened)
        return _Reading(value, text)

    return Inquiry(
        prompt=f"rm_generative.{params.by}",
        variables=variables,
        schema=None,
        direct=direct,
        form="" if params.turns else _form(params),  # if there are several turns, the last one states it
        media=media,
        plain=params.plain,
    )


def _form(params: Params) -> str:
    """Returns the instruction on the form of the verdict."""
    yes, no = (group[0].strip() for group in (params.accept, params.reject))
    if params.by == "token":
        return f"Reply with one word and nothing else: {yes} or {no}."
    if params.says == "word":
        return params.form.words("Verdict", f"{yes} or {no}", {"type": "string", "enum": [yes, no]})
    return params.form.words("Score", f"the number {params.scale.ends}", params.scale.schema())


def _judge_params(params: Params) -> JudgeParams:
    return JudgeParams(
        judge=params.model,
        instructions=params.instructions,
        prompt=params.prompt,
        samples=params.samples,
        aggregate="majority" if params.aggregate == "majority" else "mean",
        tie=params.tie,
        temperature=params.temperature,
    )


async def _rated(
    found: Sequence[Opinion[_Reading]], messages: Sequence[Message], meta: Meta, hosted: Hosted
) -> list[Opinion[_Reading]]:
    """Adds the meta model's rating to each reading: it rates the text as the last turn of the chat."""

    async def rated(one: Opinion[_Reading]) -> Opinion[_Reading]:
        if one.reading is None:
            return one
        chat = [*messages, {"role": "assistant", "content": one.reading.text}]
        task = Classify(input=Input(messages=chat, candidate=hosted.shown, fit=hosted.params.fit))
        logits = await ask(hosted.ctx, task, meta.model, hosted.seen)
        rating = float(logits.values[place_of(logits, meta.output, "params.meta.output")])
        return Opinion(replace(one.reading, rating=rating))

    return await gather(*(rated(one) for one in found))


def _kept(votes: Sequence[_Reading], params: Params) -> list[_Reading]:
    """The verdicts that count. Those that the response made unreadable have no rating and always count: if they were
    dropped as the worst critiques, it would pay to spoil the bad ones.
    """
    if params.meta is None or params.meta.keep is None:
        return list(votes)
    ratings = sorted((vote.rating for vote in votes if vote.rating is not None), reverse=True)
    # Equal ratings are kept together, so that the order of samples does not decide.
    least = ratings[: params.meta.keep][-1] if ratings else 0.0
    return [vote for vote in votes if vote.rating is None or vote.rating >= least]


def _unread(outcome: Outcome, params: Params) -> Outcome:
    if params.by == "token" and outcome.status == "undecided":
        message = "the model was about to write something other than the words of accept and reject"
        return replace(outcome, reason="verdict_mass", feedback=message)
    return outcome


def _outcome(votes: Sequence[_Reading], ledger: ModelLedger, params: Params) -> Outcome:
    scores = [share_of(vote.value, params) for vote in votes]
    weights = [_weight(vote, params) for vote in votes]
    verdict = combine(scores, 0.5 if params.passing is None else params.passing, _judge_params(params))
    evidence: dict[str, Any] = {"by": params.by, **verdict.evidence(scores), **ledger.evidence()}
    if params.by == "written":
        evidence["verdicts"] = [vote.value for vote in votes]
    if params.meta is not None:
        evidence["ratings"] = [vote.rating for vote in votes]
    if verdict.score is None:
        return undecided("tie", evidence=evidence, flags=tuple(ledger.flags()))
    low, high = bounds(params)
    score = verdict.score if params.aggregate == "majority" else _middle(scores, weights, params)
    score = min(max(score, low), high)
    passed = None
    if params.passing is not None:
        passed = score > 0 if params.aggregate == "majority" else score >= params.passing
    nearest = min(votes, key=lambda vote: abs(share_of(vote.value, params) * high - score))
    return scored(
        score,
        range=(low, high),
        passed=passed,
        reason="judged_poor" if passed is False else None,
        raw=_middle([vote.value for vote in votes], weights, params),
        feedback=nearest.text[: params.shown] or None,
        evidence=evidence,
        flags=ledger.flags(),
    )


def _weight(vote: _Reading, params: Params) -> float:
    # A vote without rating was made unreadable by the response, and counts in full.
    weighed = params.meta is not None and params.meta.weigh and vote.rating is not None
    return max(sigmoid(vote.rating or 0.0), 1e-12) if weighed else 1.0


def _middle(numbers: Sequence[float], weights: Sequence[float], params: Params) -> float:
    """The median, mean or sum of numbers. A sum is scaled to the number of requested samples, so that dropped verdicts
    do not lower it.
    """
    if params.aggregate == "median":
        return statistics.median(numbers)
    total = sum(weight * number for weight, number in zip(weights, numbers, strict=True))
    mean = total / sum(weights)
    return mean * params.samples if params.aggregate == "sum" else mean
