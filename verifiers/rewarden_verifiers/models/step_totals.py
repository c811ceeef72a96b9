"""The total of the values of steps: one number, or a reward for each step whose sum is the number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rewarden_verifiers.models.rm_process_params import Params


@dataclass(frozen=True, slots=True)
class Total:
    """score: within `Params.range`. rewards: of the steps, one each. clipped: the sum exceeded the range."""

    score: float
    rewards: Sequence[float]
    clipped: bool = False


def total(values: Sequence[float], same: Sequence[int], start: float, params: Params) -> Total:
    """Returns what steps of these values, at least one, come to. same: of each, the first step that says the same;
    `mean` and `sum` count those once, with the least of their values, so that no step is repeated to be paid again.
    start: the value before the first step, for progress.

    Of clip, delta and their combination (arXiv 2410.15115) with values v_1 … v_T:

        clip        r_t = min(v_t - eta, 0): at most 0 each, so that no step that is added can pay
        delta       r_t = v_t - v_(t+1), and r_T = v_T: the sum is v_1, and from step t on it is v_t, however many
                    steps follow. Or the last value is dropped: r_(T-1) = v_(T-1) and r_T = 0; an
                    only step keeps its own, or one step that is wrong would be worth what clip_delta's best is
        clip_delta  delta of the clipped values: the sum is min(v_1 - eta, 0)

    progress (MRT, arXiv 2503.07572): r_t = v_t - v_(t-1), with v_0 the value before: the sum is v_T - v_0.
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
        return _within(math.fsum(some), values, params)
    if name == "mean":
        score = math.fsum(some) / len(some)
    elif name == "product":
        score = math.prod(values)
    elif name == "last":
        score = values[-1]
    else:
        score = min(values) if name == "min" else max(values)
    low, high = params.range
    return Total(min(max(score, low), high), values)


def _delta(values: Sequence[float], *, drop: bool) -> list[float]:
    followed = [*values[:-1], 0.0] if drop and len(values) > 1 else list(values)
    return [value - after for value, after in zip(followed, [*followed[1:], 0.0], strict=True)]


def _within(score: float, rewards: Sequence[float], params: Params) -> Total:
    low, high = params.range
    kept = min(max(score, low), high)
    return Total(kept, rewards, abs(kept - score) > 1e-9)
