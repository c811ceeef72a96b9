"""The sequence that one forward pass reads, and the positions whose outputs are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Output = list[list[float]]
"""The output of one row: one list for each of its `reads` (a single one for the pooled output), with the
log-probabilities of its `targets`, the head's raw outputs, or the vector."""


@dataclass(slots=True)
class Row:
    """One sequence of a batch.

    ids: its tokens, at least one. reads: positions (indices of `ids`) whose outputs are read; empty: the pooled output
    of the whole, that is, a sequence head's logits or an encoder's vector. targets: for each of `reads`, the token ids
    whose log-probabilities are read there, as the token after that position; None: the head's raw outputs. types: for a
    model that tells two texts apart (BERT's `token_type_ids`), the text of each token; None: it does not; padding is of
    type 0. pixels: the processor's tensors for the images, by the model's argument names.
    """

    ids: list[int]
    reads: list[int]
    targets: list[list[int]] | None = None
    types: list[int] | None = None
    pixels: Mapping[str, Any] | None = None
