"""The options that all verifiers share which ask models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarden.errors import InvalidParams
from rewarden_verifiers.inference import Fit


@dataclass(frozen=True, kw_only=True)
class ModelParams:
    """Options of every verifier that asks a model.

    model: a name of the server's `[models.named]`; none: its default.
    fit: what happens where the whole is longer than the model's context: `error`: a response that made it so is at the
        bottom (`too_long`), a prompt that did is the caller's error; or tokens are dropped, flagged `truncated`, at the
        beginning (`left`) or in the middle (`middle`).
    hollow: whether a response without substance is at the bottom without asking: `refuse`, or `ask`.
    """

    model: str | None = None
    fit: Fit = "error"
    hollow: Literal["refuse", "ask"] = "refuse"


def within(name: str, value: float | None, low: float, high: float) -> None:
    """Raises InvalidParams for a parameter that is given and does not lie between these."""
    if value is not None and not low <= value <= high:
        said = f", not {value:g}" if abs(value) < 1e300 else ""  # an integer may be greater than any float
        raise InvalidParams(f"params.{name} must be from {low:g} to {high:g}{said}", path=f"params.{name}")
