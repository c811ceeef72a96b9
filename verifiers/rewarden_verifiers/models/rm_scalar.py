"""The verifier `rm_scalar`: the reward that a reward model gives a response."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewarden.errors import InputTooLong, InvalidReference, InvalidSample
from rewarden.types import Component, Media, Outcome, Sample, Text
from rewarden_verifiers.chat import Message
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.inference import Classify, Input, Logits
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.judges.pictures import images
from rewarden_verifiers.models.model_tasks import ask, chat_of, refused, sees, too_long
from rewarden_verifiers.models.outputs import place_of, shares, sigmoid
from rewarden_verifiers.models.resources import OWN_MODELS, ModelResources
from rewarden_verifiers.models.scalar_params import Ensembled, Params, bounds, filled
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.outcome import scored
from rewarden_verifiers.view import SHOWN_TO_MODELS, apply_view, turns
from rewarden_verifiers.words import words


@dataclass(frozen=True, slots=True)
class _Reward:
    """The reward from one model. own: the model's number; number: after baseline and length penalty; score: after the
    transform.
    """

    own: float
    number: float
    score: float
    baseline: float | None
    label: str | None


@verifier(
    version="2",
    graded=True,
    determinism="tolerance",
    resources=ModelResources,
    optional=OWN_MODELS,
    bounds=bounds,
    view=SHOWN_TO_MODELS,
)
async def rm_scalar(
    response: str, prompt: str | None, sample: Sample, params: Params, ctx: Context, reference: Any = None
) -> Outcome:
    """The reward that one or several reward models give the response to the prompt.

    `raw` is the model's own number (for several models, by name). By default the score is 1 / (1 + exp(-raw)): for a
    Bradley-Terry model, the probability that the response is preferred to one with reward 0. The parameters offer other
    transforms, a baseline (the reference's reward), a length penalty, and a choice among several outputs. The model
    sees the response as selected by the view, so reasoning is not rewarded (RLMT). The prompt can be a chat.

    With several models (RESTL, LongWriter-Zero, arXiv 2506.18841), each is a component; if one of them fails, there is
    no score. These responses get the lowest score without a call to the model: responses without substance
    (`no_answer`, `blank`, `opener_only`, `claim_only`), and those that make the input longer than a model's context
    (`too_long`), unless `fit` truncates it.

    Raises InvalidParams for an output that the model does not have, InvalidReference if a baseline needs a reference,
    and InvalidSample for missing metadata or a missing length.
    """
    span = bounds(params)
    principles = _principles(sample, params)
    length = await offload(len(response), _length, response, sample, params)
    if params.baseline is not None and not (isinstance(reference, str) and reference.strip()):
        raise InvalidReference("the baseline needs a reference: the text of a response", path="reference")
    early = await offload(_size(response, sample, params), _refused, response, sample, params)
    if early is not None:
        return early
    seen = Seen()
    ensemble = params.ensemble or {"": Ensembled(output=params.output)}
    given = _input(response, prompt, sample, principles, params)
    other = _baseline(reference, prompt, sample, principles, params)
    try:
        found = await gather(
            *(_reward(ctx, seen, name, one, given, other, length, params) for name, one in ensemble.items())
        )
    except InputTooLong as error:
        return too_long(error, range=span)
    rewards = dict(zip(ensemble, found, strict=True))
    score = _combined(rewards, ensemble, params)
    passed = None if params.threshold is None else score >= params.threshold
    return scored(
        min(span[1], max(span[0], score)),
        range=span,
        passed=passed,
        reason="below_threshold" if passed is False else None,
        raw={name: one.own for name, one in rewards.items()} if params.models else found[0].own,
        components={name: Component(status="scored", score=one.score) for name, one in rewards.items() if name},
        evidence=_evidence(rewards, length, params) | seen.evidence(),
        flags=seen.flags(),
    )


def _evidence(rewards: Mapping[str, _Reward], length: int | None, params: Params) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if length is not None:
        made["length"] = length
    for what in ("baseline", "label"):
        told = {name: value for name, one in rewards.items() if (value := getattr(one, what)) is not None}
        if told:
            made[what] = told if params.models else next(iter(told.values()))
    return made


async def _reward(
    ctx: Context,
    seen: Seen,
    name: str,
    one: Ensembled,
    given: Input,
    other: Input | None,
    length: int | None,
    params: Params,
) -> _Reward:
    model = name or params.model
    tasks = [ask(ctx, Classify(input=given), model, seen)]
    if other is not None:
        tasks.append(_of_reference(ctx, other, model, seen))
    logits, *others = await gather(*tasks)
    output = one.output if one.output is not None else params.output
    path = f"params.models.{name}.output" if one.output is not None and name else "params.output"
    own = _number(logits, output, path)
    label = None
    if not isinstance(output, dict):
        place = place_of(logits, output, path)
        label = logits.labels[place] if len(logits.labels) > 1 else None
        if params.transform == "probability":
            return _Reward(own, own, shares(logits)[place], None, label)
    baseline = _number(others[0], output, path) if others else None
    number = own - (baseline or 0.0) - params.length_penalty * (length or 0)
    shift = params.shift if one.shift is None else one.shift
    number_scaled = (params.alpha if one.alpha is None else one.alpha) * (number - shift)
    return _Reward(own, number, _transformed(number_scaled, params), baseline, label)


async def _of_reference(ctx: Context, given: Input, model: str | None, seen: Seen) -> Logits:
    try:
        return await ask(ctx, Classify(input=given), model, seen)
    except InputTooLong as error:
        raise InvalidReference(f"the reference is too long for the model: {error.message}", path="reference") from None


def _number(logits: Logits, output: str | int | dict[str, float] | None, path: str) -> float:
    if isinstance(output, dict):
        weighed = ((weight, place_of(logits, name, path)) for name, weight in output.items())
        return math.fsum(weight * logits.values[place] for weight, place in weighed)
    return float(logits.values[place_of(logits, output, path)])


def _transformed(value: float, params: Params) -> float:
    if params.transform == "linear":
        return min(params.high, max(params.low, value))
    return math.tanh(value) if params.transform == "tanh" else sigmoid(value)


def _combined(rewards: Mapping[str, _Reward], ensemble: Mapping[str, Ensembled], params: Params) -> float:
    scores = [one.score for one in rewards.values()]
    if params.combine == "min":
        return min(scores)
    if params.combine == "max":
        return max(scores)
    if params.combine == "median":
        return statistics.median(scores)
    weights = [one.weight for one in ensemble.values()]
    return math.fsum(weight * score for weight, score in zip(weights, scores, strict=True)) / math.fsum(weights)


def _principles(sample: Sample, params: Params) -> Sequence[str]:
    if params.principles_from is None:
        return params.principles
    path = f"metadata.{params.principles_from}"
    found = (sample.metadata or {}).get(params.principles_from)
    texts = [found] if isinstance(found, str) else found
    if not isinstance(texts, (list, tuple)) or not texts or not all(isinstance(one, str) for one in texts):
        raise InvalidSample(f"{path} must contain the principles: a list of strings", path=path)
    return texts


def _length(response: str, sample: Sample, params: Params) -> int | None:
    if not params.length_penalty:
        return None
    if params.length_unit == "tokens":
        if sample.token_count is None:
            raise InvalidSample("length_unit 'tokens' needs the sample's token_count", path="token_count")
        return sample.token_count
    return len(response) if params.length_unit == "characters" else len(words(response))


def _size(response: str, sample: Sample, params: Params) -> int:
    """The number of characters that `_written` processes."""
    if params.show == "response" or isinstance(sample.response, str):
        return len(response)
    return sum(len(turn.content) for turn in turns(sample.response))


def _refused(response: str, sample: Sample, params: Params) -> Outcome | None:
    return refused(_written(response, sample, params), params, range=bounds(params))


def _written(response: str, sample: Sample, params: Params) -> str:
    """The policy's own text, as far as it is shown."""
    if params.show == "response" or isinstance(sample.response, str):
        return response
    return "\n\n".join(one["content"] for one in _turns(response, sample.response) if one["role"] == "assistant")


def _turns(response: str, messages: Text) -> list[Message]:
    """The messages of a transcript; the assistant's last one is `response`."""
    found = turns(messages)
    last = max(place for place, turn in enumerate(found) if turn.role == "assistant")
    made: list[Message] = []
    for place, turn in enumerate(found[: last + 1]):
        content = turn.content
        if place == last:
            content = response
        elif turn.role == "assistant":
            content = apply_view(content, SHOWN_TO_MODELS).text or ""
        made.append({"role": turn.role, "content": f"{content}\n{turn.calls}" if turn.calls else content})
    return made


def _chat(prompt: Text | None, said: Sequence[Message], head: str, media: Sequence[Media] = ()) -> list[Message]:
    """The prompt's turns, followed by further messages. Many templates accept only one system turn, so `head` and the
    prompt's own system turn are merged.
    """
    messages = chat_of(prompt, None, media=media)
    if head and messages and messages[0]["role"] == "system" and isinstance(messages[0]["content"], str):
        own = messages.pop(0)["content"]
        head = f"{head}\n\n{own}" if own else head
    return [*([{"role": "system", "content": head}] if head else []), *messages, *said]


def _input(response: str, prompt: str | None, sample: Sample, principles: Sequence[str], params: Params) -> Input:
    media = images(sample.media) if params.media else ()
    if params.form != "chat" and (media or sees(sample.prompt)):
        raise InvalidSample(f"the form {params.form!r} shows no images, and the sample has some", path="params.form")
    listed = "\n".join(f"- {one}" for one in principles)
    if params.form == "text":
        text = filled(params.template, prompt=prompt or "", response=response, system=params.system, principles=listed)
        return Input(text=text, candidate=response, fit=params.fit)
    head = "\n\n".join(part for part in (params.system, listed) if part)
    if params.form == "pair":
        first = "\n\n".join(part for part in (head, prompt or "") if part)
        return Input(text=first, pair=response, candidate=response, fit=params.fit)
    said: list[Message] = [{"role": "assistant", "content": response}]
    if params.show == "transcript" and not isinstance(sample.response, str):
        said = _turns(response, sample.response)
    unfinished = params.turn == "open" or (params.turn == "as_finished" and sample.finish_reason == "length")
    return Input(
        messages=_chat(sample.prompt, said, head, media),
        open=unfinished,
        candidate=_written(response, sample, params),
        fit=params.fit,
    )


def _baseline(
    reference: Any, prompt: str | None, sample: Sample, principles: Sequence[str], params: Params
) -> Input | None:
    if params.baseline is None:
        return None
    answered = Sample(response=reference, prompt=sample.prompt, metadata=sample.metadata, media=sample.media)
    return replace(_input(reference, prompt, answered, principles, params), candidate="")
