"""The sequence that one pass of a model reads, and the places where its outputs are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Output = list[list[float]]
"""Of one row: a list for each of its `reads` (one for the pooled output): log-probabilities of the `targets` there, or
the head's raw outputs, or the vector."""


@dataclass(slots=True)
class Row:
    """One sequence of a batch.

    ids: its tokens, never none. reads: positions (indices of `ids`) whose outputs are read; empty: the pooled output of
    the whole, which is a sequence head's logits or an encoder's vector. targets: for each of `reads` the token ids
    whose log-probabilities are read there, that is, as what comes behind that position; None: the head's raw outputs.
    types: for a model that tells two texts apart (BERT's `token_type_ids`) of which each token is; None: it tells none
    apart; padding is of type 0. pixels: what a processor made of the images, by the names that the model takes them by.
    """

    ids: list[int]
    reads: list[int]
    targets: list[list[int]] | None = None
    types: list[int] | None = None
    pixels: Mapping[str, Any] | None = None
