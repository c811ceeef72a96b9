"""The values of steps, from a model or from the trainer, and their combination."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewarden.errors import InvalidParams, InvalidSample, ModelError
from rewarden.types import Text
from rewarden_verifiers.contract import Context
from rewarden_verifiers.inference import Classify, Input, Rate
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.models.implicit import ratios
from rewarden_verifiers.models.model_tasks import ask, beginning
from rewarden_verifiers.models.outputs import sigmoid
from rewarden_verifiers.models.rm_process_params import Params
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.models.signals import number, numbers

_UNLIKELY = math.log(0.01)


@dataclass(frozen=True, slots=True)
class Values:
    """values: one for each step, from `low` to `high`. flags: `clipped`: a model's value was outside this range;
    `unlikely_choices`: for at least half of the steps the model expects neither `good` nor `bad`, so its choice between
    them means little.
    """

    values: Sequence[float]
    flags: Sequence[str] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Total:
    """score: within `Params.range`. rewards: one for each step. clipped: the sum was outside the range."""

    score: float
    rewards: Sequence[float]
    clipped: bool = False


async def by_model(
    steps: Sequence[str], prompt: Text | None, model: str | None, params: Params, ctx: Context, seen: Seen
) -> Values:
    """The values of steps from one model: its head, its choice between two texts, its values of prefixes, or its
    likelihoods against a reference model. Raises what `ctx.model.run` raises, and InvalidSample if nothing comes before
    the steps.
    """
    if params.by == "prefix":
        return await _prefixes(steps, prompt, model, params, ctx, seen)
    if params.by == "implicit":
        return await _implicit(steps, prompt, model, params, ctx, seen)
    choosing = params.by == "token"
    result = await ask(
        ctx,
        Rate(
            input=_input(prompt, "", "".join(params.between + text + params.mark for text in steps), params),
            steps=[text if place == 0 else params.between + text for place, text in enumerate(steps)],
            mark=params.mark,
            choices=(params.good, params.bad) if choosing else (),
            at=params.at or ("next" if choosing else "mark"),
        ),
        model,
        seen,
    )
    if len(result.values) != len(steps):
        raise ModelError(f"the model gave values of {len(result.values)} steps, not of {len(steps)}")
    if not choosing:
        return _brought_in([value_of(row, result.labels, False, params) for row in result.values], params)
    values = [sigmoid(good - bad) for good, bad in result.values]
    odd = sum(max(row) + math.log1p(math.exp(-abs(row[0] - row[1]))) < _UNLIKELY for row in result.values)
    return Values(values, ["unlikely_choices"] if odd * 2 >= len(values) else [])


def value_of(outputs: Sequence[float], labels: Sequence[str], multi: bool, params: Params) -> float:
    """Reads a value from a head's raw outputs, according to `output` and `activation`. Raises InvalidParams for an
    output that the head does not have, and ModelError for outputs that are not finite numbers.
    """
    if not outputs or not all(math.isfinite(one) for one in outputs):
        raise ModelError("the model's outputs are not finite numbers")
    place = _place(len(outputs), labels, params)
    how = params.activation
    if how == "auto":
        how = "sigmoid" if multi or len(outputs) == 1 else "softmax"
    if how == "none":
        return outputs[place]
    if how == "sigmoid":
        return sigmoid(outputs[place])
    highest = max(outputs)
    return math.exp(outputs[place] - highest) / math.fsum(math.exp(one - highest) for one in outputs)


def of_signals(signals: Mapping[str, Any] | None, count: int | None, params: Params) -> Values:
    """The values that the trainer sends: `step_values`, a list of numbers; or `step_successes`, the number of
    successful continuations from each step, out of `step_continuations` (one number, or one per step). count: the
    number of steps, if the sample names them. Raises InvalidSample for anything else, for both, and for neither.
    """
    values = numbers(signals, "step_values", params.low, params.high, length=count)
    successes = numbers(signals, "step_successes", 0, 1e9, length=count)
    if (values is None) == (successes is None):
        raise InvalidSample("signals must have either step_values or step_successes", path="signals")
    if successes is None or signals is None:
        return Values(values or ())
    given = signals.get("step_continuations")
    several = isinstance(given, Sequence) and not isinstance(given, str)
    path = "signals.step_continuations"
    runs = numbers(signals, "step_continuations", 1, 1e9, length=len(successes)) if several else None
    if runs is None:
        runs = [number(given, path, 1, 1e9)] * len(successes)
    for place, (won, tried) in enumerate(zip(successes, runs, strict=True)):
        if won > tried or won != int(won) or tried != int(tried):
            where = f"signals.step_successes[{place}]"
            raise InvalidSample(f"{where}: {won:g} of {tried:g} continuations is not a count", path=where)
    rates = [won / tried for won, tried in zip(successes, runs, strict=True)]
    if params.estimate == "any":  # Math-Shepherd's hard estimation (arXiv 2312.08935)
        rates = [float(rate > 0) for rate in rates]
    shares = [params.low + (params.high - params.low) * rate for rate in rates]
    return Values(shares, evidence={"continuations": int(sum(runs))})


def together(found: Sequence[Values], names: Sequence[str | None], params: Params) -> Values:
    """Combines the values from several models; each model's own values are in the evidence."""
    if len(found) == 1:
        return found[0]
    join = min if params.ensemble == "min" else statistics.fmean
    values = [join(row) for row in zip(*(one.values for one in found), strict=True)]
    evidence = {"by_model": {str(name): list(one.values) for name, one in zip(names, found, strict=True)}}
    return Values(values, sorted({flag for one in found for flag in one.flags}), evidence)


