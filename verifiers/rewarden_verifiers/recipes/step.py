"""A step of a recipe's evaluation, for explaining a score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rewarden.types import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A verifier that ran, an expression that was evaluated, or a term for length.

    where: the field of the recipe. text: the expression, or the verifier's name. filled: the expression with values in
    place of its reads, or the verifier's verdict. value: the result; None: the verifier has no score.
    """

    where: str
    text: str
    filled: str
    value: Any


OnStep = Callable[[Sample, Step], None]
"""Gets every step of a sample's evaluation, in order."""
