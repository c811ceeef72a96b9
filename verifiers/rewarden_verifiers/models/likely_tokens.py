"""Log-probabilities of a reference's tokens behind a reasoning, or of a response's: of a model, or of the trainer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.errors import InvalidParams, InvalidSample, ModelError
from rewarden.types import Text
from rewarden_verifiers.contract import Context
from rewarden_verifiers.inference import Input, Likelihood
from rewarden_verifiers.models.model_tasks import ask, chat_of, prompted
from rewarden_verifiers.models.rm_likelihood_params import Params
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.models.signals import numbers
from rewarden_verifiers.models.token_measures import Tokens
from rewarden_verifiers.view import DEFAULT_VIEW, transcript

_LOWEST = -1e6


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The text before a response's answer; None: there is no answer, for this snake_case reason. again: the answer's
    beginning stands there more than once; the first counts."""

    text: str | None
    reason: str | None = None
    again: bool = False


def reasoning_of(response: str, params: Params) -> Reasoning:
    """The part of a response behind which the reference takes the answer's place.

    The first answer behind the first closed thought: a policy that lists guesses as answers, so that the reference is
    among what the model has just read, is cut off before them.
    """
    closed = response.find(DEFAULT_VIEW.close)
    if closed < 0 and DEFAULT_VIEW.open in response:
        return Reasoning(None, "unclosed_thought")
    if not params.cut:
        return Reasoning(response)
    at = response.find(params.cut, closed + len(DEFAULT_VIEW.close) if closed >= 0 else 0)
    if at < 0:
        return Reasoning(response) if params.missing == "whole" else Reasoning(None, "no_answer")
    return Reasoning(response[:at], again=response.find(params.cut, at + len(params.cut)) >= 0)


async def behind(
    reasoning: str, reference: str, prompt: Text | None, params: Params, ctx: Context, seen: Seen
) -> Tokens:
    """The reference's tokens where it stands in its frame behind the reasoning. A token that is partly the frame's
    counts where it holds something of the reference besides blanks. Raises what `ctx.model.run` raises."""
    before, after = params.frame.split("{reference}")
    made = await _likelihood(reasoning, before + reference + after, reasoning, prompt, params, ctx, seen)
    read = "".join(made.texts)  # control tokens of the model's were taken apart in it
    if not (read.startswith(before) and read.endswith(after)):
        raise InvalidParams("params.frame holds a control token of the model's", path="params.frame")
    shown = read[len(before) : len(read) - len(after)]
    start = len(before) + len(shown) - len(shown.lstrip())
    end = len(before) + len(shown.rstrip())
    texts: list[str] = []
    logprobs: list[float] = []
    place, counts = 0, False
    for text, logprob in zip(made.texts, made.logprobs, strict=True):
        if text:  # of a character of several tokens the first has the text, and the others none
            counts = max(place, start) < min(place + len(text), end)
        if counts:
            texts.append(text)
            logprobs.append(logprob)
        place += len(text)
    if not texts:
        raise ModelError("the model's tokens hold nothing of the reference")
    return Tokens(logprobs, texts)


async def whole(response: str, prompt: Text | None, params: Params, ctx: Context, seen: Seen) -> Tokens:
    """The response's tokens behind the prompt. Raises what `ctx.model.run` raises."""
    return await _likelihood("", response, response, prompt, params, ctx, seen)


def sent(signals: Mapping[str, Any] | None, name: str, *, length: int | None = None) -> Tokens:
    """The log-probabilities that the trainer sends under that name. Raises InvalidSample where they are missing, none,
    no finite numbers, or above 0."""
    found = numbers(signals, name, _LOWEST, 0.0, length=length)
    if not found:
        said = "is missing" if found is None else "is empty"
        raise InvalidSample(f"signals.{name} {said}: a list of log-probabilities", path=f"signals.{name}")
    return Tokens(found)


def weights_of(signals: Mapping[str, Any] | None, count: int) -> Sequence[float]:
    """`signals.reference_weights`, one for each token. Raises InvalidSample where these are none."""
    path = "signals.reference_weights"
    found = numbers(signals, "reference_weights", 0.0, 1e9, length=count)
    if found is None:
        raise InvalidSample(f"{path} is missing, since params.weighted is set", path=path)
    if not math.fsum(found) > 0:
        raise InvalidSample(f"{path} are all 0", path=path)
    return found


async def _likelihood(
    begun: str, continuation: str, candidate: str, prompt: Text | None, params: Params, ctx: Context, seen: Seen
) -> Tokens:
    prompted(prompt, params.input == "chat", params.system)
    result = await ask(
        ctx,
        Likelihood(input=_input(begun, candidate, prompt, params), continuation=continuation),
        params.model,
        seen,
    )
    same = "".join(result.tokens) == continuation or result.facts.neutralised
    if not same or not result.tokens or len(result.tokens) != len(result.logprobs):
        raise ModelError("the model's tokens are not the text that it was asked about")
    if not all(-math.inf < one <= 1e-3 for one in result.logprobs):
        raise ModelError("what the model gave are no logarithms of probabilities")
    return Tokens([min(one, 0.0) for one in result.logprobs], result.tokens)


def _input(begun: str, candidate: str, prompt: Text | None, params: Params) -> Input:
    if params.input == "text":
        text = params.text.replace("{prompt}", transcript(prompt) if prompt is not None else "")
        return Input(text=text + begun, candidate=candidate, fit=params.fit)
    messages = chat_of(prompt, begun or None, params.system)
    return Input(messages=messages, begin=not begun, open=bool(begun), candidate=candidate, fit=params.fit)
