"""Measures made of the probabilities of a text's tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewarden_verifiers.models.rm_likelihood_params import Params


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens that count, and the natural logarithms of their probabilities. texts: empty where they are unknown."""

    logprobs: Sequence[float]
    texts: Sequence[str] = ()

    def evidence(self) -> dict[str, Any]:
        """JSON-ready: how many, their mean probability, mean logarithm, sum, perplexity, and which is the least."""
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
class Measured:
    """score: by the measure, before anything is subtracted. raw: before it was mapped. clipped: it lay below
    the floor."""

    score: float
    raw: float
    clipped: bool = False


def measured(logprobs: Sequence[float], weights: Sequence[float] | None, params: Params) -> Measured:
    """Returns what tokens, at least one, come to. weights: at least 0, not all 0; None: all the same."""
    shares = [1.0] * len(logprobs) if weights is None else weights
    whole = math.fsum(shares)

    def mean(values: Sequence[float]) -> float:
        return math.fsum(share * value for share, value in zip(shares, values, strict=True)) / whole

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
