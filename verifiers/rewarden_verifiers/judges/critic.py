"""The verifier `critic`: asks a language model for the errors in a response."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.errors import InvalidReference
from rewarden.types import Outcome, Sample
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.judges.critic_params import Params
from rewarden_verifiers.judges.critic_steps import Grade, Span, grades, means, spans, steps_schema, whole_schema
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Inquiry, opinions, readings, refused
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.references import accepted
from rewarden_verifiers.judges.resources import JudgeResources
from rewarden_verifiers.judges.splitting import Part, given_parts, parts_of
from rewarden_verifiers.judges.votes import combine
from rewarden_verifiers.outcome import no_answer, scored, undecided, wrong
from rewarden_verifiers.view import SHOWN_TO_MODELS


@dataclass(frozen=True, slots=True)
class _Said:
    """One opinion: its score, and the grades of the parts if the mode has parts."""

    score: float
    reason: str = ""
    grades: tuple[Grade, ...] = ()
    spans: tuple[Span, ...] = ()
    number: float | None = None


@verifier(
    version="2",
    graded=True,
    determinism="sampled",
    requires=("judge",),
    resources=JudgeResources,
    view=SHOWN_TO_MODELS,
)
async def critic(
    response: str,
    prompt: str | None,
    sample: Sample,
    params: Params,
    ctx: Context,
    reference: str | list[str] | None = None,
) -> Outcome:
    """A language model judges the steps of a response, spans that it quotes, or the reasoning as a whole.

    The parameter `mode` selects what is judged:

    - `steps`: a score for each step, all requested in one question. They are combined by minimum, mean or product, or
      as the share of steps before the first error, which ProcessBench asks critics to find (arXiv 2412.06559).
    - `spans`: scores of quoted spans with their positions; dense rewards as in DRLC (arXiv 2401.07382).
    - `verdict`: right or wrong; with several samples and `aggregate` set to any, majority or all, as in CoT-Pass@K
      (arXiv 2506.14245).
    - `trace`: quality compared with the reference's reasoning, from 0 to 5, as in Alpamayo-R1 (arXiv 2511.00088).

    If there is a reference, the judge sees it in all modes. Reasons with score 0: `no_steps`, `too_many_steps`,
    `too_long`, `unreadable_reply`, and those of a response without substance. `step_wrong`, `span_wrong`,
    `reasoning_wrong` and `reasoning_poor` also occur with higher scores.
    """
    answers = accepted(reference)
    if params.mode == "trace" and not answers:
        raise InvalidReference("reference is missing: the reasoning to compare the response with", path="reference")
    given = given_parts(sample.response, sample.steps) if params.mode == "steps" and sample.steps else None
    # Steps of a whole transcript replace the response in the question.
    early = refused(response if given is None else "\n\n".join(part.text for part in given), params)
    if early is not None:
        return early
    variables: dict[str, Any] = {
        "prompt": Material(prompt) if prompt else None,
        "references": [Material(answer) for answer in answers],
        "scale": params.scale.words() if params.mode == "trace" or params.grade == "scale" else None,
    }
    if params.mode == "steps":
        parts = parts_of(response, params.split, params.tag) if given is None else given
        if not parts:
            return no_answer("no_steps", feedback=f"The response has no steps by {params.split}.")
        if len(parts) > params.max_steps:
            message = f"The response has {len(parts)} steps; at most {params.max_steps} are judged."
            return wrong("too_many_steps", feedback=message, flags=("too_many_steps",))
        return await _steps(parts, variables, params, ctx)
    variables["response"] = Material(response, candidate=True)
    return await _whole(response, variables, params, ctx)


async def _steps(parts: Sequence[Part], variables: Mapping[str, Any], params: Params, ctx: Context) -> Outcome:
    count = len(parts)

    def read(found: Mapping[str, Any]) -> _Said:
        made = grades(found, count, params)
        return _Said(params.total([one.score for one in made]), grades=tuple(made))

    inquiry = Inquiry(
        prompt="critic.steps",
        variables={**variables, "step": [Material(part.text, candidate=True) for part in parts]},
        schema=steps_schema(count, params),
        read=read,
        verdicts=count,
    )
    lowest = _Said(0.0, grades=(Grade(0.0, "incorrect" if params.grade == "label" else None),) * count)
    ledger = Ledger()
    said, early = readings(await opinions(ctx, params, inquiry, ledger), lowest, ledger)
    if early is not None:
        return early
    made = means([one.grades for one in said])
    scores = [one.score for one in made]
    first = params.first_error(scores)
    steps = [one.step(place, params.shown) for place, one in enumerate(made)]
    told = [f"step {place + 1}: {one.reason}" for place, one in enumerate(made) if one.score < params.error]
    evidence = {"first_error": first, "places": [part.place() for part in parts]}
    return _ended(said, ledger, params, "step_wrong", "\n".join(told), evidence, steps=steps)


async def _whole(response: str, variables: Mapping[str, Any], params: Params, ctx: Context) -> Outcome:
    def read(found: Mapping[str, Any]) -> _Said:
        if params.mode == "spans":
            made = spans(found, response, params)
            scores = [one.grade.score for one in made]
            return _Said(params.total(scores) if scores else params.no_spans, spans=tuple(made))
        if params.mode == "trace":
            number = found["score"]
            return _Said(params.scale.share(number), found["reason"], number=number)
        return _Said(float(found["verdict"] == "correct"), found["reason"])

    inquiry = Inquiry(prompt=f"critic.{params.mode}", variables=variables, schema=whole_schema(params), read=read)
    lowest = _Said(0.0, number=params.scale.lowest if params.mode == "trace" else None)
    ledger = Ledger()
    said, early = readings(await opinions(ctx, params, inquiry, ledger), lowest, ledger)
    if early is not None:
        return early
    if params.mode == "spans":
        quoted = [span for one in said for span in one.spans]
        evidence = {
            "spans": [
                {"opinion": place, "quote": span.quote, "start": span.start, "end": span.end, "score": span.grade.score}
                for place, one in enumerate(said)
                for span in one.spans
            ]
        }
        steps = [one.grade.step(place, 1000) for place, one in enumerate(quoted)]
        told = [f"{one.quote!r}: {one.grade.reason}" for one in quoted if one.grade.score < params.error]
        return _ended(said, ledger, params, "span_wrong", "\n".join(told), evidence, steps=steps)
    if params.mode == "trace":
        numbers = [one.number for one in said if one.number is not None]
        mean = statistics.fmean(numbers)
        return _ended(said, ledger, params, "reasoning_poor", None, {"numbers": numbers}, raw=mean)
    return _ended(said, ledger, params, "reasoning_wrong", None, {})


def _ended(
    said: Sequence[_Said],
    ledger: Ledger,
    params: Params,
    reason: str,
    feedback: str | None,
    evidence: Mapping[str, Any],
    **details: Any,
) -> Outcome:
    """The outcome of the opinions. feedback: if None, the reason given in the opinion closest to the outcome."""
    scores = [one.score for one in said]
    verdict = combine(scores, params.passing, params)
    evidence = {"mode": params.mode, **evidence, **verdict.evidence(scores), **ledger.evidence()}
    if verdict.score is None:
        return undecided("tie", evidence=evidence, flags=tuple(ledger.flags()))
    score = verdict.score
    passed = score >= params.passing
    if feedback is None:
        feedback = min(said, key=lambda one: abs(one.score - score)).reason
    return scored(
        score,
        passed=passed,
        reason=None if passed else reason,
        feedback=feedback[: params.shown] or None,
        evidence=evidence,
        flags=ledger.flags(),
        **details,
    )
