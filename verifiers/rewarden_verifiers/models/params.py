"""Parameters shared by all verifiers with a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarden.errors import InvalidParams
from rewarden_verifiers.inference import Fit


@dataclass(frozen=True, kw_only=True)
class ModelParams:
    """Options of every verifier that uses a model.

    model: The name of a model in the server's `[models.named]`; null: the server's default.
    fit: What to do if the input is longer than the model's context. `error`: if the response made it too long, it gets
        the lowest score (`too_long`); if the prompt did, the caller gets an error. `left` or `middle`: drop tokens at
        the beginning or in the middle, flagged `truncated`.
    hollow: What to do with a response without substance: `refuse` (the lowest score, without asking the model) or
        `ask`.
    """

    model: str | None = None
    fit: Fit = "error"
    hollow: Literal["refuse", "ask"] = "refuse"


def within(name: str, value: float | None, low: float, high: float) -> None:
    """Raises InvalidParams if a parameter is given and outside these limits."""
    if value is not None and not low <= value <= high:
        said = f", not {value:g}" if abs(value) < 1e300 else ""  # an integer can exceed the range of floats
        raise InvalidParams(f"params.{name} must be from {low:g} to {high:g}{said}", path=f"params.{name}")
