"""The verifier `style_metric`: a classifier's score for a response, such as sentiment, toxicity or fluency."""

from __future__ import annotations

import asyncio
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.errors import InputTooLong, InvalidSample
from rewarden.types import Component, Outcome, StepScore
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.inference import Classify, Input, Logits
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.models.model_tasks import ask, refused, too_long
from rewarden_verifiers.models.outputs import exclusive, place_of, shares
from rewarden_verifiers.models.resources import OWN_MODELS, ModelResources
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.models.segments import copied, segments_of
from rewarden_verifiers.models.style_params import Measure, Params
from rewarden_verifiers.outcome import no_answer, scored, too_expensive, wrong
from rewarden_verifiers.view import SHOWN_TO_MODELS


@dataclass(frozen=True, slots=True)
class _Measured:
    """The result of one measure. values: one for each segment. shares (by label) and logits: those of the segment that
    counts.
    """

    score: float
    values: Sequence[float]
    shares: dict[str, float]
    logits: Logits


@verifier(
    version="2",
    graded=True,
    determinism="tolerance",
    resources=ModelResources,
    optional=OWN_MODELS,
    view=SHOWN_TO_MODELS,
)
async def style_metric(response: str, prompt: str | None, params: Params, ctx: Context) -> Outcome:
    """A classifier's probability of a label for the response, such as positive or toxic; higher or lower is better.

    The share of a label is a softmax over the labels, or a sigmoid for each label if the model declares that they are
    not mutually exclusive. With several measures, of one or several models (A-LoL's vector of scores, arXiv
    2305.14718), each is a component, and the score is their weighted mean. `raw` is the logit of the label, or the
    logits by label; for several measures, by name. With `segments` each sentence is classified separately and is a
    step; the worst one, their mean, or the best one counts.

    These responses get the lowest score without a call to the model: responses without substance (`no_answer`, `blank`,
    `opener_only`, `claim_only`), a copy of the prompt (`copied`; its style is the caller's), a response of too many
    segments (`too_expensive`), and one longer than a model's context (`too_long`), unless `fit` truncates it.

    Raises InvalidParams for a label that the model does not have, and InvalidSample for a pair without a prompt.
    """
    if params.on == "pair" and not (prompt and prompt.strip()):
        raise InvalidSample("on 'pair' needs the sample's prompt", path="prompt")
    early = await offload(len(response), refused, response, params)
    if early is not None:
        return early
    given = (prompt or "") if params.copied == "refuse" else ""
    if given != "" and await offload(len(response) + len(given), copied, response, given):
        return wrong("copied", flags=("copied",), feedback="The response is a part of the prompt.")
    texts = await offload(len(response), segments_of, response, params.segments)
    if not texts:
        return no_answer("blank", feedback="The response has no content.")
    if len(texts) > params.most_segments:
        return too_expensive(evidence={"segments": len(texts), "most": params.most_segments})
    seen = Seen()
    measures = params.listed
    try:
        found = await gather(
            *(_measured(ctx, seen, name, one, texts, prompt, params) for name, one in measures.items())
        )
    except InputTooLong as error:
        return too_long(error)
    named = dict(zip(measures, found, strict=True))
    weights = [one.weight for one in measures.values()]
    score = math.fsum(weight * one.score for weight, one in zip(weights, found, strict=True)) / math.fsum(weights)
    passed = None if params.threshold is None else score >= params.threshold
    raw: Any = {name: _raw(one, measures[name]) for name, one in named.items()}
    evidence = {
        "shares": {name: one.shares for name, one in named.items()} if params.measures else found[0].shares,
        **({"segments": len(texts)} if params.segments != "whole" else {}),
        **seen.evidence(),
    }
    return scored(
        min(1.0, max(0.0, score)),
        passed=passed,
        reason="below_threshold" if passed is False else None,
        raw=raw if params.measures else next(iter(raw.values())),
        components={name: Component(status="scored", score=one.score) for name, one in named.items() if name},
        steps=_steps(found, weights) if params.segments != "whole" else (),
        evidence=evidence,
        flags=seen.flags(),
    )


async def _measured(
    ctx: Context, seen: Seen, name: str, measure: Measure, texts: Sequence[str], prompt: str | None, params: Params
) -> _Measured:
    path = f"params.measures.{name}.label" if name else "params.label"
    model = measure.model or params.model
    if params.on == "pair":
        inputs = [Input(text=prompt, pair=text, candidate=text, fit=params.fit) for text in texts]
    else:
        inputs = [Input(text=text, candidate=text, fit=params.fit) for text in texts]
    found = await asyncio.gather(*(ask(ctx, Classify(input=given), model, seen) for given in inputs))
    values = [_value(logits, measure, path) for logits in found]
    score, place = _reduced(values, params.reduce)
    shown = found[place]
    by_label = dict(zip(shown.labels, shares(shown, measure.activation), strict=False))
    return _Measured(score, values, by_label, shown)


def _value(logits: Logits, measure: Measure, path: str) -> float:
    """Returns how good a text is by this measure, from 0 to 1."""
    found = shares(logits, measure.activation)
    if isinstance(measure.label, dict):
        weighed = [(weight, found[place_of(logits, name, path)]) for name, weight in measure.label.items()]
        value = math.fsum(weight * share for weight, share in weighed)
        if not exclusive(logits, measure.activation):
            value /= math.fsum(weight for weight, _ in weighed)
    else:
        value = found[place_of(logits, measure.label, path)]
    value = min(1.0, max(0.0, value))
    return value if measure.better == "higher" else 1.0 - value


def _reduced(values: Sequence[float], how: str) -> tuple[float, int]:
    """The combined value, and the index of the segment that has it or is closest to it."""
    if how == "mean":
        mean = statistics.fmean(values)
        return mean, min(range(len(values)), key=lambda place: abs(values[place] - mean))
    chosen = (min if how == "worst" else max)(range(len(values)), key=values.__getitem__)
    return values[chosen], chosen


def _raw(one: _Measured, measure: Measure) -> Any:
    if isinstance(measure.label, dict):
        return {name: one.logits.values[place_of(one.logits, name, "label")] for name in measure.label}
    return one.logits.values[place_of(one.logits, measure.label, "label")]


def _steps(found: Sequence[_Measured], weights: Sequence[float]) -> list[StepScore]:
    """For each segment, the weighted mean of its measures."""
    total = math.fsum(weights)
    return [
        StepScore(index=place, score=math.fsum(w * v for w, v in zip(weights, values, strict=True)) / total)
        for place, values in enumerate(zip(*(one.values for one in found), strict=True))
    ]
