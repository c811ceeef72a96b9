"""Log-probabilities of the tokens of a reference after reasoning, or of a response, from a model or from the trainer;
and measures computed from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.errors import InvalidParams, InvalidSample, ModelError
from rewarden.types import Text
from rewarden_verifiers.contract import Context
from rewarden_verifiers.inference import Likelihood
from rewarden_verifiers.models.model_tasks import ask, beginning
from rewarden_verifiers.models.rm_likelihood_params import Params
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.models.signals import numbers
from rewarden_verifiers.thought import thought_of
from rewarden_verifiers.view import DEFAULT_VIEW

_LOWEST = -1e6


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens that count, with their natural log-probabilities. texts: empty if unknown."""

    logprobs: Sequence[float]
    texts: Sequence[str] = ()

    def evidence(self) -> dict[str, Any]:
        """Ready for JSON: the number of tokens, their mean probability, mean log-probability, sum, perplexity, and the
        least likely token.
        """
        total = math.fsum(self.logprobs)
        mean = total / len(self.logprobs)
        least = min(range(len(self.logprobs)), key=self.logprobs.__getitem__)
        told: dict[str, Any] = {"index": least, "logprob": self.logprobs[least]}
        if self.texts:
            told["text"] = self.texts[least]
        return {
            "tokens": len(self.logprobs),
            "mean_probability": math.fsum(map(math.exp, self.logprobs)) / len(self.logprobs),
            "mean_logprob": mean,
            "sum_logprob": total,
            "perplexity": math.exp(min(-mean, 700.0)),
            "least": told,
        }


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The text before a response's answer; None if there is no answer, with the reason in snake_case. again: the
    answer's beginning occurs more than once; the first one counts.
    """

    text: str | None
    reason: str | None = None
    again: bool = False


def reasoning_of(response: str, params: Params) -> Reasoning:
    """The part of a response after which the reference replaces the answer.

    It ends at the first answer after the first closed thinking block: a policy that lists guesses as answers, so that
    the model has just read the reference, is cut off before them.
    """
    thought = thought_of(response, DEFAULT_VIEW.open, DEFAULT_VIEW.close, starts_open=False)
    if thought is not None and not thought.closed:
        return Reasoning(None, "unclosed_thought")
    if not params.cut:
        return Reasoning(response)
    at = response.find(params.cut, 0 if thought is None else thought.first)
    if at < 0:
        return Reasoning(response) if params.missing == "whole" else Reasoning(None, "no_answer")
    return Reasoning(response[:at], again=response.find(params.cut, at + len(params.cut)) >= 0)


async def behind(
    reasoning: str, reference: str, prompt: Text | None, params: Params, ctx: Context, seen: Seen
) -> Tokens:
    """The reference's tokens, with the reference in its frame after the reasoning. A token shared with the frame counts
    if it contains part of the reference other than white space. Raises what `ctx.model.run` raises.
    """
    before, after = params.frame.split("{reference}")
    made = await _likelihood(reasoning, before + reference + after, reasoning, prompt, params, ctx, seen)
    read = "".join(made.texts)  # the model's control tokens are broken up in it
    if not (read.startswith(before) and read.endswith(after)):
        raise InvalidParams("params.frame holds a control token of the model's", path="params.frame")
    shown = read[len(before) : len(read) - len(after)]
    start = len(before) + len(shown) - len(shown.lstrip())
    end = len(before) + len(shown.rstrip())
    texts: list[str] = []
    logprobs: list[float] = []
    place, counts = 0, False
    for text, logprob in zip(made.texts, made.logprobs, strict=True):
        if text:  # if a character takes several tokens, the first has its text and the others are empty
            counts = max(place, start) < min(place + len(text), end)
        if counts:
            texts.append(text)
            logprobs.append(logprob)
        place += len(text)
    if not texts:
        raise ModelError("the model's tokens hold nothing of the reference")
    return Tokens(logprobs, texts)


async def whole(response: str, prompt: Text | None, params: Params, ctx: Context, seen: Seen) -> Tokens:
    """The response's tokens, given the prompt. Raises what `ctx.model.run` raises."""
    return await _likelihood("", response, response, prompt, params, ctx, seen)


def sent(signals: Mapping[str, Any] | None, name: str, *, length: int | None = None) -> Tokens:
    """The log-probabilities that the trainer sends under that name. Raises InvalidSample if they are missing, empty,
    not finite numbers, or above 0.
    """
    found = numbers(signals, name, _LOWEST, 0.0, length=length)
    if not found:
        said = "is missing" if found is None else "is empty"
        raise InvalidSample(f"signals.{name} {said}: a list of log-probabilities", path=f"signals.{name}")
    return Tokens(found)


def weights_of(signals: Mapping[str, Any] | None, count: int) -> Sequence[float]:
    """`signals.reference_weights`, one for each token. Raises InvalidSample if they are missing or invalid."""
    path = "signals.reference_weights"
    found = numbers(signals, "reference_weights", 0.0, 1e9, length=count)
    if found is None:
        raise InvalidSample(f"{path} is missing, since params.weighted is set", path=path)
    if not math.fsum(found) > 0:
        raise InvalidSample(f"{path} are all 0", path=path)
    return found


@dataclass(frozen=True, slots=True)
class Measured:
    """score: the value of the measure, before anything is subtracted. raw: the value before mapping. clipped: it was
    below the floor.
    """

    score: float
    raw: float
    clipped: bool = False


def measured(logprobs: Sequence[float], weights: Sequence[float] | None, params: Params) -> Measured:
    """Measures the log-probabilities of one or more tokens. weights: not negative, not all 0; None: all equal."""
    shares = [1.0] * len(logprobs) if weights is None else weights
    total = math.fsum(shares)

    def mean(values: Sequence[float]) -> float:
        return math.fsum(share * value for share, value in zip(shares, values, strict=True)) / total

    if params.measure == "mean":
        raw = mean([math.exp(one) for one in logprobs])
        return Measured(min(raw, 1.0), raw)
    if params.measure == "min":
        raw = math.exp(min(logprobs))
        return Measured(raw, raw)
    if params.measure == "geometric":
        raw = math.exp(min(mean(logprobs), 0.0))
        return Measured(raw, raw)
    raw = min(math.fsum(logprobs) if params.measure == "sum" else mean(logprobs), 0.0)
    floor = params.lowest
    kept = max(raw, floor)
    return Measured(kept if params.measure == "sum" else 1.0 - kept / floor, raw, raw < floor)


async def _likelihood(
    begun: str, continuation: str, candidate: str, prompt: Text | None, params: Params, ctx: Context, seen: Seen
) -> Tokens:
    text = params.text if params.input == "text" else None
    given = beginning(prompt, begun, candidate, text=text, system=params.system, fit=params.fit)
    result = await ask(ctx, Likelihood(input=given, continuation=continuation), params.model, seen)
    same = "".join(result.tokens) == continuation or result.facts.neutralised
    if not same or not result.tokens or len(result.tokens) != len(result.logprobs):
        raise ModelError("the model's tokens do not match the text that it was given")
    if not all(-math.inf < one <= 1e-3 for one in result.logprobs):
        raise ModelError("the model's values are not log-probabilities")
    return Tokens([min(one, 0.0) for one in result.logprobs], result.tokens)
