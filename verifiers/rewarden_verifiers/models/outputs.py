"""Selects a classification head's output, and computes the shares of its labels."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal

from rewarden.errors import InvalidParams
from rewarden_verifiers.inference import Logits

Output = str | int
"""A label by the model's name for it, or the index of an output, from 0."""

Activation = Literal["auto", "softmax", "sigmoid", "none"]


_PLACEHOLDER = re.compile(r"LABEL_\d+")


def place_of(logits: Logits, output: Output | None, path: str) -> int:
    """The index of an output; None: the only one. The case of a label is ignored, since models of one kind vary it,
    unless two of the model's labels differ only in case. Raises InvalidParams at `path`, listing the model's labels.
    """
    labels = list(logits.labels)
    if output is None and len(labels) == 1:
        return 0
    if isinstance(output, int) and 0 <= output < len(labels):
        return output
    if isinstance(output, str) and output in labels:
        return labels.index(output)
    alike = [place for place, label in enumerate(labels) if label.lower() == str(output).lower()]
    if isinstance(output, str) and len(alike) == 1:
        return alike[0]
    said = "name one of several outputs" if output is None else f"there is no output {output!r}"
    hint = ""
    if all(_PLACEHOLDER.fullmatch(label) for label in labels):
        hint = (
            ". These are placeholders: its config.json names no labels. Look up their order where the model comes "
            "from, and set id2label there, or give an output's place here, from 0"
        )
    has = ", ".join(labels)
    raise InvalidParams(f"{path}: {said}; the model {logits.facts.model!r} has: {has}{hint}", path=path)


def sigmoid(value: float) -> float:
    """1 / (1 + exp(-value)), without overflow."""
    if value >= 0:
        return 1.0 / (1.0 + math.exp(-value))
    grown = math.exp(value)
    return grown / (1.0 + grown)


def exclusive(logits: Logits, activation: Activation = "auto") -> bool:
    """Returns whether the labels' shares sum to 1: with softmax, or if `auto` finds several labels that the model does
    not declare independent.
    """
    if activation == "auto":
        return len(logits.values) > 1 and not logits.multi
    return activation == "softmax"


def shares(logits: Logits, activation: Activation = "auto") -> Sequence[float]:
    """Each label's share from 0 to 1: softmax for mutually exclusive labels, a sigmoid for each otherwise; `none`: the
    outputs themselves, clipped to this range, for a head trained on numbers from 0 to 1.
    """
    if activation == "none":
        return [min(1.0, max(0.0, value)) for value in logits.values]
    if not exclusive(logits, activation):
        return [sigmoid(value) for value in logits.values]
    most = max(logits.values)
    grown = [math.exp(value - most) for value in logits.values]
    total = math.fsum(grown)
    return [value / total for value in grown]