def total(values: Sequence[float], same: Sequence[int], start: float, params: Params) -> Total:
    """Combines the values of one or more steps. same: for each step, the first step with the same text; `mean` and
    `sum` count such steps once, with the lowest of their values, so that repeating a step does not pay. start: the
    value before the first step, for progress.

    With values v_1 … v_T, clip, delta and their combination (arXiv 2410.15115) are:

        clip        r_t = min(v_t - eta, 0): at most 0 each, so that adding a step cannot pay
        delta       r_t = v_t - v_(t+1), and r_T = v_T: the sum is v_1, and from step t on it is v_t, however many
                    steps follow. Or the last value is dropped: r_(T-1) = v_(T-1) and r_T = 0; a single
                    step keeps its own value, or one wrong step would be worth as much as the best of clip_delta
        clip_delta  delta of the clipped values: the sum is min(v_1 - eta, 0)

    progress (MRT, arXiv 2503.07572): r_t = v_t - v_(t-1), with v_0 the value before the first step: the sum is v_T -
    v_0.
    """
    name = params.aggregate
    if name in ("clip", "delta", "clip_delta", "progress"):
        rewards = list(values)
        if name != "delta" and name != "progress":
            rewards = [min(value - params.eta, 0.0) for value in rewards]
        if name in ("delta", "clip_delta"):
            rewards = _delta(rewards, drop=params.last_step == "drop")
        if name == "progress":
            rewards = [value - before for value, before in zip(values, [start, *values], strict=False)]
        return _within(math.fsum(rewards), rewards, params)
    least: dict[int, float] = {}
    for first, value in zip(same, values, strict=True):
        least[first] = min(value, least.get(first, value))
    some = list(least.values())
    if name == "sum":
        score = math.fsum(some)
    elif name == "mean":
        score = math.fsum(some) / len(some)
    elif name == "product":
        score = math.prod(values)
    elif name == "last":
        score = values[-1]
    else:
        score = min(values) if name == "min" else max(values)
    return _within(score, values, params)


async def _prefixes(
    steps: Sequence[str], prompt: Text | None, model: str | None, params: Params, ctx: Context, seen: Seen
) -> Values:
    """Each prefix is a separate task; their common beginning is computed once."""
    join = params.between or "\n\n"
    prefixes = [join.join(steps[: place + 1]) for place in range(len(steps))]
    inputs = [_input(prompt, prefix, prefix, params) for prefix in prefixes]
    results = await gather(*(ask(ctx, Classify(input=one), model, seen) for one in inputs))
    return _brought_in([value_of(one.values, one.labels, one.multi, params) for one in results], params)


async def _implicit(
    steps: Sequence[str], prompt: Text | None, model: str | None, params: Params, ctx: Context, seen: Seen
) -> Values:
    """The values from the likelihoods of two models. A separator between two steps belongs to the first."""
    join = params.between or "\n\n"
    text = join.join(steps)
    ends = list(itertools.accumulate(len(step) + len(join) for step in steps))
    assert params.reference_model is not None  # checked with the parameters
    names = model, params.reference_model
    found = await ratios(_input(prompt, "", text, params), text, [*ends[:-1], len(text)], names, ctx, seen)
    rewards = [params.beta * one for one in found.sums]
    if params.activation == "none":
        return _brought_in(rewards, params)
    return Values([sigmoid(one) for one in rewards], evidence={"log_ratios": found.sums})


def _input(prompt: Text | None, begun: str, candidate: str, params: Params) -> Input:
    """Makes the input from the prompt and, with `begun`, the steps."""
    text = params.text if params.input == "text" else None
    return beginning(prompt, begun, candidate, text=text, system=params.system, fit=params.fit)


_RIGHT = frozenset({"right", "good", "correct", "positive", "true", "yes", "+", "1"})
_WRONG = frozenset({"wrong", "bad", "incorrect", "negative", "false", "no", "-", "0"})
"""Labels of two-output heads whose first output means a right step: the default, the second output, would reward every
mistake.
"""


def _place(count: int, labels: Sequence[str], params: Params) -> int:
    wanted = params.output
    if isinstance(wanted, str) and wanted in labels:
        return list(labels).index(wanted)
    if isinstance(wanted, int) and 0 <= wanted < count:
        return wanted
    turned = count == 2 == len(labels) and (labels[0].lower() in _RIGHT or labels[1].lower() in _WRONG)
    if wanted is None and count <= 2 and not turned:
        return count - 1
    said = "must say which" if wanted is None else f"is {wanted!r}"
    raise InvalidParams(f"params.output {said}; the model's outputs: {', '.join(labels)}", path="params.output")


def _brought_in(values: Sequence[float], params: Params) -> Values:
    kept = [min(max(value, params.low), params.high) for value in values]
    return Values(kept, ["clipped"] * (kept != list(values)))


def _delta(values: Sequence[float], *, drop: bool) -> list[float]:
    followed = [*values[:-1], 0.0] if drop and len(values) > 1 else list(values)
    return [value - after for value, after in zip(followed, [*followed[1:], 0.0], strict=True)]


def _within(score: float, rewards: Sequence[float], params: Params) -> Total:
    low, high = params.range
    kept = min(max(score, low), high)
    return Total(kept, rewards, abs(kept - score) > 1e-9)
