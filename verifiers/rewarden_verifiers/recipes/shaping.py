"""Shaping by length: adds to a score, or replaces it, by the length of the response.

`start` and `end` are the values at length 0 and at `max`. Lengths and limits are in the step's unit (tokens of the
policy, characters or words). Every curve stays within its ends, whatever the length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rewarden.errors import InvalidSample
from rewarden.types import Sample
from rewarden_verifiers.recipes.model import Unit
from rewarden_verifiers.view import plain


def linear(length: float, *, start: float, end: float, max: float, min: float = 0.0) -> float:
    """Returns a straight line from `start` at `min` to `end` at `max`; flat outside.

    start + (end - start) * (length - min) / (max - min). With the shortest and longest response of a group as limits
    and the ends 0.5 and -0.5, this is the length reward of Kimi k1.5 (arXiv 2501.12599, section 2.3.3) for correct
    answers. Raises ValueError unless 0 <= min < max.
    """
    if not 0 <= min < max:
        raise ValueError(f"0 <= min < max is needed, not min {min:g} and max {max:g}")
    return _between(start, end, (length - min) / (max - min))


def cosine(length: float, *, start: float, end: float, max: float, exceeded: float | None = None) -> float:
    """Returns half a cosine wave from `start` at length 0 to `end` at `max`: flat near both, steepest in the middle.

    end + (start - end) / 2 * (1 + cos(pi * length / max)); at `max` and beyond, `exceeded` if it is given, else `end`.
    The cosine reward of Yeo et al. 2025, "Demystifying Long Chain-of-Thought Reasoning in LLMs" (arXiv 2502.03373,
    section 4.2), which calls the values r_0, r_L and r_e. Raises ValueError unless max > 0.
    """
    if max <= 0:
        raise ValueError(f"max must be more than 0, not {max:g}")
    if length >= max and exceeded is not None:
        return exceeded
    return _between(start, end, (1.0 - math.cos(math.pi * _unit(length / max))) / 2.0)


def soft_overlong(length: float, *, max: float, buffer: float) -> float:
    """Returns 0 up to `max - buffer`, then a straight line down to -1 at `max`, and -1 beyond.

    The soft over-long punishment of DAPO (arXiv 2503.14476, equation 13), which calls the limits L_max and L_cache.
    Raises ValueError unless 0 < buffer <= max.
    """
    if not 0 < buffer <= max:
        raise ValueError(f"0 < buffer <= max is needed, not buffer {buffer:g} and max {max:g}")
    return 0.0 - _unit((length - (max - buffer)) / buffer)  # so that the result is 0.0 instead of -0.0


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve and the numbers that it takes."""

    call: Callable[..., float]
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


CURVES: Mapping[str, Curve] = {
    "linear": Curve(linear, ("start", "end", "max"), ("min",)),
    "cosine": Curve(cosine, ("start", "end", "max"), ("exceeded",)),
    "soft_overlong": Curve(soft_overlong, ("max", "buffer")),
}


def length_of(sample: Sample, by: Unit) -> int:
    """Returns the length of the whole response, including its reasoning. Raises InvalidSample if `token_count` is
    missing."""
    if by == "tokens":
        if sample.token_count is None:
            raise InvalidSample("shaping by tokens needs the field 'token_count'", path="token_count")
        return sample.token_count
    text = plain(sample.response)
    return len(text) if by == "characters" else len(text.split())


def _between(start: float, end: float, share: float) -> float:
    """Returns `start` at share 0 and `end` at 1, and never a value outside, despite rounding."""
    share = _unit(share)
    return start * (1.0 - share) + end * share if share < 1.0 else end


def _unit(share: float) -> float:
    return min(max(share, 0.0), 1.0)
