"""The verifier `rm_pairwise`: asks a hosted reward model whether it prefers a response to another text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rewarden.errors import InputTooLong, InvalidReference
from rewarden.types import Media, Outcome, Sample
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.judges import pairwise
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.judges.preference import preferences
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.references import Against, Rival, rival_of
from rewarden_verifiers.models.hosted import Hosted, ModelLedger, pictures
from rewarden_verifiers.models.model_tasks import refused, too_long
from rewarden_verifiers.models.outputs import sigmoid
from rewarden_verifiers.models.pairs import PairParams, compared, inquire_of, reward
from rewarden_verifiers.models.resources import OWN_MODELS, ModelResources
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.view import SHOWN_TO_MODELS


@dataclass(frozen=True, kw_only=True)
class Params(PairParams):
    """Options of `rm_pairwise`.

    against: Which text of a row of preference data is the rival if the row has both: `chosen` or `rejected`.
    passing: What passes: only a `win`, or also a `tie`.
    aggregate: How to combine several written verdicts: their `mean` or `median`, or whether the `majority` of them
        pass.
    tie: What to do if `majority` ends in a tie: `fail`, or `undecided`.
    """

    against: Against = "chosen"
    passing: Literal["win", "tie"] = "win"
    aggregate: Literal["mean", "median", "majority"] = "mean"
    tie: Literal["fail", "undecided"] = "fail"


@verifier(
    version="2", graded=True, determinism="sampled", resources=ModelResources, optional=OWN_MODELS, view=SHOWN_TO_MODELS
)
async def rm_pairwise(
    response: str,
    prompt: str | None,
    reference: Any,
    media: Sequence[Media] | None,
    sample: Sample,
    params: Params,
    ctx: Context,
) -> Outcome:
    """A hosted model's preference for the response over a rival: above 0.5 better, 0.5 equal, below 0.5 worse.

    The reference is the rival: a text, `{"response": text}`, or a row of preference data `{"chosen", "rejected"}`; if
    it also has an `answer`, the model sees this as the correct answer. `by: token` and `by: written` ask for both
    orders under the same two names, and only agreement counts: the mean of their probabilities or strengths if they
    name the same text, else a tie (flag `order_flipped`), or undecided (`orders_disagree`). `by: scalar` rewards each
    text separately, and the score is the probability that the response is preferred; `raw` contains both rewards. `by:
    pair` asks a head that reads both texts, such as PairRM's, in both orders, which must agree as well; `raw` contains
    the response's logit over the rival as the first and as the second text.

    A response equal to the rival ties without a call. Responses without substance score 0 without a call, and so do
    those that make the input too long. Unreadable verdicts are treated as in `rm_generative`.
    """
    rival = rival_of(reference, params.against)
    size = len(response) + len(rival.text)
    early = await offload(size, refused, response, params, prompted=params.prompted)
    if early is not None:
        return early
    known = ("against", "passing", "aggregate", "tie", "strength")
    judged = pairwise.Params(**params.shared(), **{name: getattr(params, name) for name in known})
    if await offload(size, pairwise.same, response, rival.text):
        return pairwise.ended(0.5, [{"by": params.by, "score": 0.5, "same_text": True}], None, judged)
    try:
        if params.by == "scalar":
            return await _by_rewards(response, rival, sample, params, judged, ctx)
        if params.by == "pair":
            return await _by_pair(response, rival, sample, params, judged, ctx)
        shown = {
            "prompt": Material(prompt) if prompt else None,
            "reference": Material(rival.answer) if rival.answer else None,
        }
        shown_media = pictures(sample, media) if params.media else ()
        pair = (Material(response, candidate=True), Material(rival.text))
        ledger = ModelLedger()
        hosted = await offload(len(response), Hosted, ctx, params, ledger.seen, response, params.choices, params.said)
        inquire = inquire_of(params)
        found = await preferences(hosted, judged, pair, shown, ledger, media=shown_media, inquire=inquire)
    except InputTooLong as error:
        return too_long(error)
    decided = pairwise.decided(found, judged, ledger)
    if params.by == "token" and decided.reason == "unreadable_reply" and decided.score is None:
        return replace(decided, reason="verdict_mass")
    if decided.score is None or decided.reason == "unreadable_reply":
        return decided
    return pairwise.ended(decided.score, [{"by": params.by, "score": decided.score}], decided, judged)


async def _by_pair(
    response: str, rival: Rival, sample: Sample, params: Params, judged: pairwise.Params, ctx: Context
) -> Outcome:
    ledger = ModelLedger()
    opinion, logits = await compared(ctx, sample.prompt, (response, rival.text), response, params, ledger.seen)
    raw = dict(zip(("first", "second"), logits, strict=True))
    decided = pairwise.decided([opinion], judged, ledger)
    if decided.score is None:
        return replace(decided, raw=raw)
    return replace(pairwise.ended(decided.score, [{"by": "pair", "score": decided.score}], decided, judged), raw=raw)


async def _by_rewards(
    response: str, rival: Rival, sample: Sample, params: Params, judged: pairwise.Params, ctx: Context
) -> Outcome:
    seen = Seen()

    async def of_rival() -> float:
        try:
            return await reward(ctx, sample.prompt, rival.text, params, seen)
        except InputTooLong as error:
            message = f"the text to compare with is too long for the model: {error.message}"
            raise InvalidReference(message, path="reference") from None

    async def of_response() -> float | InputTooLong:
        try:
            return await reward(ctx, sample.prompt, response, params, seen)
        except InputTooLong as error:
            return error

    own, other = await gather(of_response(), of_rival())
    if isinstance(own, InputTooLong):
        raise own  # only after the rival's reward, so that the blame does not depend on which came first
    assert not isinstance(other, InputTooLong)
    score = sigmoid(params.alpha * (own - other))
    made = pairwise.ended(score, [{"by": "scalar", "score": score}], None, judged)
    evidence = {**seen.evidence(), **made.evidence}
    return replace(made, raw={"response": own, "rival": other}, evidence=evidence, flags=tuple(seen.flags()))
