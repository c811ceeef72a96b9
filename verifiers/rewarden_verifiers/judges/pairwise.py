"""The verifier `pairwise`: asks in both orders whether a response is better than another text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rewarden.errors import InvalidParams, InvalidReference, InvalidSample
from rewarden.types import Media, Outcome
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.judges.fencing import harmless
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Opinion, readings, refused
from rewarden_verifiers.judges.panel import PanelParams, seated
from rewarden_verifiers.judges.panel_contests import Contests
from rewarden_verifiers.judges.pictures import images
from rewarden_verifiers.judges.preference import ContestParams, Preference, preferences
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.references import Against, rival_of
from rewarden_verifiers.judges.resources import JudgeResources
from rewarden_verifiers.judges.response_roles import by_roles
from rewarden_verifiers.judges.tiebreaks import JUDGE, Measure, measured, measures_of
from rewarden_verifiers.judges.votes import combine
from rewarden_verifiers.outcome import scored, undecided
from rewarden_verifiers.view import SHOWN_TO_MODELS


@dataclass(frozen=True, kw_only=True)
class Params(ContestParams, PanelParams):
    """Options of `pairwise`.

    against: Which text of a row of preference data is the rival if the row has both: `chosen` or `rejected`.
    criteria: Criteria in order of rank; each breaks the ties of those before it. `judge`; `length`, in characters;
        `metadata.NAME`, a number in the sample's metadata and in the reference's. The long form is `{"by", "prefer",
        "margin"}`; lower numbers are better by default. With more than one criterion the score is 1, 0.5 or 0.
    media: Whether the judge sees the sample's images.
    form: How the judge is shown the texts. `letters`: in the prompt, as A and B. `roles`: as messages of the roles
        `response_1` and `response_2`, without a prompt, for NeMo's generative reward models, which were trained on
        these roles; `instructions` is then a message with the role `principle`, for models that have it.
    """

    against: Against = "chosen"
    criteria: tuple[str | Measure, ...] = (JUDGE,)
    media: bool = False
    form: Literal["letters", "roles"] = "letters"

    def __post_init__(self) -> None:
        super().__post_init__()
        measures_of(self.criteria)
        if self.form == "roles" and self.by == "probability":
            raise InvalidParams("params.by: with form roles the reply is not a letter", path="params.by")
        if self.form == "roles" and (self.prompt.system or self.prompt.user):
            raise InvalidParams("params.prompt: with form roles there is no prompt", path="params.prompt")


@verifier(
    version="2",
    graded=True,
    determinism="sampled",
    requires=("judge",),
    resources=JudgeResources,
    view=SHOWN_TO_MODELS,
)
async def pairwise(
    response: str,
    prompt: str | None,
    reference: Any,
    metadata: Mapping[str, Any] | None,
    media: Sequence[Media] | None,
    params: Params,
    ctx: Context,
) -> Outcome:
    """A language model decides whether the response is better than a rival text: 1 better, 0.5 equal, 0 worse.

    The reference is the rival: a text, `{"response": text}`, or a row of preference data `{"chosen", "rejected"}`. If
    the reference also has an `answer`, the judge sees it as the correct answer; `metadata` holds the rival's numbers.
    Each opinion is requested in both orders, under the same two names, and counts only if both orders agree. A judge
    that always favours one position therefore produces ties (flag `order_flipped`), never a win. A response equal to
    the rival ties without a call.

    With `form: roles`, the texts are messages of the roles `response_1` and `response_2`, as NeMo's generative reward
    models expect them. Their `ranking` (1 to 6) decides, and is a tie if their scores name the other text.

    With `panel`, several judges compare the texts, and each votes win, tie or loss; the evidence contains the votes and
    their agreement. A win requires more than half of the votes (`majority`, `mean`) or all of them (`veto`).

    Further `criteria` break ties by numbers: fewer calls, a shorter text (WebThinker, arXiv 2504.21776).
    """
    rival = rival_of(reference, params.against)
    if len(rival.text) > params.most_shown:
        raise InvalidReference(
            f"the text to compare with has more than {params.most_shown} characters", path="reference"
        )
    if params.form == "roles":
        if not (prompt or "").strip():
            raise InvalidSample("prompt is missing: form roles has a message with the request", path="prompt")
        if rival.answer:
            raise InvalidReference("form roles has no message for a known answer", path="reference.answer")
    early = refused(response, params)
    if early is not None:
        return early
    measures = measures_of(params.criteria)
    shown = {
        "prompt": Material(prompt) if prompt else None,
        "reference": Material(rival.answer) if rival.answer else None,
    }
    shown_media = images(media) if params.media else ()
    pair = (Material(response, candidate=True), Material(rival.text))

    async def judging(params: Params) -> Outcome:
        ledger = Ledger()
        inquire = by_roles if params.form == "roles" else None
        found = await preferences(ctx, params, pair, shown, ledger, media=shown_media, inquire=inquire)
        return decided(found, params, ledger)

    judged: Outcome | None = None
    compared: list[dict[str, Any]] = []
    score = 0.5
    for measure in measures:
        if measure.by != JUDGE:
            score, numbers = measured(measure, response, metadata, rival)
            compared.append(numbers)
        elif same(response, rival.text):
            compared.append({"by": JUDGE, "score": 0.5, "same_text": True})
        else:
            judged = await seated(params, judging, Contests(params))
            if judged.score is None or judged.reason == "unreadable_reply":
                return judged
            score = judged.score
            compared.append({"by": JUDGE, "score": score})
        if score != 0.5:
            break
    if len(measures) > 1:
        score = float(score > 0.5) if score != 0.5 else 0.5
    return ended(score, compared, judged, params)


def decided(found: Sequence[Opinion[Preference]], params: ContestParams, ledger: Ledger) -> Outcome:
    """Returns the outcome of the opinions on one comparison."""
    votes, early = readings(found, Preference(0.0, False, ""), ledger)
    if early is not None:
        return early
    flips = sum(vote.flipped for vote in votes)
    flags = [*ledger.flags(), *["order_flipped"] * (flips > 0)]
    evidence = {**ledger.evidence(), "flip_rate": flips / len(votes), "named": [[*vote.named] for vote in votes]}
    if params.disagree == "undecided":
        if flips * 2 > len(votes):
            message = "the judge prefers the other text when the two swap places"
            return undecided("orders_disagree", feedback=message, evidence=evidence, flags=tuple(flags))
        votes = [vote for vote in votes if not vote.flipped]
    scores = [vote.score for vote in votes]
    verdict = combine(scores, params.least, params)
    evidence |= verdict.evidence(scores)
    if verdict.score is None:
        return undecided("tie", evidence=evidence, flags=tuple(flags))
    # If opinions are counted, not winning does not mean losing: at least one opinion must say so.
    final = 0.5 if min(scores) >= 0.5 > verdict.score or max(scores) <= 0.5 < verdict.score else verdict.score
    nearest = min(votes, key=lambda vote: abs(vote.score - final))
    passed = final >= params.least
    return scored(
        final,
        passed=passed,
        reason=_reason(final, passed),
        # A tie caused by the judge's position bias says nothing about the response.
        fault="verifier" if final == 0.5 and flips else None,
        feedback=nearest.reason[: params.shown] or None,
        evidence=evidence,
        flags=flags,
    )


def ended(
    score: float, compared: Sequence[Mapping[str, Any]], judged: Outcome | None, params: ContestParams
) -> Outcome:
    """The outcome of a score decided by the last of the criteria in `compared`. judged: the outcome of the judge's
    opinions.
    """
    passed = score >= params.least
    outcome = scored(
        score,
        passed=passed,
        reason=_reason(score, passed),
        fault=judged.fault if judged is not None and score == 0.5 and not passed else None,
        evidence={"decided_by": compared[-1]["by"] if score != 0.5 else None, "criteria": [*compared]},
    )
    if judged is None:
        return outcome
    evidence = {**judged.evidence, **outcome.evidence}
    return replace(outcome, evidence=evidence, flags=judged.flags, feedback=judged.feedback)


def _reason(score: float, passed: bool) -> str | None:
    return None if passed else "tie" if score == 0.5 else "worse"


def same(one: str, other: str) -> bool:
    """Returns whether two texts look the same to a judge: invisible characters make no difference."""
    return harmless(one).text.strip() == harmless(other).text.strip()
